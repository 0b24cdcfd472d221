"""A policy on a resource holds for the URI as its author wrote it, and for every other spelling of it."""

from __future__ import annotations

import pytest

from assent.core.principal import Principal
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import parse_policies

AGENT = Principal("ci", "agent")
READ = 'action == Assent::Action::"resources/read"'


def denies(condition: str, uri: str) -> bool:
    engine = PolicyEngine(parse_policies(f'@id("one") forbid (principal, {READ}, resource) {condition};', "a.cedar"))
    assert engine.faults == []
    return bool(engine.judge_other(AGENT, "resources/read", "Resource", uri, "notes", 0.0).denied)


@pytest.mark.parametrize(
    "uri", ["memo:///secret", "note://MyNote", "file:///etc/passwd", "memo:secret", "memo://a/b%20c"]
)
def test_a_policy_holds_for_the_uri_as_the_upstream_lists_it(uri: str) -> None:
    assert denies(f'when {{ resource.uri == "{uri}" }}', uri)
    assert denies(f'when {{ resource == Assent::Resource::"{uri}" }}', uri)
    assert not denies(f'when {{ resource.uri == "{uri}" }}', "memo:///other")


@pytest.mark.parametrize(
    "uri",
    [
        "MEMO:///secret",
        "memo:/secret",
        "memo:////secret",
        "memo:///a/../secret",
        "memo:///s%65cret",
        "memo:///%73ecret#x",
    ],
)
def test_another_spelling_does_not_evade_it(uri: str) -> None:
    assert denies('when { resource.uri like "memo:///secret*" }', uri)


@pytest.mark.parametrize(
    "uri", ["file://localhost/etc/passwd", "file:/etc/passwd", "memo://s%65cret/x", "memo://SECRET/x"]
)
def test_another_host_does_not_evade_it(uri: str) -> None:
    assert denies('when { resource.uri like "file:///etc/*" || resource.uri like "memo://secret/*" }', uri)


def test_what_is_allowed_must_be_allowed_in_both_spellings() -> None:
    only = 'unless { resource.uri like "memo:///public/*" }'
    assert not denies(only, "memo:///public/a")
    assert denies(only, "memo:///public/../secret")

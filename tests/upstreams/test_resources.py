"""Whose a resource is, decided from what each upstream says it has."""

from __future__ import annotations

import pytest

from assent.upstreams.resources import ListedResources, merge_capabilities, owner_of, template_score


def listed_resources(*uris: str, templates: tuple[str, ...] = ()) -> ListedResources:
    return ListedResources(
        {"resources": [{"uri": uri} for uri in uris], "resourceTemplates": [{"uriTemplate": one} for one in templates]}
    )


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("file:///{path}", "file:///a", True),
        ("file:///{path}", "file:///a/b", False),
        ("file:///{+path}", "file:///a/b", True),
        ("x://{a}/y/{b}", "x://1/y/2", True),
        ("x://{a}/y/{b}", "x://1/z/2", False),
        ("x://{a}/end", "x://1/end", True),
        ("x://{a}/end", "x://1/end/more", False),
        ("x://s{?q}", "x://s?q=a/b", True),
        ("x://s", "x://s", True),
        ("x://s", "x://s2", False),
        ("x://s", "", False),
    ],
)
def test_a_template_fits_what_it_could_have_made(template: str, uri: str, fits: bool) -> None:
    assert bool(template_score(template, uri)) is fits


def test_a_template_made_to_be_slow_is_not(recwarn: pytest.WarningsRecorder) -> None:
    assert template_score("x:" + "{+a}b" * 31 + "c", "x:" + "b" * 100_000) == 0
    assert template_score("x:" + "{+a}b" * 1000, "x:" + "b" * 100_000) == 0


def test_who_lists_it_comes_before_whose_template_fits_and_the_first_wins_among_equals() -> None:
    shelves = {
        "a": listed_resources(templates=("x://{+any}",)),
        "b": listed_resources("x://1"),
        "c": listed_resources("x://1"),
    }
    assert owner_of("x://1", shelves) == "b"
    assert owner_of("x://2", shelves) == "a"


def test_the_template_that_spells_out_most_wins() -> None:
    shelves = {"a": listed_resources(templates=("x://{+any}",)), "b": listed_resources(templates=("x://pages/{n}",))}
    assert owner_of("x://pages/7", shelves) == "b"


def test_an_unlisted_uri_goes_to_who_has_others_in_the_same_place_and_otherwise_to_nobody() -> None:
    shelves = {"a": listed_resources("x://here/1"), "b": listed_resources("x://there/1")}
    assert owner_of("x://there/2", shelves) == "b"
    assert owner_of("x://elsewhere/2", shelves) is None
    assert owner_of("x://[broken", shelves) is None
    assert owner_of("x://elsewhere/2", {"a": listed_resources()}) == "a"


def test_together_they_can_do_what_any_of_them_can() -> None:
    one = {"resources": {"subscribe": True}, "experimental": {"x": {}}}
    two = {"resources": {"listChanged": True}, "prompts": {"listChanged": False}, "logging": {}}
    assert merge_capabilities([one, two]) == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {},
        "logging": {},
    }

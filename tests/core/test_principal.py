"""A principal may do what its scopes grant, and an agent anywhere in its chain counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.principal import Principal, person_of
from assent.pipeline.authorize import grants, missing_permissions
from support.suite.hypothesis_profile import steady


@pytest.mark.parametrize(
    ("scopes", "permission", "granted"),
    [
        ([], "orders:write", False),
        (["*"], "orders:write", True),
        (["*"], "anything at all", True),
        (["orders:write"], "orders:write", True),
        (["orders:write"], "orders:read", False),
        (["orders:*"], "orders:write", True),
        (["orders:*"], "orders:archive:place", True),
        (["orders:archive:*"], "orders:archive:place", True),
        (["orders:archive:*"], "orders:write", False),
        (["orders:archive:*"], "orders:archive", False),
        (["orders:*"], "orders", False),
        (["orders:*"], "ordersx:write", False),
        (["order*"], "orders:write", False),
        (["orders"], "orders:write", False),
        (["*:write"], "orders:write", False),
        (["orders:*:place"], "orders:archive:place", False),
        (["ORDERS:*"], "orders:write", False),
        ([""], "orders", False),
        ([":*"], ":x", True),
        (["orders:*"], "orders:*", True),
        (["orders:write"], "orders:*", False),
    ],
)
def test_a_scope_grants_itself_its_branch_or_everything(scopes: list[str], permission: str, granted: bool) -> None:
    assert grants(frozenset(scopes), permission) is granted


@steady
@given(
    st.lists(st.text("ab:*", max_size=6), max_size=4),
    st.text("ab:", min_size=1, max_size=6),
    st.text("ab:*", max_size=6),
)
def test_another_scope_never_takes_a_permission_away(scopes: list[str], permission: str, more: str) -> None:
    if grants(frozenset(scopes), permission):
        assert grants(frozenset([*scopes, more]), permission)


def test_all_missing_permissions_are_named_in_their_order() -> None:
    caller = Principal("a", "agent", scopes=frozenset({"files:*"}))
    assert missing_permissions(caller, ["emails:send", "files:read", "contacts:read"]) == (
        "emails:send",
        "contacts:read",
    )
    assert missing_permissions(caller, []) == ()


def test_an_agent_anywhere_in_the_chain_counts() -> None:
    agent, human, service = Principal("a", "agent"), Principal("h", "human"), Principal("s", "service")
    assert agent.has_agent
    assert not human.has_agent
    assert not service.has_agent
    assert Principal("h", "human", actors=(service, agent)).has_agent
    assert Principal("h", "human", actors=(Principal("s", "service", actors=(agent,)),)).has_agent
    assert not Principal("h", "human", actors=(service, human)).has_agent


def test_a_principal_has_no_scope_by_default() -> None:
    assert missing_permissions(Principal("a", "agent"), ["x"]) == ("x",)


@pytest.mark.parametrize(
    ("name", "person"),
    [
        ("bob", "bob"),
        ("operator:bob", "bob"),
        ("https://login.example|bob", "bob"),
        ("https://login.example|auth0|7", "auth0|7"),
        ("https://login.example", "https://login.example"),
        ("https://login.example|", "https://login.example|"),
        ("team|bob", "team|bob"),
        ("operator:", ""),
    ],
)
def test_an_account_a_key_and_a_token_of_one_name_are_one_person(name: str, person: str) -> None:
    assert person_of(name) == person

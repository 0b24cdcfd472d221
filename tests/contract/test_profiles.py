"""Every profile says the hints of the published table, for every tier and whatever a contract declares."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.contract.profiles import HINTS, profile, profile_names
from assent.contract.reader import read_contract
from assent.contract.wire import annotations_of, definition
from assent.errors import ContractError, SettingsError
from support.contract_examples import TIERS
from support.hypothesis_profile import steady

COLUMNS = ["read", "compute", "write", "write, overwrites", "share_export", "external_spend", "destructive"]
SPEC = "T F T d(T) | F F d(F) d(F) | F F d(F) d(T) | F T d(F) d(T) | F F d(F) d(T) | F F d(F) d(T) | F T d(F) d(T)"
# readOnly destructive idempotent openWorld; d(X): as declared, otherwise X; –: not sent.
TABLE = {
    "spec": SPEC,
    "mcp-first": SPEC,
    "geopera": "T F F T | F F F F | F F F F | F F F F | F F F T | F F T T | F T F F",
    "epd": "T F T d(F) | F F d(T) d(F) | F F d(T) d(F) | F F d(T) d(F) | F F d(T) d(F) | F F d(T) d(F) | F T d(T) d(F)",
    "closient": "T – T d(F) | F – d(–) d(F) | F – d(–) d(F) | F T d(–) d(F) | F – d(–) d(F) | F – d(–) d(F) | "
    "F T d(–) d(F)",
    "mcpgate": "T F T T | F F F T | F F F T | F F F T | F F F T | F F F T | F T F T",
    "anthropic": "T F T d(T) | F F d(F) d(F) | F T d(F) d(T) | F T d(F) d(T) | F T d(F) d(T) | F T d(F) d(T) | "
    "F T d(F) d(T)",
    "openai": "T F T d(F) | F F d(F) d(F) | F F d(F) d(F) | F T d(F) d(F) | F F d(F) T | F T d(F) T | F T d(F) d(F)",
}
WORDS = {"T": True, "F": False, "–": None}
OPEN_WORLD = (None, True, False)
RECOVERIES = (None, "none", "keyed", "natural")


def fields_of(column: str, open_world: bool | None, recovery: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"side_effect": column.split(",")[0], "overwrites": "overwrites" in column}
    if open_world is not None:
        fields["open_world"] = open_world
    if recovery is not None:
        fields["idempotency"] = {"recovery": recovery}
    return fields


def said(cell: str, declared: bool | None) -> bool | None:
    if not cell.startswith("d"):
        return WORDS[cell]
    return WORDS[cell[2]] if declared is None else declared


CELLS = [
    (name, column, open_world, recovery)
    for name, column, open_world, recovery in itertools.product(TABLE, COLUMNS, OPEN_WORLD, RECOVERIES)
]


def row_of(name: str, column: str) -> list[str]:
    return TABLE[name].split(" | ")[COLUMNS.index(column)].split()


def test_the_table_has_every_profile_there_is() -> None:
    assert sorted(TABLE) == profile_names()


@pytest.mark.parametrize(("name", "column", "open_world", "recovery"), CELLS)
def test_a_profile_says_what_its_table_says(
    name: str, column: str, open_world: bool | None, recovery: str | None
) -> None:
    read_only, destructive, idempotent, world = row_of(name, column)
    contract = read_contract("tool", fields_of(column, open_world, recovery))
    assert profile(name).hints(contract) == {
        "read_only": said(read_only, None),
        "destructive": said(destructive, None),
        "idempotent": said(idempotent, True if recovery == "natural" else None),
        "open_world": said(world, open_world),
    }


@pytest.mark.parametrize(("name", "column"), list(itertools.product(TABLE, COLUMNS)))
@pytest.mark.parametrize(("hint", "value"), [(h, v) for h in ("idempotent", "open_world") for v in (True, False)])
def test_idempotent_and_open_world_are_overridden_freely_with_a_reason(
    name: str, column: str, hint: str, value: bool
) -> None:
    fields = fields_of(column, None, None) | {"hints": {hint: value, "because": "measured"}}
    plain = profile(name).hints(read_contract("tool", fields_of(column, None, None)))
    assert profile(name).hints(read_contract("tool", fields)) == plain | {hint: value}


@pytest.mark.parametrize(("name", "column"), [(n, c) for n in TABLE for c in COLUMNS if c != "read"])
def test_destructive_is_raised_with_a_reason(name: str, column: str) -> None:
    fields = fields_of(column, None, None) | {"hints": {"destructive": True, "because": "it truncates"}}
    assert profile(name).hints(read_contract("tool", fields))["destructive"] is True


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("hints", [{"read_only": True}, {"read_only": False}, {"destructive": False}])
def test_read_only_is_never_overridden_and_destructive_never_lowered(column: str, hints: dict[str, bool]) -> None:
    with pytest.raises(ContractError):
        read_contract("tool", fields_of(column, None, None) | {"hints": {**hints, "because": "no reason is enough"}})


FLAGS = st.sampled_from([None, True, False])


@steady
@given(
    st.sampled_from(TIERS),
    st.booleans(),
    FLAGS,
    st.sampled_from(RECOVERIES),
    st.fixed_dictionaries({}, optional=dict.fromkeys(HINTS, FLAGS)),
)
def test_read_only_and_destructive_are_never_both_true(
    tier: str, overwrites: bool, open_world: bool | None, recovery: str | None, hints: dict[str, bool | None]
) -> None:
    column = f"{tier}, overwrites" if overwrites else tier
    fields = fields_of(column, open_world, recovery) | {"hints": {**hints, "because": "tried"}}
    try:
        contract = read_contract("tool", fields)
    except ContractError:
        return
    for name in TABLE:
        found = profile(name).hints(contract)
        assert not (found["read_only"] and found["destructive"])
        assert found["read_only"] is (tier == "read")


def test_only_a_read_is_ever_read_only() -> None:
    for name, column in itertools.product(TABLE, COLUMNS):
        assert (row_of(name, column)[0] == "T") is (column == "read")


@pytest.mark.parametrize("name", [name for name in TABLE if name != "mcpgate"])
def test_historic_names_change_nothing_where_a_profile_has_none(name: str) -> None:
    contract = read_contract("tool", {"side_effect": "write"})
    plain = annotations_of(contract, profile(name))
    assert annotations_of(contract, profile(name), historic_names=True) == plain


def test_historic_names_are_those_of_the_mcpgate_document() -> None:
    contract = read_contract("tool", {"side_effect": "destructive", "title": "T"})
    historic = annotations_of(contract, profile("mcpgate"), historic_names=True)
    standard = annotations_of(contract, profile("mcpgate"))
    assert list(historic) == ["title", "readOnly", "idempotent", "destructive", "openWorldHint"]
    assert list(standard) == ["title", "readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint"]
    assert list(historic.values()) == list(standard.values()) == ["T", False, False, True, True]


@pytest.mark.parametrize(
    ("name", "beside", "inside"),
    [
        ("spec", True, True),
        ("mcp-first", True, True),
        ("closient", True, True),
        ("anthropic", True, True),
        ("openai", True, True),
        ("geopera", True, True),
        ("epd", False, True),
        ("mcpgate", False, True),
    ],
)
def test_the_title_stands_where_the_profile_puts_it(name: str, beside: bool, inside: bool) -> None:
    made = definition(read_contract("tool", {"side_effect": "read", "title": "T"}), profile(name), inputSchema={})
    assert (made.get("title") == "T", made["annotations"].get("title") == "T") == (beside, inside)


def test_only_geopera_lists_locked_tools_and_only_mcp_first_sends_failure_names() -> None:
    assert [name for name in profile_names() if profile(name).visibility == "locked"] == ["geopera"]
    assert [name for name in profile_names() if profile(name).failures] == ["mcp-first"]


@pytest.mark.parametrize("name", ["speck", "", "../spec", "SPEC"])
def test_an_unknown_profile_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(SettingsError, match="Use one of anthropic, closient, epd, geopera"):
        profile(name)

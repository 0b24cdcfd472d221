"""Every profile says the hints of the published table, for every tier and whatever a contract declares."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.contract.profiles import HINTS, profile, profile_names
from assent.contract.reader import read_contract
from assent.contract.tool_listing import annotations_of, definition
from assent.errors import ContractError, SettingsError
from support.documents.contract_examples import TIERS
from support.suite.hypothesis_profile import steady

COLUMNS = ["read", "compute", "write", "write, overwrites", "share_export", "external_spend", "destructive"]
SPEC = "T F T d(T) | F F d(F) d(F) | F F d(F) d(T) | F T d(F) d(T) | F F d(F) d(T) | F F d(F) d(T) | F T d(F) d(T)"
# readOnly destructive idempotent openWorld; d(X): as declared, otherwise X; –: not sent.
TABLE = {
    "spec": SPEC,
    "mcp-first": SPEC,
    "geopera": "T F F T | F F F F | F F F F | F F F F | F F F T | F F T T | F T F F",
    "epd": "T F T d(F) | F F d(T) d(F) | F F d(T) d(F) | F F d(T) d(F) | F F d(T) d(F) | F F d(F) d(F) | F T d(T) d(F)",
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


def fields_of(column: str, open_world: bool | None = None, recovery: str | None = None) -> dict[str, Any]:
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


def row_of(name: str, column: str) -> list[str]:
    return TABLE[name].split(" | ")[COLUMNS.index(column)].split()


def test_the_table_has_every_profile_there_is() -> None:
    assert sorted(TABLE) == profile_names()


def expected(name: str, column: str, open_world: bool | None, recovery: str | None) -> dict[str, bool | None]:
    read_only, destructive, idempotent, world = row_of(name, column)
    return {
        "read_only": said(read_only, None),
        "destructive": said(destructive, None),
        "idempotent": False
        if recovery == "none" and said(idempotent, None)
        else said(idempotent, True if recovery == "natural" else None),
        "open_world": said(world, open_world),
    }


def hints_of(name: str, fields: dict[str, Any], **hints: bool) -> dict[str, bool | None]:
    given = fields | ({"hints": {**hints, "because": "measured"}} if hints else {})
    return profile(name).hints(read_contract("tool", given))


@pytest.mark.parametrize("name", TABLE)
def test_a_profile_says_what_its_table_says_whatever_a_contract_declares(name: str) -> None:
    cells = list(itertools.product(COLUMNS, OPEN_WORLD, RECOVERIES))
    assert {cell: hints_of(name, fields_of(*cell)) for cell in cells} == {cell: expected(name, *cell) for cell in cells}


@pytest.mark.parametrize("name", TABLE)
def test_a_reason_overrides_idempotent_and_open_world_freely_and_raises_destructive(name: str) -> None:
    overrides = [*itertools.product(("idempotent", "open_world"), (True, False)), ("destructive", True)]
    cells = [(column, *one) for column, one in itertools.product(COLUMNS, overrides)]
    allowed = [cell for cell in cells if cell[:2] != ("read", "destructive")]
    found = {
        (column, hint, value): hints_of(name, fields_of(column), **{hint: value}) for column, hint, value in allowed
    }
    assert found == {cell: hints_of(name, fields_of(cell[0])) | {cell[1]: cell[2]} for cell in allowed}


def test_read_only_is_never_overridden_and_destructive_never_lowered() -> None:
    for column, hint in itertools.product(COLUMNS, ({"read_only": True}, {"read_only": False}, {"destructive": False})):
        with pytest.raises(ContractError):
            hints_of("spec", fields_of(column), **hint)


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


def test_historic_names_change_nothing_where_a_profile_has_none() -> None:
    contract = read_contract("tool", {"side_effect": "write"})
    without = [name for name in TABLE if name != "mcpgate"]
    historic = {name: annotations_of(contract, profile(name), historic_names=True) for name in without}
    assert historic == {name: annotations_of(contract, profile(name)) for name in without}


def test_historic_names_are_those_of_the_mcpgate_document() -> None:
    contract = read_contract("tool", {"side_effect": "destructive", "title": "T"})
    historic = annotations_of(contract, profile("mcpgate"), historic_names=True)
    standard = annotations_of(contract, profile("mcpgate"))
    assert list(historic) == ["title", "readOnly", "idempotent", "destructive", "openWorldHint"]
    assert list(standard) == ["title", "readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint"]
    assert list(historic.values()) == list(standard.values()) == ["T", False, False, True, True]


def test_a_title_is_an_annotation_and_beside_them_except_in_two_profiles() -> None:
    contract = read_contract("tool", {"side_effect": "read", "title": "T"})
    made = {name: definition(contract, profile(name), inputSchema={}) for name in TABLE}
    assert {one["annotations"].get("title") for one in made.values()} == {"T"}
    assert [name for name, one in made.items() if one.get("title") != "T"] == ["epd", "mcpgate"]


def test_only_geopera_lists_locked_tools_and_only_mcp_first_sends_failure_names() -> None:
    assert [name for name in profile_names() if profile(name).visibility == "locked"] == ["geopera"]
    assert [name for name in profile_names() if profile(name).failures] == ["mcp-first"]


@pytest.mark.parametrize("name", ["speck", "", "../spec", "SPEC"])
def test_an_unknown_profile_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(SettingsError, match="Use one of anthropic, closient, epd, geopera"):
        profile(name)

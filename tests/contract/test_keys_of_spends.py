"""One default for the key of a tool that spends, wherever its contract comes from."""

from __future__ import annotations

from typing import Any

import pytest

from assent.cli.contract_init import draft
from assent.contract.profiles import profile, profile_names
from assent.contract.reader import read_contract
from assent.core.tool import compile_tool
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools, marks_all_destructive

PAYS = {
    "name": "purchase_credits",
    "description": "Purchases credits and charges the card.",
    "inputSchema": {"type": "object"},
}


def key(fields: dict[str, Any], named: str) -> str:
    return compile_tool(read_contract("pay", fields), profile=profile(named)).contract.idempotency.key


@pytest.mark.parametrize("named", profile_names())
def test_a_profile_can_demand_the_key_that_a_contract_does_not_mention(named: str) -> None:
    expected = "required" if named == "geopera" else "auto"
    assert key({"side_effect": "external_spend"}, named) == expected
    assert key({"side_effect": "external_spend", "idempotency": {"argument": "request_id"}}, named) == expected
    assert key({"side_effect": "write"}, named) == "optional"


@pytest.mark.parametrize("said", ["auto", "required"])
def test_what_a_contract_says_holds_under_every_profile(said: str) -> None:
    fields = {"side_effect": "external_spend", "idempotency": {"key": said}}
    assert {key(fields, named) for named in profile_names()} == {said}


def test_another_key_makes_another_digest() -> None:
    contract = read_contract("pay", {"side_effect": "external_spend"})
    before = contract.digest
    assert profile("geopera").adapt(contract).digest != before
    assert profile("spec").adapt(contract) is contract


CLAIMS: list[dict[str, object]] = [
    {},
    {"openWorldHint": False},
    {"openWorldHint": True},
    {"readOnlyHint": True},
    {"destructiveHint": True, "readOnlyHint": False},
    {"destructiveHint": False, "readOnlyHint": False, "openWorldHint": False},
]
NAMES = [
    "get_page",
    "send_mail",
    "update_file",
    "archive_note",
    "run_command",
    "purchase_credits",
    "delete_all",
    "frob",
]


@pytest.mark.parametrize("named", ["spec", "mcpgate", "geopera"])
def test_an_inferred_contract_and_the_file_that_init_writes_behave_alike(named: str) -> None:
    policy = UpstreamPolicy("up", profile(named))
    for said in CLAIMS:
        definitions = [
            {"name": name, "description": name.replace("_", " ").capitalize() + ".", "annotations": said,
             "inputSchema": {"type": "object"}}
            for name in NAMES
        ]  # fmt: skip
        blanket = marks_all_destructive(definitions)
        files = {
            str(one["name"]): read_contract(str(one["name"]), dict(draft(one, None, policy, blanket=blanket).fields))
            for one in definitions
        }
        inferred, written = (compile_tools(definitions, given, policy).tools for given in ({}, files))
        for guessed, drafted in zip(inferred, written, strict=True):
            for part in ("side_effect", "risk", "overwrites", "idempotency", "confirmation", "autonomous"):
                assert getattr(guessed.contract, part) == getattr(drafted.contract, part), (guessed.name, said, part)
            outside = guessed.contract.open_world, drafted.contract.open_world
            assert outside in ((True, True), (False, False), (False, None)), (guessed.name, said)


def test_an_inferred_contract_and_the_file_that_init_writes_demand_the_same() -> None:
    (inferred,) = compile_tools([PAYS], {}, UpstreamPolicy("up", profile("spec"))).tools
    drafted = read_contract("purchase_credits", dict(draft(PAYS).fields))
    assert inferred.contract.side_effect == drafted.side_effect == "external_spend"
    assert inferred.contract.idempotency == drafted.idempotency
    assert drafted.idempotency.key == "auto"

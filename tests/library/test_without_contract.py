"""Tools without a contract, and annotations against one, on servers of both frameworks: loud, never silent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from assent import Assent, contract
from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.contract.tool_listing import dropped_hints
from assent.contract.yaml_document import write_yaml
from assent.errors import ContractError, SettingsError
from assent.fastmcp import Assent as FastAssent
from assent.testing import every_tool_annotated
from support.gateway.gateways import CONTRACTS, gateway, shop_gateway

Add = Callable[..., Any]


@contract(side_effect="read")
def look() -> str:
    """Shows the notes."""
    return "notes"


def bare(id: str) -> str:
    """Deletes a note for good."""
    return id


@contract(side_effect="write")
def note(text: str) -> str:
    """Adds a note."""
    return text


@contract(side_effect="destructive")
def wipe() -> str:
    """Deletes all notes."""
    return "gone"


class Sdk:
    """A server of the official SDK."""

    def __init__(self, **options: Any) -> None:
        self.assent = Assent(**options)
        self.server = MCPServer("notes", extensions=[self.assent.extension()], log_level="ERROR")

    def add(self, function: Any, hints: ToolAnnotations | None = None) -> None:
        self.server.add_tool(function, annotations=hints)

    def apply(self) -> None:
        self.assent.apply(self.server)

    async def listed(self) -> dict[str, Any]:
        async with Client(self.server) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}


class Fast(Sdk):
    """A server of FastMCP."""

    def __init__(self, **options: Any) -> None:
        self.assent: Any = FastAssent(**options)
        self.server: Any = FastMCP("notes")

    def add(self, function: Any, hints: ToolAnnotations | None = None) -> None:
        self.server.tool(function, annotations=hints)

    async def listed(self) -> dict[str, Any]:
        async with FastClient(self.server) as client:
            return {tool.name: tool for tool in await client.list_tools()}


BOTH = pytest.mark.parametrize("framework", [Sdk, Fast])


@BOTH
def test_a_tool_without_a_contract_stops_the_start_and_is_named(framework: type[Sdk]) -> None:
    notes = framework()
    notes.add(look)
    notes.add(bare)
    with pytest.raises(ContractError, match=r"bare: it has no contract\. Put @contract\(side_effect=\.\.\.\)"):
        notes.apply()


@BOTH
async def test_a_tool_without_a_contract_is_served_as_inferred_where_the_author_says_so(framework: type[Sdk]) -> None:
    notes = framework(without_contract="infer")
    notes.add(look)
    notes.add(bare)
    notes.apply()
    listed = await notes.listed()
    assert listed["bare"].meta["dev.assent/contract"]["tier"] == "destructive"
    assert listed["bare"].annotations.destructive_hint is True
    every_tool_annotated(notes.server)


@BOTH
async def test_where_contracts_are_inferred_the_author_is_believed(framework: type[Sdk]) -> None:
    notes = framework(without_contract="infer")
    notes.add(bare, ToolAnnotations(read_only_hint=True))
    notes.apply()
    assert (await notes.listed())["bare"].annotations.read_only_hint is True


@BOTH
async def test_a_withheld_tool_is_logged_and_fails_the_test_of_annotations(
    framework: type[Sdk], caplog: pytest.LogCaptureFixture
) -> None:
    notes = framework(without_contract="withhold")
    notes.add(look)
    notes.add(bare)
    with caplog.at_level(logging.WARNING, "assent"):
        notes.apply()
        assert list(await notes.listed()) == ["look"]
    assert [record.getMessage().split(". ")[0] for record in caplog.records if record.name.startswith("assent.")] == [
        "bare is not served: it has no contract"
    ]
    with pytest.raises(AssertionError, match="bare: it is not served: it has no contract"):
        every_tool_annotated(notes.server)


@BOTH
async def test_a_tool_registered_later_without_a_contract_is_left_out_and_logged_and_the_others_are_served(
    framework: type[Sdk], caplog: pytest.LogCaptureFixture
) -> None:
    notes = framework()
    notes.add(look)
    notes.apply()
    notes.add(bare)
    with caplog.at_level(logging.ERROR, "assent"):
        assert list(await notes.listed()) == ["look"]
    assert "bare is not served" in caplog.text
    with pytest.raises(AssertionError, match="bare: it is not served"):
        every_tool_annotated(notes.server)


@BOTH
@pytest.mark.parametrize(
    ("function", "hints", "said"),
    [
        (wipe, ToolAnnotations(read_only_hint=True), "wipe: readOnlyHint is true"),
        (
            wipe,
            ToolAnnotations(destructive_hint=False),
            "wipe: destructiveHint is false",
        ),
        (look, ToolAnnotations(read_only_hint=False), "look: readOnlyHint is false"),
        (look, ToolAnnotations(open_world_hint=False), "look: openWorldHint is false"),
        (look, ToolAnnotations(destructive_hint=True), "look: destructiveHint is true in its annotations, but by its"),
        (note, ToolAnnotations(idempotent_hint=True), "note: idempotentHint is true in its annotations and false"),
    ],
)
def test_annotations_against_the_contract_stop_the_start(
    framework: type[Sdk], function: Any, hints: ToolAnnotations, said: str
) -> None:
    notes = framework()
    notes.add(function, hints)
    with pytest.raises(AssertionError, match=said):
        every_tool_annotated(notes.server)
    with pytest.raises(ContractError, match=said):
        notes.apply()


@BOTH
async def test_annotations_that_say_what_the_contract_says_are_accepted(framework: type[Sdk]) -> None:
    notes = framework()
    notes.add(wipe, ToolAnnotations(title="Wipe", read_only_hint=False, destructive_hint=True))
    notes.add(look, ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=False))
    notes.apply()
    notes.apply()
    assert (await notes.listed())["wipe"].annotations.destructive_hint is True


def test_a_contradiction_names_what_is_really_listed_under_the_profile() -> None:
    free = read_contract("ping", {"side_effect": "write", "open_world": False})
    said = {name: dropped_hints({"destructiveHint": False}, free, profile(name)) for name in ("anthropic", "closient")}
    assert said == {
        "anthropic": [
            "destructiveHint is false in its annotations and true by its contract under the profile anthropic"
        ],
        "closient": [],
    }
    assert dropped_hints({"idempotentHint": True}, free, profile("closient")) == [
        "idempotentHint is true in its annotations, but its contract does not say that a repetition changes nothing"
    ]
    assert dropped_hints({"idempotentHint": False, "openWorldHint": False}, free, profile("spec")) == []


@BOTH
@pytest.mark.parametrize("said", [True, False])
async def test_a_destructive_hint_that_the_author_wrote_is_on_the_wire(framework: type[Sdk], said: bool) -> None:
    notes = framework(profile="closient")
    notes.add(note, ToolAnnotations(destructive_hint=said))
    notes.apply()
    assert (await notes.listed())["note"].annotations.destructive_hint is said


@BOTH
def test_a_raised_hint_is_refused_where_every_hint_follows_from_the_tier(framework: type[Sdk]) -> None:
    notes = framework(profile="geopera")
    notes.add(note, ToolAnnotations(destructive_hint=True))
    with pytest.raises(ContractError, match="under the profile geopera every hint follows from the tier"):
        notes.apply()


def pay(amount: int) -> str:
    """Charges the card on file."""
    return str(amount)


@BOTH
async def test_where_contracts_are_inferred_the_author_s_idempotent_hint_is_listed(framework: type[Sdk]) -> None:
    notes = framework(profile="closient", without_contract="infer")
    notes.add(bare, ToolAnnotations(read_only_hint=False, idempotent_hint=True, open_world_hint=False))
    notes.apply()
    hints = (await notes.listed())["bare"].annotations
    assert (hints.read_only_hint, hints.idempotent_hint, hints.open_world_hint) == (False, True, False)


@BOTH
async def test_an_inferred_tool_keeps_its_tier_when_another_function_is_registered_later(framework: type[Sdk]) -> None:
    notes = framework(without_contract="infer")
    notes.add(pay)
    notes.apply()
    notes.add(look)
    await notes.listed()
    assert notes.assent.ports.catalogue().find("pay").contract.side_effect == "external_spend"


@BOTH
@pytest.mark.parametrize("profile_name", ["spec", "closient", "epd"])
async def test_the_title_that_the_author_wrote_is_listed_unless_the_contract_writes_one(
    framework: type[Sdk], profile_name: str
) -> None:
    @contract(side_effect="read", title="Show All Notes")
    def show() -> str:
        return ""

    notes = framework(profile=profile_name)
    notes.add(look, ToolAnnotations(title="Look Up Notes"))
    notes.add(show, ToolAnnotations(title="Shows"))
    notes.add(wipe)
    notes.apply()
    listed = await notes.listed()
    assert {name: tool.annotations.title for name, tool in listed.items()} == {
        "look": "Look Up Notes",
        "show": "Show All Notes",
        "wipe": "Wipe",
    }
    if profile_name != "epd":
        assert {name: tool.title for name, tool in listed.items()} == {
            name: tool.annotations.title for name, tool in listed.items()
        }


@BOTH
def test_under_mcp_first_a_contract_of_one_word_stops_the_start(
    framework: type[Sdk], caplog: pytest.LogCaptureFixture
) -> None:
    notes = framework(profile="mcp-first")
    notes.add(look)
    said = "look: the contract leaves open: category, permissions, side_effects, failure_modes. Write them"
    with pytest.raises(ContractError, match=said):
        notes.apply()
    noted = framework(profile="mcp-first", completeness="noted")
    noted.add(look)
    with caplog.at_level(logging.WARNING, "assent"):
        noted.apply()
    assert said in caplog.text


@BOTH
def test_another_word_for_without_contract_is_refused(framework: type[Sdk]) -> None:
    with pytest.raises(ContractError, match=r"without_contract: 'ignore' is not known\. Use one of infer"):
        framework(without_contract="ignore")


async def test_a_tool_of_a_mounted_server_is_named_when_it_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    child: FastMCP = FastMCP("child")
    child.tool(look)
    notes = Fast()
    notes.add(look)
    notes.apply()
    notes.server.mount(child, namespace="child")
    with caplog.at_level(logging.ERROR, "assent"):
        assert list(await notes.listed()) == ["look"]
    assert "child_look is not served: it comes from a mounted server" in caplog.text


async def test_a_gateway_can_refuse_to_start_with_tools_without_contracts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"list_orders: it has no contract\. Write its contract"):
        async with shop_gateway(tmp_path, without_contract="error"):
            pass


async def test_a_gateway_with_a_contract_for_every_tool_starts(tmp_path: Path) -> None:
    rest = {"list_orders": {"side_effect": "read"}, "read_private_key": {"side_effect": "read"}}
    (tmp_path / "all.yaml").write_text(write_yaml({"tools": {**CONTRACTS, **rest}}))
    more: dict[str, Any] = {"without_contract": "error", "contracts": [str(tmp_path / "all.yaml")]}
    async with shop_gateway(tmp_path, **more) as (_, gateway_app, _):
        assert len(gateway_app.current.catalogue.tools) == 4


async def test_an_upstream_that_is_down_does_not_stop_a_strict_gateway(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"shop": {"url": "http://127.0.0.1:9/mcp"}}, without_contract="error") as (
        _,
        gateway_app,
    ):
        assert not gateway_app.current.catalogue.tools


async def test_contracts_by_name_have_the_fields_of_a_file() -> None:
    assent = Assent(contracts={"bare": {"side_effect": "destructive"}})
    server = MCPServer("notes", extensions=[assent.extension()])
    server.tool()(bare)
    assent.apply(server)
    async with Client(server) as client:
        listed = (await client.list_tools()).tools[0]
    assert listed.annotations is not None and listed.annotations.destructive_hint
    with pytest.raises(ContractError, match="no such field"):
        Assent(contracts={"bare": {"sideeffect": "destructive"}})

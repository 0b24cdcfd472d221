"""Closient's document, statement by statement; `examples/closient/STATEMENTS.md` names the test of each."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from assent import Assent, contract, needs_confirmation
from assent.errors import ContractError
from assent.testing import assert_annotations, every_tool_annotated
from assent.testing.assertions import tools_of
from support.clients.transports import ROOT
from support.conformance.programs import MISSING, inspect
from support.documents.example_statements import assert_every_statement_has_a_test, run
from support.servers.loopback_server import serving

sys.path.insert(0, str(ROOT))
from examples.closient.conversation import GTIN, converse
from examples.closient.server import add_tools, build, identify

CONTRACTS = ROOT / "examples/closient/contracts.yaml"
READ = {"read_only": True, "idempotent": True, "open_world": False}
POLICY: dict[str, dict[str, bool | None]] = {
    "ping": READ,
    "validate_gtin": READ,
    "resolve_gtin": READ,
    "lookup_product": READ,
    "generate_qr_url": {**READ, "read_only": False},
}
CURL = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def definitions() -> dict[str, dict[str, Any]]:
    server, _ = build()
    return {tool["name"]: dict(tool) for tool in tools_of(server)}


def new_server() -> tuple[MCPServer, Assent]:
    assent = Assent(profile="closient")
    return MCPServer("new", extensions=[assent.extension()], log_level="ERROR"), assent


@asynccontextmanager
async def over_plain_http() -> AsyncIterator[str]:
    """The server as `python -m examples.closient.server http` runs it."""
    server, assent = build()
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    async with serving(app) as url:
        yield url
    await assent.close()


async def ask(url: str, method: str, key: str = "", **params: Any) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "id": 1, **({"params": params} if params else {})})
    headers = {**CURL, **({"X-API-Key": key} if key else {})}
    address = url if url.endswith("/mcp") else f"{url}/mcp"
    async with httpx2.AsyncClient(timeout=60) as client:
        return (await client.post(address, content=body, headers=headers)).json()["result"]


def test_every_registered_tool_has_annotations() -> None:
    every_tool_annotated(build()[0])


def test_tool_read_only_hint_matches_policy() -> None:
    assert_annotations(build()[0], POLICY)


def test_destructive_hint_implies_not_read_only() -> None:
    both = {"name": "x", "annotations": {"readOnlyHint": True, "destructiveHint": True}}
    with pytest.raises(AssertionError, match="both true"):
        every_tool_annotated([both])
    with pytest.raises(ContractError):
        contract(side_effect="read", hints={"destructive": True, "because": "no"})(lambda: None)


def test_no_tool_currently_marked_destructive() -> None:
    assert [name for name, tool in definitions().items() if "destructiveHint" in tool["annotations"]] == []


def test_the_pin_fails_loudly_when_the_bit_is_flipped(tmp_path: Path) -> None:
    flipped = CONTRACTS.read_text("utf-8").replace("side_effect: write", "side_effect: destructive")
    (tmp_path / "contracts.yaml").write_text(flipped, "utf-8")
    assent = Assent(profile="closient", contracts=tmp_path / "contracts.yaml", principal=identify)
    server = MCPServer("new", extensions=[assent.extension()], log_level="ERROR")
    add_tools(server)
    assent.apply(server)
    with pytest.raises(AssertionError, match="generate_qr_url: destructiveHint is true, the policy says absent"):
        assert_annotations(server, POLICY)


@pytest.mark.parametrize(
    ("side_effect", "overwrites", "marked"),
    [("destructive", False, True), ("write", True, True), ("write", False, None), ("share_export", False, None)],
)
def test_destructive_has_the_narrow_meaning(side_effect: str, overwrites: bool, marked: bool | None) -> None:
    server, assent = new_server()
    fields: dict[str, Any] = {"side_effect": side_effect} | ({"overwrites": True} if overwrites else {})
    server.tool(name="it")(contract(**fields)(lambda: None))
    assent.apply(server)
    (tool,) = tools_of(server)
    assert tool["annotations"].get("destructiveHint") is marked
    assert tool["annotations"]["readOnlyHint"] is False


def test_the_wire_payload_is_minimal() -> None:
    tool = definitions()["lookup_product"]
    assert tool["title"] == "Look Up Product"
    assert tool["annotations"] == {
        "title": "Look Up Product",
        "readOnlyHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert set(tool) == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}


async def test_nobody_is_asked_before_a_qr_code() -> None:
    assert await converse(lambda line: None) == []


def test_the_client_reads_the_vendors_own_wire_form_by_its_profile() -> None:
    made = definitions()["generate_qr_url"]
    assert needs_confirmation(made, profile="closient") is False
    assert needs_confirmation(made) is True, "the specification's default for an absent hint is destructive"
    deletes = {**made, "name": "delete_claim", "annotations": {"readOnlyHint": False, "destructiveHint": True}}
    assert needs_confirmation(deletes, profile="closient") is True


async def test_ping_needs_no_key_and_the_catalogue_does() -> None:
    async with over_plain_http() as url:
        assert (await ask(url, "tools/call", name="ping", arguments={}))["structuredContent"] == {"status": "ok"}
        refused = await ask(url, "tools/call", name="lookup_product", arguments={"gtin": GTIN})
        allowed = await ask(url, "tools/call", "demo-key", name="lookup_product", arguments={"gtin": GTIN})
    assert "missing_permissions" in json.dumps(refused)
    assert allowed["structuredContent"]["name"] == "Stabilo Boss"


async def test_a_plain_request_lists_the_tools_with_their_annotations() -> None:
    async with over_plain_http() as url:
        listed = (await ask(url, "tools/list"))["tools"]
    assert [tool["name"] for tool in listed] == list(POLICY)
    assert all(isinstance(tool["annotations"], dict) for tool in listed)


def test_the_recorded_call_reads_as_an_activity(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/closient.db"
    asyncio.run(converse(lambda line: None, store))
    config = tmp_path / "assent.yaml"
    config.write_text(f"store: {store}\ncontracts: ['{CONTRACTS}']\nsecrets: {{directory: {tmp_path}/keys}}\n")
    told = run("audit", "tail", "--feed", "-c", str(config))
    assert f"Generated a QR link for {GTIN}: succeeded" in told


def test_a_new_tool_without_a_contract_stops_the_start_and_names_it() -> None:
    server, assent = new_server()
    server.tool(name="added")(lambda: None)
    with pytest.raises(ContractError, match="added: it has no contract"):
        assent.apply(server)


def test_a_new_tool_can_be_declared_by_its_annotations_alone() -> None:
    assent = Assent(profile="closient", without_contract="infer")
    server = MCPServer("new", extensions=[assent.extension()], log_level="ERROR")
    server.tool(name="get_brand", annotations=ToolAnnotations(read_only_hint=True))(lambda: None)
    server.tool(name="delete_brand", annotations=ToolAnnotations(destructive_hint=True))(lambda: None)
    assent.apply(server)
    hints = {tool["name"]: tool["annotations"] for tool in tools_of(server)}
    assert hints["get_brand"]["readOnlyHint"] is True
    assert hints["delete_brand"]["destructiveHint"] is True


def test_annotations_that_contradict_the_contract_stop_the_start() -> None:
    server, assent = new_server()
    said = ToolAnnotations(destructive_hint=False)
    server.tool(name="it", annotations=said)(contract(side_effect="destructive")(lambda: None))
    with pytest.raises(ContractError, match="destructiveHint is false in its annotations and true by its contract"):
        assent.apply(server)


def test_a_tool_without_annotations_fails_the_suite_and_the_directory_objects(tmp_path: Path) -> None:
    bare = [{"name": "get_it", "description": "Gets it.", "inputSchema": {"type": "object"}}]
    with pytest.raises(AssertionError, match="neither readOnlyHint nor destructiveHint is set"):
        every_tool_annotated(bare)
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    told = run("hosts", str(tmp_path / "bare.json"))
    assert "Anthropic's connector directory accepts 0 of 1" in told
    (tmp_path / "ours.json").write_text(json.dumps(list(definitions().values())))
    told = run("hosts", str(tmp_path / "ours.json"))
    assert "Anthropic's connector directory accepts 4 of 5" in told
    assert told.count("anthropic-hints: it is not read-only and has no destructiveHint") == 1, "the narrow reading"


async def test_the_same_arguments_have_the_same_effect() -> None:
    async with over_plain_http() as url:
        for name in POLICY:
            arguments = {} if name == "ping" else {"gtin": GTIN}
            answers = [await ask(url, "tools/call", "demo-key", name=name, arguments=arguments) for _ in range(2)]
            assert answers[0]["structuredContent"] == answers[1]["structuredContent"], name


@pytest.mark.skipif(MISSING, reason="run .ci/install-node-tools for the Inspector")
async def test_the_inspector_shows_the_annotations() -> None:
    async with over_plain_http() as url:
        shown = await asyncio.to_thread(inspect, f"{url.removesuffix('/mcp')}/mcp", "--method", "tools/list")
    assert {tool["name"]: tool["annotations"] for tool in shown["tools"]} == {
        name: tool["annotations"] for name, tool in definitions().items()
    }


def test_the_docs_table_is_the_one_of_the_contracts() -> None:
    run("contract", "docs", str(CONTRACTS), "--profile", "closient", "--check", str(CONTRACTS.with_name("README.md")))


def test_every_statement_has_a_test() -> None:
    suffixed = {12: ["b"], 19: ["b"]}
    ids = [f"C{n}{s}" for n in range(1, 31) for s in ["", *suffixed.get(n, [])]]
    assert_every_statement_has_a_test("closient", sys.modules[__name__], ids)

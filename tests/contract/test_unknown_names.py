"""A contract that names what its tool does not have: found in the library, by `--check` and by `lint`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp.server import MCPServer

from assent import Assent, contract
from assent.cli import cli
from assent.contract.reader import read_contract
from assent.core.catalogue import catalogue_of
from assent.core.contract_names import unknown_names
from assent.core.tool import compile_tool
from assent.errors import ContractError
from assent.fastmcp import Assent as FastAssent

PAY = {
    "name": "pay",
    "inputSchema": {
        "type": "object",
        "properties": {
            "amount": {"type": "integer"},
            "dry_run": {"type": "boolean"},
            "to": {"$ref": "#/$defs/Person"},
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "free": {"type": "object"},
        },
        "$defs": {"Person": {"type": "object", "properties": {"mail": {"type": "string"}}}},
    },
    "outputSchema": {"type": "object", "properties": {"receipt": {"type": "string"}}},
}
QUOTE = {
    "name": "quote",
    "inputSchema": {"type": "object", "properties": {"amount": {"type": "integer"}}},
    "outputSchema": {"type": "object", "properties": {"price": {"type": "integer"}}},
}


def found(definition: dict[str, Any] | None = None, **fields: Any) -> list[str]:
    spends = read_contract("pay", {"side_effect": "external_spend", **fields})
    quote = compile_tool(read_contract("quote", {"side_effect": "read"}), definition=QUOTE)
    pay = compile_tool(spends, definition=definition or PAY)
    return [str(fault) for fault in unknown_names(pay, catalogue_of([pay, quote]))]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cost": {"amount": "/amont"}}, "pay.cost.amount: there is no argument 'amont'. Did you mean amount?"),
        (
            {"cost": {"amount": "/total"}},
            "pay.cost.amount: there is no argument 'total'. There are: amount, dry_run, free, items, to",
        ),
        ({"cost": {"amount": "/amount/value"}}, "no argument 'amount.value'. Nothing is inside it"),
        ({"activity": "Paid {to.mial}"}, "pay.activity: there is no argument 'to.mial'. Did you mean mail?"),
        ({"selects": ["item"]}, "pay.selects: there is no argument 'item'. Did you mean items?"),
        ({"natural": {"by": ["id"]}}, "pay.natural.by: there is no argument 'id'"),
        ({"natural": {"by": ["amount"], "until": "/ends"}}, "pay.natural.until: there is no field of its result or"),
        ({"step_up": {"max_age": "5m", "when": "amuont > 1"}}, "pay.step_up.when: there is no argument 'amuont'"),
        ({"flow": {"recipients": ["/too"]}}, "pay.flow.recipients: there is no argument 'too'. Did you mean to?"),
        ({"secrets": ["/recipe"]}, "pay.secrets: there is no field of its result 'recipe'. Did you mean receipt?"),
        (
            {"dry_run": {"argument": "dryrun"}},
            "the tool has no argument 'dryrun', so it cannot rehearse a call. Did you mean dry_run?",
        ),
        ({"dry_run": {"mode": "required"}}, "the tool has no argument 'dryRun', so it cannot rehearse a call"),
        (
            {"idempotency": {"recovery": "keyed", "argument": "key", "forward": "argument"}},
            "pay.idempotency.argument: the tool has no argument 'key', so it cannot honour the key",
        ),
        (
            {"estimate": {"tool": "quot", "amount": "/price"}},
            "pay.estimate.tool: there is no tool 'quot'. Did you mean",
        ),
        (
            {"estimate": {"tool": "quote", "amount": "/prize"}},
            "pay.estimate.amount: there is no field of the result of quote 'prize'. Did you mean price?",
        ),
        (
            {"idempotency": {"recovery": "reconcile", "lookup": {"tool": "quote", "by": ["to"]}}},
            "pay.idempotency.lookup.status: there is no field of the result of quote 'status'",
        ),
    ],
)
def test_a_name_that_the_schema_rules_out_is_a_fault(fields: dict[str, Any], said: str) -> None:
    assert any(said in one for one in found(**fields)), found(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"cost": {"amount": "/amount"}},
        {"activity": "Paid {amount} to {to.mail} for {free.text}"},
        {"flow": {"target": ["/items/*/sku", "/items/0/sku"]}},
        {"dry_run": {"argument": "dry_run", "mode": "required"}},
        {"dry_run": {"mode": "offered", "argument": "preview"}},
        {"dry_run": {"mode": "required", "argument": "preview", "simulated": "accepted"}},
        {"estimate": {"tool": "quote", "amount": "/price"}, "cost": {"amount": "/any", "currency": "EUR"}},
        {"secrets": ["/receipt"]},
        {"idempotency": {"argument": "request_key"}},
    ],
    ids=str,
)
def test_what_exists_or_may_exist_is_no_fault(fields: dict[str, Any]) -> None:
    assert found(**fields) == []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"total": {}}}]},
        {"type": "object", "properties": {"total": True}},
        {"type": "object", "properties": {"total": {}, "child": {"$ref": "#"}}},
    ],
    ids=str,
)
def test_a_schema_that_does_not_rule_it_out_gives_no_fault(schema: dict[str, Any]) -> None:
    assert found({"name": "pay", "inputSchema": schema}, cost={"amount": "/total"}) == []


@pytest.mark.parametrize("framework", ["sdk", "fastmcp"])
def test_a_library_server_does_not_start(framework: str) -> None:
    @contract(side_effect="external_spend", activity="Paid {amont}")
    def pay(amount: int) -> str:
        return str(amount)

    if framework == "sdk":
        assent: Any = Assent()
        server: Any = MCPServer("shop", extensions=[assent.extension()], log_level="ERROR")
        server.add_tool(pay)
    else:
        from fastmcp import FastMCP

        assent, server = FastAssent(), FastMCP("shop")
        server.tool(pay)
    with pytest.raises(ContractError, match=r"pay\.activity: there is no argument 'amont'\. Did you mean amount\?"):
        assent.apply(server)


SERVER = """
from mcp.server import MCPServer
server = MCPServer("shop", log_level="ERROR")

@server.tool()
def pay(amount: int) -> str:
    "Charges the card."
    return str(amount)

server.run("stdio")
"""


def configuration(folder: Path, cost: str, command: list[str]) -> Path:
    contracts = f"tools:\n  pay:\n    side_effect: external_spend\n    cost: {{amount: {cost}}}\n"
    (folder / "contracts.yaml").write_text(contracts)
    (folder / "shop.py").write_text(SERVER)
    settings = {
        "store": "memory://",
        "upstreams": {"shop": {"command": command}},
        "contracts": [str(folder / "contracts.yaml")],
        "secrets": {"directory": str(folder / "keys")},
    }
    path = folder / "assent.yaml"
    path.write_text(json.dumps(settings))
    return path


def check(path: Path) -> str:
    arguments = ["serve", "--check", "-c", str(path)]
    return CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False).output


def test_serve_check_finds_it_with_its_place_and_a_suggestion(tmp_path: Path) -> None:
    path = configuration(tmp_path, "/amont", [sys.executable, str(tmp_path / "shop.py")])
    said = r"contracts\.yaml:2: pay\.cost\.amount: there is no argument 'amont'\. Did you mean amount\?"
    with pytest.raises(ContractError, match=said):
        check(path)


def test_an_upstream_that_cannot_be_reached_is_a_warning(tmp_path: Path) -> None:
    said = check(configuration(tmp_path, "/amont", ["/nonexistent/shop"]))
    assert "warning: upstream shop did not answer, so its tools were not checked" in said


def test_lint_finds_it(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [PAY]}))
    contracts = "tools:\n  pay: {side_effect: external_spend, cost: {amount: /amont}}\n"
    (tmp_path / "contracts.yaml").write_text(contracts)
    given = ["lint", str(tmp_path / "tools.json"), "--contracts", str(tmp_path / "contracts.yaml")]
    run = CliRunner().invoke(cli, given)
    assert run.exit_code == 1
    assert "there is no argument 'amont'" in run.output
    assert "contract-names-unknown" in run.output

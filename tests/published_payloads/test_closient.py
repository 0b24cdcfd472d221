"""Closient: the narrow meaning of destructive, and a minimal payload in which unset hints are absent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.documents.seed_payloads import compact, definitions, without_contract

INPUT = {"type": "object", "properties": {"gtin": {"type": "string"}}}

CONTRACTS = """
tools:
  ping: {side_effect: read}
  validate_gtin: {side_effect: read}
  resolve_gtin: {side_effect: read}
  lookup_product:
    title: Look Up Product
    description: Look up structured product data by GTIN. ...
    side_effect: read
  generate_qr_url:
    side_effect: write
    idempotency: {recovery: natural}
    side_effects: [The call is recorded.]
"""

LOOKUP_PRODUCT = """{
  "name": "lookup_product",
  "title": "Look Up Product",
  "description": "Look up structured product data by GTIN. ...",
  "inputSchema": { "type": "object", "properties": { "gtin": { "type": "string" } } },
  "annotations": {
    "title": "Look Up Product",
    "readOnlyHint": true,
    "idempotentHint": true,
    "openWorldHint": false
  }
}"""

# tool: readOnlyHint, destructiveHint (None: absent), idempotentHint
TABLE = {
    "ping": (True, None, True),
    "validate_gtin": (True, None, True),
    "resolve_gtin": (True, None, True),
    "lookup_product": (True, None, True),
    "generate_qr_url": (False, None, True),
}

TOOLS = definitions(CONTRACTS, "closient", inputSchema=INPUT)


def test_lookup_product_is_printed_byte_for_byte() -> None:
    assert compact(without_contract(TOOLS["lookup_product"])) == compact(json.loads(LOOKUP_PRODUCT))


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_tools_comes_out(name: str) -> None:
    said: dict[str, Any] = TOOLS[name]["annotations"]
    assert (said.get("readOnlyHint"), said.get("destructiveHint"), said.get("idempotentHint")) == TABLE[name]
    assert said["openWorldHint"] is False
    assert TABLE[name][1] is not None or "destructiveHint" not in said


def test_the_table_names_every_tool() -> None:
    assert list(TOOLS) == list(TABLE)


def test_no_tool_is_marked_destructive_today() -> None:
    assert [name for name, tool in TOOLS.items() if tool["annotations"].get("destructiveHint")] == []


@pytest.mark.parametrize(
    ("contract", "marked"),
    [
        ("{side_effect: destructive}", True),
        ("{side_effect: write, overwrites: true}", True),
        ("{side_effect: write}", None),
        ("{side_effect: share_export}", None),
        ("{side_effect: external_spend}", None),
        ("{side_effect: compute}", None),
    ],
)
def test_destructive_means_deletes_overwrites_revocations_and_cancellations(contract: str, marked: bool | None) -> None:
    (tool,) = definitions(f"tools:\n  tool: {contract}\n", "closient", inputSchema=INPUT).values()
    assert tool["annotations"].get("destructiveHint") is marked
    assert "idempotentHint" not in tool["annotations"]

"""EPD: four explicit flags on every tool, of which several may hold at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.documents.seed_payloads import compact, definitions, without_contract

INPUT = {"type": "object", "properties": {"subscription_id": {"type": "string"}}}

CANCEL_SUBSCRIPTION = """{
"name": "cancel_subscription",
"description": "Cancel an existing subscription. Cancelling at period end keeps access until the period closes.",
"inputSchema": {"type": "object", "properties": {"subscription_id": {"type": "string"}}},
"annotations": {
"title": "Cancel subscription",
"readOnlyHint": false,
"destructiveHint": true,
"idempotentHint": true,
"openWorldHint": false
}
}"""

SAFE = [
    *("ping", "get_account", "get_revenue_summary", "get_customer_financial_summary", "list_past_due_subscriptions"),
    *("list_orders", "list_customers", "get_customer", "preview_invoice", "compare_plans"),
]
DESTRUCTIVE = [
    *("delete_customer", "delete_webhook", "cancel_subscription", "refund_order", "refund_transaction"),
    *("refund_and_cancel", "cancel_subscription_and_report", "upgrade_account_api_version"),
    *("upgrade_webhook_version", "downgrade_webhook_version"),
]
CHANGING = ["create_customer", "update_customer", "pause_subscription"]

CONTRACTS = "tools:\n" + "".join(
    f"  {name}: {{side_effect: {tier}}}\n"
    for tier, names in (("read", SAFE), ("destructive", DESTRUCTIVE), ("write", CHANGING))
    for name in names
)


def flags(tool: dict[str, Any]) -> dict[str, bool]:
    return {key: value for key, value in tool["annotations"].items() if key != "title"}


def test_cancel_subscription_is_printed_byte_for_byte() -> None:
    contracts = """
tools:
  cancel_subscription:
    title: Cancel subscription
    description: Cancel an existing subscription. Cancelling at period end keeps access until the period closes.
    side_effect: destructive
"""
    (tool,) = definitions(contracts, "epd", inputSchema=INPUT).values()
    assert compact(without_contract(tool)) == compact(json.loads(CANCEL_SUBSCRIPTION))


@pytest.mark.parametrize(
    "tool", definitions(CONTRACTS, "epd", inputSchema=INPUT).values(), ids=lambda tool: tool["name"]
)
def test_every_tool_declares_all_four_flags(tool: dict[str, Any]) -> None:
    assert list(flags(tool)) == ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
    assert all(isinstance(value, bool) for value in flags(tool).values())


def test_tools_are_browsed_by_safety() -> None:
    tools = definitions(CONTRACTS, "epd", inputSchema=INPUT)
    assert [name for name, tool in tools.items() if flags(tool)["readOnlyHint"]] == SAFE
    assert [name for name, tool in tools.items() if flags(tool)["destructiveHint"]] == DESTRUCTIVE
    assert [name for name, tool in tools.items() if flags(tool)["openWorldHint"]] == []


def test_most_tools_and_all_reads_are_idempotent() -> None:
    tools = definitions(CONTRACTS, "epd", inputSchema=INPUT)
    assert all(flags(tool)["idempotentHint"] for tool in tools.values())
    once = "tools:\n  charge: {side_effect: external_spend, hints: {idempotent: false, because: charges again}}\n"
    assert flags(definitions(once, "epd", inputSchema=INPUT)["charge"])["idempotentHint"] is False


def test_a_tool_that_reaches_outside_says_so() -> None:
    contracts = "tools:\n  deliver_webhook: {side_effect: write, open_world: true}\n"
    assert flags(definitions(contracts, "epd", inputSchema=INPUT)["deliver_webhook"])["openWorldHint"] is True

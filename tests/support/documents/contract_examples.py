"""The contract in full: every field there is, once as a file and once as keywords."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assent.contract.files import by_name, load_written, parse_written
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.contract.tiers import Risk, Tier

FULL_YAML = """\
tools:
  place_order:
    title: Place an order
    description: Buys an archive scene.
    category: billing
    category_label: Billing
    side_effect: external_spend
    overwrites: false
    risk: critical
    autonomous: false
    confirmation: {by: approver, quorum: 1, expires: 15m, uses: 1}
    step_up: {max_age: 5m, acr: [mfa], when: always}
    permissions: [orders:write]
    input:
      type: object
      properties:
        item: {type: string}
        amount: {type: number, minimum: 0.5}
      required: [item]
    output: {type: object, properties: {download: {type: object}}}
    side_effects: ["Charges the account.", "Repeating with the same key charges nothing."]
    audit_event: order.placed
    events: {item.sent: "/items/*"}
    failure_modes: {card_declined: {class: no_effect, status: 402}}
    idempotency: {recovery: none, key: required, argument: idempotency_key, forward: header, retention: 30d}
    dry_run: {mode: offered, argument: dryRun, within: 10m}
    estimate: {tool: estimate_order, amount: /price}
    cost: {amount: /amount, currency: EUR}
    natural: {by: [fileId, expiresAt], until: /expiresAt}
    secrets: [/download/token]
    selects: [filter, ids]
    bulk: 100
    open_world: true
    produces: [order]
    activity: "Ordered {item} for {amount}"
    visibility: scoped
    labels: {reads_private: false, sees_untrusted: false, public_sink: false}
    flow: {recipients: [/address], target: [/item], url: [], amount: [/price], rights: [], title: [],
      content: [], ignored: []}
    hints: {idempotent: true, because: "PUT with the same body"}
"""

FULL: dict[str, Any] = {
    "title": "Place an order",
    "description": "Buys an archive scene.",
    "category": "billing",
    "category_label": "Billing",
    "side_effect": "external_spend",
    "overwrites": False,
    "risk": "critical",
    "autonomous": False,
    "confirmation": {"by": "approver", "quorum": 1, "expires": "15m", "uses": 1},
    "step_up": {"max_age": "5m", "acr": ["mfa"], "when": "always"},
    "permissions": ["orders:write"],
    "input": {
        "type": "object",
        "properties": {"item": {"type": "string"}, "amount": {"type": "number", "minimum": 0.5}},
        "required": ["item"],
    },
    "output": {"type": "object", "properties": {"download": {"type": "object"}}},
    "side_effects": ["Charges the account.", "Repeating with the same key charges nothing."],
    "audit_event": "order.placed",
    "events": {"item.sent": "/items/*"},
    "failure_modes": {"card_declined": {"class": "no_effect", "status": 402}},
    "idempotency": {
        "recovery": "none",
        "key": "required",
        "argument": "idempotency_key",
        "forward": "header",
        "retention": "30d",
    },
    "dry_run": {"mode": "offered", "argument": "dryRun", "within": "10m"},
    "estimate": {"tool": "estimate_order", "amount": "/price"},
    "cost": {"amount": "/amount", "currency": "EUR"},
    "natural": {"by": ["fileId", "expiresAt"], "until": "/expiresAt"},
    "secrets": ["/download/token"],
    "selects": ["filter", "ids"],
    "bulk": 100,
    "open_world": True,
    "produces": ["order"],
    "activity": "Ordered {item} for {amount}",
    "visibility": "scoped",
    "labels": {"reads_private": False, "sees_untrusted": False, "public_sink": False},
    "flow": {
        "recipients": ["/address"],
        "target": ["/item"],
        "url": [],
        "amount": ["/price"],
        "rights": [],
        "title": [],
        "content": [],
        "ignored": [],
    },
    "hints": {"idempotent": True, "because": "PUT with the same body"},
}

TIERS = [tier.value for tier in Tier]
RISKS = [risk.value for risk in Risk]


def contract_with(name: str = "tool", side_effect: str = "write", **fields: Any) -> Contract:
    return read_contract(name, {"side_effect": side_effect, **fields})


def parse_contracts(text: str, file: str = "") -> dict[str, Contract]:
    """The contracts of one YAML (or JSON) text by the tool's own name."""
    return by_name(parse_written(text, file))


def load_contracts(paths: Iterable[Path]) -> dict[str, Contract]:
    """Every contract of the files by the tool's own name."""
    return by_name(load_written(paths))

"""Rule: a contract names only arguments, fields and tools that exist."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import Target
from assent.core.catalogue import Catalogue
from assent.core.contract_names import never_rehearsed, unknown_names


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    tools = {one.name: one.compiled for one in target.subjects if one.compiled is not None}
    others = {one.name: "it has no contract" for one in target.subjects if one.compiled is None}
    catalogue = Catalogue(tools, others)
    for name, tool in tools.items():
        for fault in unknown_names(tool, catalogue) or never_rehearsed(tool):
            yield name, RawFinding(fault.message, fault.field.removeprefix(f"{name}."), fault.remedy)


_PAY = {
    "name": "pay",
    "inputSchema": {"type": "object", "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}}},
}
_QUOTE = {"name": "quote", "outputSchema": {"type": "object", "properties": {"price": {"type": "integer"}}}}
_SPENDS = {"side_effect": "external_spend"}

RULE = Rule(
    name="contract-names-unknown",
    severity="error",
    summary="A contract names an argument, a field of the result or a tool that does not exist.",
    why="Calls would be refused for a reason that is not true, or a price, a secret or a sentence would be missing.",
    fix="Correct the name, or remove it.",
    whole=check,
    flags=(
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "cost": {"amount": "/total"}}}},
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "activity": "Paid {amont}"}}},
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "dry_run": {"mode": "required"}}}},
        {"tools": [_PAY, _QUOTE], "contracts": {"pay": {**_SPENDS, "estimate": {"tool": "qoute", "amount": "/price"}}}},
    ),
    passes=(
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "cost": {"amount": "/amount"}, "activity": "Paid {to}"}}},
        {"tools": [_PAY, _QUOTE], "contracts": {"pay": {**_SPENDS, "estimate": {"tool": "quote", "amount": "/price"}}}},
        {"contracts": {"pay": {**_SPENDS, "cost": {"amount": "/total"}}}},
    ),
)

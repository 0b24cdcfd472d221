"""Rule: a contract's side effect is not more serious than its tier says."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.tiers import Tier


def check(tool: LintedTool) -> Iterator[RawFinding]:
    contract, inference = tool.contract, tool.inference
    if contract is None or contract.side_effect == "read" or not tool.confident:
        return
    graver = Tier(inference.tier) > contract.side_effect
    if graver and inference.tier in ("external_spend", "destructive"):
        yield RawFinding(
            f"its contract says {contract.side_effect}, but {tool.because}: {inference.tier}", "side_effect"
        )


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    yield put(tool.inference.tier, "side_effect")


RULE = Rule(
    name="tier-contradicted",
    severity="warning",
    summary="A contract says that a tool writes or computes, but its definition says that it spends or destroys.",
    why="Everything follows from the side effect: risk, confirmation, key, hints.",
    fix="Correct `side_effect:`; or correct the name or description if they say more than the tool does.",
    each=check,
    mend=mend,
    flags=({"contracts": {"delete_order": {"side_effect": "write", "description": "Deletes an order."}}},),
    passes=(
        {"contracts": {"delete_order": {"side_effect": "destructive", "description": "Deletes an order."}}},
        {"contracts": {"create_order": {"side_effect": "write", "description": "Creates an order."}}},
    ),
)

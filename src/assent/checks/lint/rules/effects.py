"""Rules about the hints readOnlyHint, destructiveHint and openWorldHint, and about who confirms."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put, remove
from assent.checks.lint.fields import presses, restarts
from assent.checks.lint.rule import DESTRUCTIVE, OPEN_WORLD, READ_ONLY, RawFinding
from assent.checks.lint.target import LintedTool, Target
from assent.contract.contradictions import exception_of


def check_read_only_and_destructive(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and tool.claims.destructive:
        yield RawFinding("it claims to be read-only and destructive at once", DESTRUCTIVE)


def mend_read_only_and_destructive(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is None and not tool.inference.read_only and "readOnlyHint" in tool.annotations:
        yield put(False, "annotations", "readOnlyHint")


_IN_A_CONTRACT = "Correct `side_effect:`; or, if the tool really only reads, the words that say otherwise."


def check_read_only_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only and tool.confident:
        yield RawFinding(
            f"it claims to be read-only, but {tool.because}: by its definition it is of tier {tool.inference.tier}",
            "side_effect" if tool.contract else READ_ONLY,
            _IN_A_CONTRACT if tool.contract else "",
        )


def mend_read_only_contradicted(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is not None:
        yield put(tool.inference.tier, "side_effect")
    elif "readOnlyHint" in tool.annotations:
        yield put(False, "annotations", "readOnlyHint")


def check_read_only_unclaimed(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only is False and tool.inference.read_only and tool.confident and tool.contract is None:
        yield RawFinding(
            f"it says that it is not read-only, but {tool.because}: every host will ask before it runs", READ_ONLY
        )


def check_read_only_unclear(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only and not tool.confident:
        yield RawFinding(
            "it claims to be read-only, and nothing in its name, text or parameters supports that", READ_ONLY
        )


def check_destructive_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    if presses(tool) or restarts(tool):
        return
    if tool.claims.destructive is False and not tool.claims.read_only and tool.inference.destructive and tool.confident:
        reasons = tool.inference.reasons
        why = reasons[1] if len(reasons) > 1 else tool.because
        fix = "Correct `side_effect:`; or the words, if nothing can be lost." if tool.contract else ""
        yield RawFinding(f"destructiveHint is false, but {why}", DESTRUCTIVE, fix)


def check_destructive_overstated(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.destructive and not tool.claims.read_only and tool.inference.read_only and tool.confident:
        yield RawFinding(f"destructiveHint is true, but {tool.because}", DESTRUCTIVE)


def check_destructive_without_confirmation(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or contract.side_effect != "destructive":
        return
    if contract.confirmation.by == "none" or contract.autonomous:
        yield RawFinding("it destroys, and nobody is asked", "confirmation.by")


def mend_destructive_without_confirmation(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Without a `confirmation:` of its own, the one that its risk asks for holds."""
    if tool.contract is not None and tool.contract.confirmation.by == "none":
        yield remove("confirmation")


def check_critical_without_confirmation(tool: LintedTool) -> Iterator[RawFinding]:
    exception = exception_of(tool.contract) if tool.contract is not None else None
    if exception is not None:
        yield RawFinding(f"exception: {exception}", "confirmation.by")


def mend_critical_without_confirmation(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Without a `confirmation:` of its own, the one that its risk asks for applies."""
    yield remove("confirmation")


def check_press_called_harmless(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if presses(tool) and tool.confident and claims.destructive is False and not claims.read_only:
        yield RawFinding("destructiveHint is false, but what a press does depends on the screen", DESTRUCTIVE)


def check_open_world_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    inference = tool.inference
    if tool.claims.open_world is False and inference.labels.public_sink and inference.open_world and tool.confident:
        yield RawFinding("openWorldHint is false, but by its definition it carries data to others", OPEN_WORLD)


_ENOUGH = 10
_MAJORITY = 0.9


def check_all_open_world_varies(target: Target) -> Iterator[tuple[str, RawFinding]]:
    said = [(tool, tool.claims.open_world) for tool in target.subjects if tool.claims.open_world is not None]
    if len(said) < _ENOUGH:
        return
    yes = sum(1 for _, one in said if one)
    usual = yes * 2 > len(said)
    agreeing = yes if usual else len(said) - yes
    if agreeing == len(said) or agreeing < _MAJORITY * len(said):
        return
    for tool, one in said:
        if one is not usual and tool.inference.open_world is not one:
            text = f"openWorldHint is {str(one).lower()}; {agreeing} of {len(said)} tools here say the opposite"
            yield tool.name, RawFinding(text, OPEN_WORLD)

"""The words of refusals: what happened, and what the caller or a person can do about it.

Nothing is decided here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from math import ceil
from typing import Any

from assent.core.approval import MOST_REASON, Approval
from assent.core.call import Call
from assent.core.claims import claim_name
from assent.core.guard_finding import GuardFinding
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.problems import CATALOGUE, declared_failure, problem_in
from assent.core.question import quoted, visible, waiting
from assent.core.stop_switch import Stop
from assent.core.tool import Tool
from assent.pipeline.preview import reported_text
from assent.ports import OverBudget, Ports, RateLimited, Rules, ToolFailed

MOST_SAID = 500
_GUARDS = "An operator can change it under `guards:`."

_NOWHERE = (
    "Tell the user: this server keeps its records in memory, so no other program can settle it. Its operator can set a "
    "store."
)
_CALL_AGAIN = "Once it is approved, call again with the same arguments."
_NO_PLACE = (
    "Tell the user: this server keeps approvals in memory, so only a client that shows the question to its user can "
    "decide it. Its operator can set a store, so that people can decide it elsewhere."
)
_ACCEPT_SIMULATED = (
    "Tell the user. An operator can let a preview made from the contract count, with `simulated: accepted` under "
    "`dry_run` in the tool's contract."
)
_NO_DRY_RUN = "The contract requires a dry run, and this tool has none of its own: a simulated preview does not count."


def place_of(ports: Ports, path: str, words: str) -> str | None:
    """The page, the command, or both, in words; None if neither reaches the store."""
    page, command = ports.page(path), ports.command(words)
    if page is not None and command is not None:
        return f"at {page} or with `{command}` on the gateway's machine"
    if command is not None:
        return f"with `{command}` in their own terminal"
    return None if page is None else f"at {page}"


def doubt_refusal(code: str, ports: Ports, call: Call | None = None, said: str = "") -> Refusal:
    """The refusal of a call in doubt: what the user checks, and where an operator settles it.

    With the call: if its contract recovers it, the caller repeats it with the same key and nobody needs to settle it.
    `said` is what the server answered, which is quoted as its words.
    """
    detail = f"{CATALOGUE[code].title} The server said: {quoted(said[:MOST_SAID])}" if said else ""
    if call is not None and (how := _how_to_repeat(call)) is not None:
        return Refusal(code, detail, remedy=how, retryable=True)
    place = place_of(ports, "claims", "claims list")
    if place is None:
        return Refusal(code, detail, remedy=f"Do not repeat it with a new key. {_NOWHERE}")
    remedy = (
        "Do not repeat it with a new key. Tell the user: check whether it took effect; an operator then settles it "
        f"{place}."
    )
    return Refusal(code, detail, remedy=remedy)


def reason_of(tool: Tool, result: dict[str, Any], failed: ToolFailed | None) -> str:
    """Why a tool failed, in its words; empty if it did not, or if its contract declares failures and not this one."""
    if failed is not None:
        result = declared_failure(tool.contract, failed.code, failed.detail, failed.facts) or {}
    problem, modes = problem_in(result), tool.contract.failure_modes
    if not result.get("isError") or (modes and problem.get("code") not in modes):
        return ""
    said = problem.get("detail") or reported_text(result)
    return said if isinstance(said, str) else ""


def estimate_refusal(said: str) -> Refusal:
    """The refusal of a call without a price; `said` is why the tool that gives it refused, quoted as its words."""
    code = "rehearse.estimate_failed"
    if not said:
        return Refusal(code)
    detail = f"{CATALOGUE[code].title} The tool that gives the price said: {quoted(said[:MOST_SAID])}"
    return Refusal(code, detail, remedy="Change what that tool rejects, or tell the user.", retryable=False)


def _how_to_repeat(call: Call) -> str | None:
    """How the caller repeats a call that `recall` will recover; None if it would not."""
    recovery = call.tool.contract.idempotency.recovery
    if recovery == "none" or (recovery != "natural" and claim_name(call) is None):
        return None
    if call.key is None:
        return "Call it again with exactly the same arguments: it is recognised and does not act twice."
    return "Call it again with the same arguments and the same idempotency key: it does not act twice. Use no new key."


def not_counted(approval: Approval) -> str:
    """Why the client's yes does not count, if it gave one."""
    answer = approval.answered_too_fast
    if answer is None:
        return ""
    return f"The client answered after {answer.seconds or 0:.2f} seconds, before a person could read the question. "


def pending(approval: Approval, ports: Ports, code: str = "confirm.approval_pending", first: str = "") -> Refusal:
    """The refusal of a call that waits for a person: who must do what, and until when.

    It stays the same until the person has decided.
    """
    until = datetime.fromtimestamp(approval.expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    detail = f"{first}This call waits for a person's approval. Nothing has run. It can be decided until {until}."
    if approval.details and approval.details.get("why"):
        detail += f" It is asked because {visible(approval.details['why'])}."
    page = f"approvals/{approval.id}"
    url, place = ports.page(page), place_of(ports, page, f"approvals approve {approval.id}")
    facts = {"approval": approval.id, **({"approval_url": url} if url is not None else {})}
    facts["remedy"] = (
        _NO_PLACE if place is None else f"Tell the user: {_deciders(approval)} must approve it {place}. {_CALL_AGAIN}"
    )
    refusal = Refusal(code, detail, **facts)
    refusal.approval = approval
    return refusal


def _deciders(approval: Approval) -> str:
    """Who may decide, as `approve` checks it."""
    if approval.by != "approver":
        return "a person"
    if approval.quorum > 1:
        return f"{approval.quorum} people with the role approver, other than the requester,"
    return "a person with the role approver, other than the requester,"


def declined_refusal(approval: Approval, ports: Ports) -> Refusal:
    """The no with the person's reason, quoted and with hidden characters written out: it cannot pose as ours."""
    facts, detail = {"approval": approval.id}, ""
    if approval.decline is not None and approval.decline.reason:
        facts["reason"] = approval.decline.reason[:MOST_REASON]
        detail = f"A person declined this call. Their reason, in their own words: {quoted(facts['reason'])}."
    command = ports.command(f"approvals reopen {approval.id}")
    if command is not None:
        facts["remedy"] = (
            f"Do not repeat it; ask the user what to do instead. A person can take the decline back with `{command}`."
        )
    return Refusal("confirm.declined", detail, **facts)


def too_many_refusal(ports: Ports) -> Refusal:
    place = place_of(ports, "approvals", "approvals list")
    where = {"remedy": f"Tell the user: a person must decide some of them {place}."} if place is not None else {}
    return Refusal("confirm.too_many_pending", **where)


def quota_refusal(exceeded: RateLimited | OverBudget) -> Refusal:
    """The refusal of a call beyond its quotas: when to retry, or what is left."""
    if isinstance(exceeded, RateLimited):
        detail = f"There were too many calls in too little time. The next one can come in {waiting(exceeded.seconds)}."
        return Refusal("claim.rate_limited", detail, retry_after_ms=max(1, ceil(exceeded.seconds * 1000)))
    left = max(exceeded.left, Decimal(0))
    detail = f"The call would cost more than is left of its budget: {left} of {exceeded.limit}. Nothing has run."
    return Refusal("claim.budget_exceeded", detail, limit=str(exceeded.limit), left=str(left))


def stopped_refusal(stop: Stop) -> Refusal:
    return Refusal("authorize.stopped", stop.sentence(), stop=stop.id, scope=stop.scope)


def missing_permissions_refusal(tool: Tool, missing: tuple[str, ...], principal: Principal, rules: Rules) -> Refusal:
    """The refusal that names all missing permissions in one challenge, and who can give them."""
    wanted = ", ".join(missing)
    given = "log in again with" if principal.bearer else f"an operator must give this caller ({rules.callers_from})"
    return Refusal(
        "authorize.missing_permissions",
        f"{tool.name} needs {wanted}. Nothing has run.",
        remedy=f"Tell the user: {given} the scopes {wanted}. Calling again without them will not help.",
        missing_permissions=list(missing),
        required_permissions=list(tool.contract.permissions),
    )


def dry_run_refusal(call: Call) -> Refusal:
    """The refusal of a call without its required dry run. No retry helps if the tool has no dry run of its own."""
    spec = call.tool.contract.dry_run
    if call.tool.rehearses or spec.simulated == "accepted":
        first = f"Call it with `{spec.argument}: true`, read the preview, then call it again without `{spec.argument}`."
        return Refusal("rehearse.dry_run_required", remedy=first, dry_run_argument=spec.argument)
    return Refusal("rehearse.dry_run_required", _NO_DRY_RUN, remedy=_ACCEPT_SIMULATED, dry_run_argument=spec.argument)


def invalid_arguments(errors: list[tuple[str, str]]) -> Refusal:
    listed = [{"field": field, "reason": reason} for field, reason in errors]
    first = errors[0]
    where = f"{first[0]}: " if first[0] else ""
    return Refusal("validate.arguments_invalid", f"{where}{first[1]}.", errors=listed)


def kind_of(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


def safe_reason(error: Exception) -> str:
    """The reason without the value, which belongs to the caller."""
    text = str(error)
    if "2^53" in text or "safe" in text or "domain" in text or "exceed" in text:
        return "an integer is beyond ±(2^53-1)"
    if "utf" in text.lower() or "surrogate" in text.lower():
        return "a text contains a lone surrogate"
    if "recursion" in text.lower():
        return "it is nested too deeply"
    return "a value is not plain JSON"


def withheld_refusal(found: GuardFinding) -> Refusal:
    remedy = (
        f"The call has run; do not repeat it. Tell the user: the guard {found.rule} withholds the result. {_GUARDS}"
    )
    return Refusal("guard.result_denied", f"The result is withheld. {found.sentence}", remedy=remedy, rule=found.rule)


def guard_remedy(found: GuardFinding) -> str:
    """What the model can change, and who can change the guard."""
    change = f"Change `{found.field}`, or tell" if found.field else "Tell"
    return f"{change} the user: the guard {found.rule} forbids this. {_GUARDS}"

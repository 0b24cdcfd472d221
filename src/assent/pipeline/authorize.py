"""Stage `authorize`: checks that the principal may call the tool."""

from __future__ import annotations

from assent.core.call import Request
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.stop_switch import NO_STOPS, Stop, StopSet
from assent.core.tool import Tool
from assent.pipeline.policy_check import check_tool_policies, forbids_tool
from assent.pipeline.trace import CallTrace, always
from assent.ports import Rules

applies = always  # An operator can stop any call at any time.


def authorize(
    request: Request,
    principal: Principal,
    tool: Tool,
    rules: Rules,
    trace: CallTrace,
    stops: StopSet = NO_STOPS,
) -> tuple[str, ...]:
    """Return the missing permissions: none, unless the call is a dry run of a locked tool. Otherwise refuse."""
    # In observe mode too: an operator who stops calls means it, and a test caller must not reach a live system.
    if not stops.is_empty and (stop := stops.stop_for(principal, tool)) is not None:
        raise stopped_refusal(stop)
    if principal.mode == "test" and not tool.has_test:
        raise Refusal("authorize.no_test_endpoint")
    missing = principal.lacks(tool.contract.permissions) if tool.contract.permissions else ()
    refused = bool(missing) and not _rehearses_locked(request, tool)
    if refused:
        trace.refuse_or_note("authorize", missing_permissions_refusal(tool, missing, principal))
    if rules.policies is not None:
        check_tool_policies(principal, tool, rules.policies, trace)
    if trace.keeps_notes and not refused:
        trace.passed("authorize", _reason(tool.contract.permissions, missing))
    return missing


def may_see(principal: Principal, tool: Tool, rules: Rules) -> bool:
    """Whether a tool is listed: the same decision as for a call, except that locked tools are listed to all whom no
    policy forbids them.
    """
    if principal.mode == "test" and not tool.has_test:
        return False
    if rules.mode == "observe":
        return True
    permitted = tool.visibility == "locked" or not principal.lacks(tool.contract.permissions)
    return permitted and not forbids_tool(principal, tool, rules.policies)


def stopped_refusal(stop: Stop) -> Refusal:
    return Refusal("authorize.stopped", stop.said(), stop=stop.id, scope=stop.scope)


def missing_permissions_refusal(tool: Tool, missing: tuple[str, ...], principal: Principal) -> Refusal:
    """The refusal that names all missing permissions in one challenge, and who can give them."""
    wanted = ", ".join(missing)
    given = "log in again with" if principal.bearer else "an operator must give this caller (`auth:`)"
    return Refusal(
        "authorize.missing_permissions",
        f"{tool.name} needs {wanted}. Nothing has run.",
        remedy=f"Tell the user: {given} the scopes {wanted}. Calling again without them will not help.",
        missing_permissions=list(missing),
        required_permissions=list(tool.contract.permissions),
    )


def _rehearses_locked(request: Request, tool: Tool) -> bool:
    contract = tool.contract
    if tool.visibility != "locked" or contract.dry_run.mode == "none" or not isinstance(request.arguments, dict):
        return False
    return request.arguments.get(contract.dry_run.argument) is True


def _reason(permissions: tuple[str, ...], missing: tuple[str, ...]) -> str:
    """Why a call may continue."""
    if missing:
        return f"dry run only; lacks {', '.join(missing)}"
    return f"has {', '.join(permissions)}" if permissions else "no permission needed"

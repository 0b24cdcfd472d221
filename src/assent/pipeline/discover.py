"""Stage `discover`: finds the tool, if it exists for the principal."""

from __future__ import annotations

from assent.core.call import Request
from assent.core.catalogue import Catalogue
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.pipeline.authorize import may_see
from assent.pipeline.record import CallTrace, always
from assent.ports import Ports, Rules

applies = always  # It finds the tool.


def discover(request: Request, principal: Principal, ports: Ports, trace: CallTrace) -> Tool:
    """Return the tool of that name. A hidden tool is refused exactly like an unknown one, in observe mode too."""
    catalogue = ports.catalogue()
    tool = catalogue.find(request.tool)
    if tool is None:
        reason: str | None = catalogue.withheld.get(request.tool, "no upstream has a tool of this name")
    else:
        reason = absent_for(tool, principal)
    if tool is None or reason is not None:
        trace.note_stop("discover", reason or "unknown")
        raise Refusal("discover.unknown_tool", f"Unknown tool: {request.tool}")
    trace.tool = tool
    if trace.keeps_notes:
        trace.note_pass("discover", "%s, %s risk, %s", tool.contract.side_effect, tool.contract.risk, tool.visibility)
    return tool


def absent_for(tool: Tool, principal: Principal) -> str | None:
    """Why a tool does not exist for a principal, or None: hidden, not offered to it, or forbidden for agents."""
    if principal.only is not None and tool.contract.name not in principal.only:
        return "callers without credentials are offered only the tools in auth.anonymous.tools"
    if tool.visibility == "hidden":
        return "its contract hides it from all callers"
    if tool.contract.risk == "forbidden" and principal.has_agent:
        return "it is forbidden for agents, and an agent is in the chain of callers"
    return None


def visible_tools(catalogue: Catalogue, principal: Principal, rules: Rules) -> list[Tool]:
    """The tools that `tools/list` shows: the first three stages over the catalogue. In observe mode it shows every
    tool that a call could run.
    """
    return [
        one for one in catalogue.tools.values() if not absent_for(one, principal) and may_see(principal, one, rules)
    ]

"""Does this tool exist for this principal?"""

from __future__ import annotations

from assent.core.call import Request
from assent.core.catalogue import Catalogue, absent_for
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.pipeline.authorize import may_see
from assent.pipeline.trace import CallTrace
from assent.ports import Ports


def discover(request: Request, principal: Principal, ports: Ports, trace: CallTrace) -> Tool:
    """The tool of that name. A hidden one is refused exactly as an unknown one is; observing changes nothing here."""
    catalogue = ports.catalogue()
    tool = catalogue.find(request.tool)
    reason = why_absent(catalogue, tool, request.tool, principal)
    if tool is None or reason is not None:
        trace.stopped("discover", reason or "unknown")
        raise Refusal("discover.unknown_tool", f"Unknown tool: {request.tool}")
    trace.tool = tool
    trace.passed("discover", "%s, %s risk, %s", tool.contract.side_effect, tool.contract.risk, tool.visibility)
    return tool


def why_absent(catalogue: Catalogue, tool: Tool | None, name: str, principal: Principal) -> str | None:
    """The operator's reason why a tool is not there, or None if it is."""
    if tool is None:
        return catalogue.withheld.get(name, "no upstream has a tool of this name")
    return absent_for(tool, principal)


def visible_tools(catalogue: Catalogue, principal: Principal, *, observing: bool = False) -> list[Tool]:
    """What `tools/list` shows: the first three verbs over the catalogue, so when only observing nothing is held back
    that a call would get."""
    return [
        tool
        for tool in catalogue.tools.values()
        if absent_for(tool, principal) is None and may_see(principal, tool, observing=observing)
    ]

"""Tools as each caller may see them, and for operators everything that is withheld, with filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from typing_extensions import TypedDict

from assent.contract.contradictions import exception_of
from assent.contract.profiles import profile, profile_names
from assent.contract.show import show
from assent.contract.tiers import Risk, Tier
from assent.contract.tool_listing import annotations_of
from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.core.tool import Tool
from assent.features import load_feature
from assent.people.api.fields import MOST_LISTED, OneOf, ToolName, UpstreamName, WholeNumber, closed
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem
from assent.pipeline.discover import absent_for, visible_tools

_AN_AGENT = Principal("", "agent")
_DAY = 86400.0
USED = {"day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY}


_STATES, _CONFIRMERS = ("served", "withheld", "changed"), ("none", "host", "user", "approver")


@closed
class ToolFilter(TypedDict, total=False):
    upstream: Annotated[UpstreamName, "Only tools of this upstream; for operators."]
    tier: Annotated[str, OneOf(tuple(one.value for one in Tier)), "Only tools of this tier."]
    risk: Annotated[str, OneOf(tuple(one.value for one in Risk)), "Only tools of this risk."]
    confirmation: Annotated[str, OneOf(_CONFIRMERS), "Only tools that these must approve."]
    state: Annotated[str, OneOf(_STATES), "Served, withheld, or withheld because the definition changed."]
    used: Annotated[
        str, OneOf((*USED, "never")), "Last used within this time, or not in the recent log; for operators."
    ]
    name: Annotated[ToolName, "Only tools whose name contains this."]
    after: Annotated[ToolName, "Go on after this name: `next` of the page before."]
    limit: Annotated[int, WholeNumber(1, MOST_LISTED, MOST_LISTED), "How many at most."]


@get("/api/tools", "ToolList", ToolFilter, who="everybody: what `tools/list` shows them; operators: all")
async def list_tools(request: ApiRequest) -> dict[str, Any]:
    """List the tools the caller may see; for operators also those withheld, with the reason."""
    query, used = request.query, await _last_used(request)
    shown = [] if query.get("state") in ("withheld", "changed") else _tools_of_caller(request)
    found = [one for one in shown if _fits(one, request, used)]
    found.sort(key=lambda tool: tool.name)
    after, limit = query.get("after", ""), query.get("limit", MOST_LISTED)
    page = [tool for tool in found if tool.name > after][: limit + 1]
    said: dict[str, Any] = {
        "tools": [_tool_as_json(tool, request, used) for tool in page[:limit]],
        "next": page[limit - 1].name if len(page) > limit else None,
        "count": len(found),
    }
    if used is not None:
        said["withheld"] = _withheld_page(request)
    return said


async def _last_used(request: ApiRequest) -> Mapping[str, float] | None:
    """When each tool was last called, as far as the log was read; None for all but operators."""
    return (await request.recent_calls()).used if is_operator(request.principal) else None


def _fits(tool: Tool, request: ApiRequest, used: Mapping[str, float] | None) -> bool:
    query, contract = request.query, tool.contract
    checks: dict[str, Callable[[Any], bool]] = {
        "upstream": lambda value: is_operator(request.principal) and tool.upstream == value,
        "tier": lambda value: contract.side_effect.value == value,
        "risk": lambda value: contract.risk.value == value,
        "confirmation": lambda value: contract.asked_by(False, request.ports.rules.critical_confirmer) == value,
        "name": lambda value: value.lower() in tool.name.lower(),
        "used": lambda value: used is not None and _was_used(used.get(tool.name), value, request.ports.now()),
    }
    return all(check(query[name]) for name, check in checks.items() if name in query)


def _was_used(at: float | None, within: str, now: float) -> bool:
    return at is None if within == "never" else at is not None and now - at <= USED[within]


def _withheld_page(request: ApiRequest) -> list[dict[str, Any]]:
    """Withheld tools. They have no contract to filter by: any filter of a contract leaves them out."""
    query, homes, changed = request.query, dict[str, str](), set[str]()
    if request.gateway is not None:
        homes, changed = dict(request.state.upstream_of_withheld()), request.state.changed_tools()
    if query.keys() & {"tier", "risk", "confirmation", "used"} or query.get("state") == "served":
        return []
    return [
        {"name": name, "reason": reason, "upstream": homes.get(name, ""), "changed": name in changed}
        for name, reason in sorted(_withheld(request.ports.catalogue()).items())
        if query.get("upstream") in (None, homes.get(name, ""))
        and query.get("name", "").lower() in name.lower()
        and (query.get("state") != "changed" or name in changed)
    ][:MOST_LISTED]


@get("/api/tools/{tool}", "WholeTool", who="as for the list", refusals=("api.unknown",))
async def show_tool(request: ApiRequest) -> dict[str, Any]:
    """Show one tool with its whole definition; for operators with its contract in words and what hosts do."""
    used = await _last_used(request)
    named = [tool for tool in _tools_of_caller(request) if tool.name == request.names["tool"]]
    if not named:
        raise ApiProblem("api.unknown", "There is no such tool.")
    tool = max(named, key=lambda one: one.contract.risk.number)  # Two library servers may share a name.
    said = {**_tool_as_json(tool, request, used), "definition": dict(tool.definition)}
    if used is None:
        return said
    return {**said, **_explain_tool(tool), "orders": load_feature("lint").orders_in(tool.definition)}


def _explain_tool(tool: Tool) -> dict[str, Any]:
    """What operators read beside the definition: the contract in words, and what hosts make of the hints."""
    linted = load_feature("lint_target").LintedTool(dict(tool.definition), tool.contract)
    names = profile_names()
    return {
        "contract_text": show(tool.contract),
        "profiles": {name: annotations_of(tool.contract, profile(name)) for name in names},
        "hosts": [
            {
                "name": host.name,
                "title": host.title,
                "does": load_feature("hosts").WORDS[step.does],
                "because": step.because,
            }
            for host, step in load_feature("hosts").verdicts(linted)
        ],
    }


def _tools_of_caller(request: ApiRequest) -> list[Tool]:
    """What `tools/list` shows this caller; operators see all but what is there for nobody."""
    catalogue, principal = request.ports.catalogue(), request.principal
    if not is_operator(principal):
        return visible_tools(catalogue, principal, request.ports.rules)
    return [tool for tool in catalogue.tools.values() if absent_for(tool, principal) is None]


def _withheld(catalogue: Catalogue) -> dict[str, str]:
    absent = {tool.name: absent_for(tool, _AN_AGENT) for tool in catalogue.tools.values()}
    return {**catalogue.withheld, **{name: reason for name, reason in absent.items() if reason is not None}}


def _tool_as_json(tool: Tool, request: ApiRequest, used: Mapping[str, float] | None) -> dict[str, Any]:
    said = as_json(tool, used is not None, request.ports.rules.critical_confirmer)
    if used is not None:
        said["last_used"] = used.get(tool.name)
        gateway = request.gateway
        said["hidden_text"] = gateway.hidden_text.of_tool(tool.upstream, tool.name) if gateway is not None else []
    return said


def as_json(tool: Tool, operator: bool, critical_confirmer: str = "user") -> dict[str, Any]:
    contract, definition = tool.contract, tool.definition
    said: dict[str, Any] = {
        "name": tool.name,
        "title": definition.get("title") or definition["annotations"].get("title", contract.title),
        "tier": contract.side_effect.value,
        "risk": contract.risk.value,
        "hints": definition.get("annotations", {}),
        "permissions": list(contract.permissions),
        "confirmation": contract.asked_by(False, critical_confirmer),
        "contract": contract.digest,
    }
    if exception := exception_of(contract):
        said["exception"] = exception
    if isinstance(definition.get("description"), str):
        said["description"] = definition["description"]
    return said | ({"upstream": tool.upstream, "visibility": tool.visibility} if operator else {})

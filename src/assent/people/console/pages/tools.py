"""Tools by safety, and the page of one tool."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assent.contract.show import contract_lines, schema_lines
from assent.contract.tiers import Risk, Tier
from assent.people.api.problems import ApiProblem
from assent.people.api.tools import list_tools, show_tool
from assent.people.console.page import EVERYONE, KEEPERS, OPERATORS, PageError, PageRequest, on
from assent.people.console.pages.activity import address
from assent.people.console.pages.agents import known_callers, tools_for
from assent.people.console.pages.definitions import GRADES, change_of
from assent.people.console.pages.overview import STAFF
from assent.people.console.pages.rules import Objections, rule_rows

PAGE = 200
_FILTERS = ("name", "upstream", "tier", "risk", "confirmation", "state", "used")
_TIERS = [one.value for one in Tier]
_RISKS = [one.value for one in Risk]


@on("GET", "/tools", EVERYONE, "Tools")
async def show_tools(page: PageRequest) -> Response:
    """A page of tools, the riskiest first within it; every filter is part of the address."""
    query = page.filters(list_tools)
    found = await page.api(list_tools, query={"limit": PAGE, **query})
    state = page.context.gateway
    operator, catalogue = page.may(OPERATORS), page.ports.catalogue()
    return page.render(
        "tools.html",
        tools=sorted(found["tools"], key=_danger),
        withheld=[one for one in found.get("withheld", []) if one["name"] not in catalogue.tools],
        count=found["count"],
        next=address({**page.query, "after": found["next"]}, "/console/tools") if found["next"] else "",
        query={name: page.query.get(name, "") for name in _FILTERS},
        is_filtered=any(page.query.get(name) for name in _FILTERS),
        upstreams=_upstreams(page) if operator else [],
        gateway=state is not None,
        tiers=_TIERS,
        risks=_RISKS,
        changes=state.count_changes() if operator and state is not None else 0,
        operator=operator,
    )


def _upstreams(page: PageRequest) -> list[str]:
    """The configured upstreams; without a gateway the library servers that recorded tools."""
    gateway = page.context.gateway
    if gateway is not None:
        return sorted(gateway.settings.upstreams)
    return sorted({tool.upstream for tool in page.ports.catalogue().tools.values()})


def _danger(tool: dict[str, Any]) -> tuple[int, int, str]:
    return -Risk(tool["risk"]).number, -Tier(tool["tier"]).number, tool["name"]


@on("GET", "/tools/tool/{name:path}", EVERYONE)
async def show_one_tool(page: PageRequest) -> Response:
    """One tool: served with its contract, or withheld with the reason and its changes."""
    name = page.path["name"]
    change = await change_of(page, name) if page.may(OPERATORS) and page.context.gateway is not None else None
    try:
        tool = await page.api(show_tool, names={"tool": name})
    except ApiProblem:
        tool = None
    reason = page.ports.catalogue().withheld.get(name) if page.may(OPERATORS) else None
    if tool is None and change is None and reason is None:
        raise PageError(404, "There is no such tool.", "It may be withheld, or not for you to see.")
    return page.render(
        "tool.html",
        name=name,
        tool=tool,
        reason=reason,
        change=change,
        grades=GRADES,
        operator=page.may(OPERATORS),
        **await _around(page, name if tool is not None else ""),
    )


async def _around(page: PageRequest, name: str) -> dict[str, Any]:
    """The contract of a served tool in words, who may call it, and for staff the rules that apply."""
    tool = page.ports.catalogue().find(name)
    if tool is None:
        return {"contract": {}, "callers": [], "rules": None, "managed": False}
    gateway = page.context.gateway is not None
    callers = [(who, where) for who, where in await known_callers(page) if tools_for([who], page, [tool])]
    rules = list(rule_rows(page.ports, [tool], Objections([]))) if gateway and page.may(STAFF) else None
    return {
        "contract": {
            **contract_lines(tool.contract),
            "input": _fields(tool.contract.input or tool.definition.get("inputSchema")),
            "output": _fields(tool.contract.output or tool.definition.get("outputSchema")),
        },
        "callers": callers,
        "rules": rules and [one for one in rules if one.tools],
        "managed": gateway and page.may(KEEPERS),
    }


def _fields(schema: Any) -> list[str]:
    """The fields that a schema names; nothing where it names none."""
    return schema_lines(schema) if isinstance(schema, dict) and schema.get("properties") else []

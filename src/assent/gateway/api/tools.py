"""Which tools are there for this caller, and which are withheld from whom?"""

from __future__ import annotations

from typing import Any

from assent.core.catalogue import Catalogue, absent_for
from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.core.tool import Tool
from assent.gateway.api.problems import ApiProblem
from assent.gateway.api.routes import ApiRequest, Route, Schema
from assent.pipeline.discover import visible_tools

_AN_AGENT = Principal("", "agent")

TOOL: Schema = {
    "type": "object",
    "description": "A tool as its contract has it.",
    "required": ["name", "title", "tier", "risk", "hints", "permissions", "confirmation"],
    "properties": {
        "name": {"type": "string"},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "tier": {"type": "string", "description": "What it does to the world."},
        "risk": {"type": "string", "enum": ["low", "medium", "high", "critical", "forbidden"]},
        "hints": {"type": "object", "description": "The annotations it is listed with."},
        "permissions": {"type": "array", "items": {"type": "string"}},
        "confirmation": {"type": "string", "description": "Who must say yes: none, host, user or approver."},
        "contract": {"type": "string", "description": "The contract's digest."},
        "upstream": {"type": "string", "description": "For operators: whose tool it is."},
        "visibility": {"type": "string", "description": "For operators: scoped, locked or hidden."},
    },
}
WITHHELD: Schema = {
    "type": "object",
    "required": ["name", "reason"],
    "properties": {"name": {"type": "string"}, "reason": {"type": "string"}},
}


async def list_tools(asked: ApiRequest) -> dict[str, Any]:
    catalogue, operator = asked.ports.catalogue(), is_operator(asked.principal)
    said: dict[str, Any] = {"tools": [as_json(tool, operator) for tool in _seen(asked)]}
    if operator:
        said["withheld"] = [{"name": name, "reason": reason} for name, reason in sorted(_withheld(catalogue).items())]
    return said


async def show_tool(asked: ApiRequest) -> dict[str, Any]:
    """One tool with its whole definition. One that is withheld is as unknown as none."""
    for tool in _seen(asked):
        if tool.name == asked.names["tool"]:
            return {**as_json(tool, is_operator(asked.principal)), "definition": dict(tool.definition)}
    raise ApiProblem("api.unknown", "There is no such tool.")


def _seen(asked: ApiRequest) -> list[Tool]:
    """What `tools/list` shows this caller; operators see all but what is there for nobody."""
    catalogue, principal = asked.ports.catalogue(), asked.principal
    if not is_operator(principal):
        return visible_tools(catalogue, principal, observing=asked.ports.mode == "observe")
    return [tool for tool in catalogue.tools.values() if absent_for(tool, principal) is None]


def _withheld(catalogue: Catalogue) -> dict[str, str]:
    absent = {tool.name: absent_for(tool, _AN_AGENT) for tool in catalogue.tools.values()}
    return {**catalogue.withheld, **{name: reason for name, reason in absent.items() if reason is not None}}


def as_json(tool: Tool, operator: bool) -> dict[str, Any]:
    contract, definition = tool.contract, tool.definition
    said: dict[str, Any] = {
        "name": tool.name,
        "title": contract.title,
        "tier": contract.side_effect.value,
        "risk": contract.risk.value,
        "hints": definition.get("annotations", {}),
        "permissions": list(contract.permissions),
        "confirmation": contract.asked_by(ambiguous=False),
        "contract": contract.digest,
    }
    if isinstance(definition.get("description"), str):
        said["description"] = definition["description"]
    return said | ({"upstream": tool.upstream, "visibility": tool.visibility} if operator else {})


ROUTES = (
    Route(
        "GET",
        "/api/tools",
        "list_tools",
        "List the tools the caller may see; for operators also those withheld, with the reason.",
        "everybody: what `tools/list` shows them; operators: all",
        list_tools,
        {
            "type": "object",
            "required": ["tools"],
            "properties": {
                "tools": {"type": "array", "items": {"$ref": "#/components/schemas/Tool"}},
                "withheld": {"type": "array", "items": {"$ref": "#/components/schemas/Withheld"}},
            },
        },
    ),
    Route(
        "GET",
        "/api/tools/{tool}",
        "show_tool",
        "Show one tool with its whole definition.",
        "as for the list",
        show_tool,
        {
            "allOf": [
                {"$ref": "#/components/schemas/Tool"},
                {"type": "object", "required": ["definition"], "properties": {"definition": {"type": "object"}}},
            ]
        },
        refusals=("api.unknown",),
    ),
)

"""The tools of a library server as its store keeps them, for a console or a command in another process (ADR 0175)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from assent.contract.model import Contract
from assent.core.catalogue import Catalogue
from assent.core.document import Document
from assent.core.tool import Tool

KIND = "library_tools"
MOST_BYTES = 8 * 1024 * 1024
"""A larger record is not written: the tools of that server are then not shown."""
_UNREADABLE = "its record was written by another version of Assent; start the server once with this version"


def record_of(server: str, catalogue: Catalogue) -> Document | None:
    """The record of a server's tools; None if it would be too large."""
    tools = [_tool_record(tool) for tool in sorted(catalogue.tools.values(), key=lambda tool: tool.name)]
    body = orjson.dumps({"tools": tools, "withheld": dict(catalogue.withheld)})
    return Document(KIND, server, body) if len(body) <= MOST_BYTES else None


def _tool_record(tool: Tool) -> dict[str, Any]:
    contract = tool.contract
    said = contract.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {
        "contract": {**said, "name": contract.name, "side_effect": contract.side_effect.value},
        "definition": dict(tool.definition),
        "visibility": tool.visibility,
        "written": tool.written,
    }


def recorded_catalogue(documents: Iterable[Document]) -> Catalogue:
    """The tools of all servers that used a store. Two servers may have a tool of the same name."""
    tools: list[Tool] = []
    withheld: dict[str, str] = {}
    for one in sorted(documents, key=lambda one: one.id):
        body = orjson.loads(one.body)
        withheld |= body["withheld"]
        for record in body["tools"]:
            if (tool := _read_tool(one.id, record)) is not None:
                tools.append(tool)
            else:
                withheld[str(record["contract"]["name"])] = _UNREADABLE
    return Catalogue(_by_name(tools), withheld)


def _read_tool(server: str, record: Mapping[str, Any]) -> Tool | None:
    try:
        contract = Contract.model_validate(record["contract"])
    except ValidationError:
        return None
    return Tool(
        contract,
        server,
        contract.name,
        record["definition"],
        visibility=record["visibility"],
        written=record["written"],
    )


def _by_name(tools: list[Tool]) -> dict[str, Tool]:
    """Every tool under its name; the second and third of one name under a key that also names their server."""
    found: dict[str, Tool] = {}
    for tool in tools:
        found[tool.name if tool.name not in found else f"{tool.name}@{tool.upstream}"] = tool
    return found

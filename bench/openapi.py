"""Does an API description give the tools its vendor's own server gives, and how long does reading take?

    python bench/openapi.py DOCUMENT                         the tools by tier, the operations without one
    python bench/openapi.py DOCUMENT --vendor LISTING        compared with a tools/list result (a JSON file)
    python bench/openapi.py DOCUMENT --vendor-python PYTHON  compared with what geopera-mcp lists under that interpreter
    python bench/openapi.py --operations 5000                reading a made-up document of that many operations

Exits with 1 where the two differ in more than what is named as known.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assent.contract.profiles import profile
from assent.contract.tool_listing import CONTRACT_KEY
from assent.upstreams.compiled_tools import UpstreamPolicy
from assent.upstreams.openapi.document import library_of
from assent.upstreams.openapi.tools import ApiDescription, compile_one, read_api

UNCOMPARED = {"fastmcp", CONTRACT_KEY}
NEVER_ARGUMENTS = {"x-api-key", "Idempotency-Key", "authorization"}

_VENDOR = """
import asyncio, json, logging, sys
logging.disable(logging.CRITICAL)
import httpx
from fastmcp import Client
from geopera_mcp.server import build_server
async def main():
    server = build_server(json.load(open(sys.argv[1])), httpx.AsyncClient(base_url="http://127.0.0.1:1"))
    async with Client(server) as client:
        listed = await client.list_tools_mcp()
    print(json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]))
asyncio.run(main())
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", type=Path, nargs="?")
    parser.add_argument("--profile", default="geopera")
    parser.add_argument("--vendor", type=Path)
    parser.add_argument("--vendor-python", type=Path)
    parser.add_argument("--operations", type=int, default=0)
    given = parser.parse_args()
    if given.operations:
        measure(given.operations)
    if given.document is None:
        return 0
    started = time.perf_counter()
    api = read_api(library_of(given.document.read_text(encoding="utf-8"), str(given.document)))
    policy = UpstreamPolicy("", profile(given.profile))
    tools = {name: compile_one(tool, name, {}, policy) for name, tool in api.tools.items()}
    print(f"read and compiled in {time.perf_counter() - started:.2f} s")
    report(api, [tool.contract.side_effect.value for tool in tools.values()])
    theirs = listing(given)
    if theirs is None:
        return 0
    return compare({name: dict(tool.definition) for name, tool in tools.items()}, theirs)


def report(api: ApiDescription, tiers: list[str]) -> None:
    print(f"{len(api.tools)} tools: " + ", ".join(f"{count} {tier}" for tier, count in Counter(tiers).most_common()))
    print(f"{len(api.excluded)} operations without a tool:")
    for reason, count in Counter(one.reason for one in api.excluded).most_common():
        print(f"  {count:4} {reason}")
    print(f"{len(api.findings)} findings" + "".join(f"\n  {finding}" for finding in api.findings[:20]))


def listing(given: argparse.Namespace) -> dict[str, dict[str, Any]] | None:
    if given.vendor_python:
        command = [str(given.vendor_python), "-c", _VENDOR, str(given.document)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    elif given.vendor:
        text = given.vendor.read_text(encoding="utf-8")
    else:
        return None
    listed = json.loads(text)
    return {tool["name"]: tool for tool in (listed["tools"] if isinstance(listed, dict) else listed)}


def compare(ours: Mapping[str, dict[str, Any]], theirs: Mapping[str, dict[str, Any]]) -> int:
    """Tool by tool, field by field; the differences there are, each with an example."""
    print(f"\nonly ours: {sorted(ours.keys() - theirs.keys())}\nonly theirs: {sorted(theirs.keys() - ours.keys())}")
    differing: dict[str, list[str]] = {}
    both = sorted(ours.keys() & theirs.keys())
    for name in both:
        mine, other = facts(ours[name]), facts(theirs[name])
        for field in mine:
            differing.setdefault(field, [])
            if mine[field] != other[field]:
                differing[field].append(f"{name}: {mine[field]!r} / {other[field]!r}")
    for field, found in differing.items():
        print(f"{field:13} equal in {len(both) - len(found)} of {len(both)}" + (f"; {found[0][:600]}" if found else ""))
    return int(ours.keys() != theirs.keys() or any(differing.values()))


def facts(tool: Mapping[str, Any]) -> dict[str, Any]:
    """What a definition says, without what two frameworks write differently and mean alike."""
    return {
        "title": tool.get("title"),
        "description": tool.get("description", ""),
        "annotations": tool["annotations"],
        "_meta": {k: v for k, v in tool["_meta"].items() if k not in UNCOMPARED and v is not None},
        "inputSchema": _input(tool["inputSchema"]),
        "outputSchema": _output(tool.get("outputSchema")),
    }


def _input(schema: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: one for name, one in schema["properties"].items() if name not in NEVER_ARGUMENTS}
    # The vendor's framework makes one argument of a body that is an object without fields; there is nothing to give.
    properties = {name: one for name, one in known.items() if one.get("properties") != {}}
    return {"properties": properties, "required": sorted(set(schema.get("required", [])) & properties.keys())}


def _output(schema: Mapping[str, Any] | None) -> Any:
    return schema and {key: value for key, value in schema.items() if not key.startswith("x-fastmcp")}


def measure(operations: int) -> None:
    """Reading a document of many operations, all of which share schemas, one of them recursive."""
    text = json.dumps(made_up(operations))
    started = time.perf_counter()
    api = read_api(library_of(text))
    taken = time.perf_counter() - started
    print(f"{operations} operations, {len(text) / 1e6:.1f} MB of JSON: {len(api.tools)} tools read in {taken:.2f} s")


def made_up(operations: int) -> dict[str, Any]:
    item = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "parts": {"type": "array", "items": _ref("Item")}},
    }
    order = {"type": "object", "properties": {"item": _ref("Item"), "note": {"type": "string"}}, "required": ["item"]}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": _ref("Order")}}}}
    identity = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    body = {"required": True, "content": {"application/json": {"schema": _ref("Order")}}}
    paths = {
        f"/things{number}/{{id}}": {
            "parameters": [identity],
            "get": {"operationId": f"get_{number}", "summary": "Get one thing", "responses": answer},
            "post": {"operationId": f"add_{number}", "summary": "Add", "requestBody": body, "responses": answer},
        }
        for number in range(operations // 2)
    }
    return {"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"Item": item, "Order": order}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


if __name__ == "__main__":
    sys.exit(main())

"""A server that reads member names without regard to case, as Go's `encoding/json` does: the last spelling wins.

It runs a tool for every message that names `tools/call`, with or without an id. Run it alone for standard streams:
`python careless_server.py FILE` writes the name of every tool it ran into FILE, and all it heard into FILE.heard.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ORDER = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 10}, "dryRun": {"type": "boolean"}}}
TOOLS: list[dict[str, Any]] = [
    {"name": "delete_all", "description": "Deletes all.", "inputSchema": {"type": "object"}},
    {"name": "place_order", "description": "Places an order.", "inputSchema": ORDER},
    {
        "name": "place_many",
        "description": "Places orders.",
        "inputSchema": {
            "type": "object",
            "properties": {"orders": {"type": "array", "items": {"$ref": "#/$defs/order"}}},
            "$defs": {"order": ORDER},
        },
    },
    {"name": "store_headers", "description": "Stores headers.", "inputSchema": {"type": "object"}},
]
RESULTS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": TOOLS},
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "careless", "version": "1"},
    },
    "resources/list": {"resources": []},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
}
DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "resources": {}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "careless", "version": "1"}},
}


def folded(value: Any) -> Any:
    """The value as a reader without regard to case sees it."""
    if isinstance(value, dict):
        return {name.casefold(): folded(below) for name, below in value.items()}
    return [folded(below) for below in value] if isinstance(value, list) else value


class Careless:
    """What the server does, whatever carries its messages."""

    def __init__(self, *, modern: bool = False) -> None:
        self.modern = modern
        self.ran: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []

    def hear(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a message; None where it has no id."""
        self.heard.append(message)
        said = folded(message)
        method = str(said.get("method", "")).lower().strip()
        if method == "tools/call":
            self.ran.append(said.get("params") or {})
        if said.get("id") is None or not method:
            return None
        result = DISCOVERED if self.modern and method == "server/discover" else RESULTS.get(method)
        if result is None or (self.modern and method == "initialize"):
            return {"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32601, "message": "no such method"}}
        more = {"resultType": "complete"} if self.modern else {}
        return {"jsonrpc": "2.0", "id": said["id"], "result": {**result, **more}}


if __name__ == "__main__":
    server, told = Careless(), Path(sys.argv[1])
    for line in sys.stdin:
        answer = server.hear(json.loads(line))
        told.with_suffix(".heard").write_text(json.dumps(server.heard))
        told.write_text("\n".join(str(params.get("name")) for params in server.ran))
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

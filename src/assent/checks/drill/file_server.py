"""A stand-in server on standard streams that writes files: for stories about paths of this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from assent.mcp.protocol import LATEST_MODERN_VERSION, METHOD_NOT_FOUND

_WRITE = {
    "name": "write_file",
    "description": "Writes a file and replaces what is there.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
}
_COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_SERVER = {"serverInfo": {"name": "files", "version": "1"}, "capabilities": {"tools": {}}}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "server/discover":
            return reply | {"result": _COMPLETE | _SERVER | {"supportedVersions": [LATEST_MODERN_VERSION]}}
        case "tools/list":
            return reply | {"result": _COMPLETE | {"tools": [_WRITE]}}
        case "tools/call":
            arguments = request["params"]["arguments"]
            Path(arguments["path"]).write_text(arguments["content"], encoding="utf-8")
            return reply | {"result": {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}}
    return reply | {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}


def main() -> None:
    for line in sys.stdin.buffer:
        request = orjson.loads(line)
        if "id" in request:
            sys.stdout.buffer.write(orjson.dumps(answer(request)) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

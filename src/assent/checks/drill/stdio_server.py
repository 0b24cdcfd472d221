"""A careless server on standard streams, for stories about files and programs of this machine.

Its argument is the folder that it should stay in. It checks too little, as the published servers did.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson

from assent.mcp.protocol import LATEST_MODERN_VERSION, METHOD_NOT_FOUND

_COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_SERVER = {"serverInfo": {"name": "careless", "version": "1"}, "capabilities": {"tools": {}}}


def call(tool: str, arguments: dict[str, str], folder: str) -> str:
    match tool:
        case "write_file":
            Path(arguments["path"]).write_text(arguments["content"], encoding="utf-8")
            return "done"
        case "read_file":
            if not arguments["path"].startswith(folder):
                return "It is outside the folder."
            return Path(arguments["path"]).read_text(encoding="utf-8")
    command = f"echo The log of {arguments['branch']}"
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=10).stdout


def answer(request: dict[str, Any], tools: list[dict[str, Any]], folder: str) -> dict[str, Any]:
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "server/discover":
            return reply | {"result": _COMPLETE | _SERVER | {"supportedVersions": [LATEST_MODERN_VERSION]}}
        case "tools/list":
            return reply | {"result": _COMPLETE | {"tools": tools}}
        case "tools/call":
            try:
                text, failed = call(request["params"]["name"], request["params"]["arguments"], folder), False
            except OSError as error:
                text, failed = str(error), True
            content = [{"type": "text", "text": text}]
            return reply | {"result": {"resultType": "complete", "content": content, "isError": failed}}
    return reply | {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}


def main() -> None:
    folder, tools = sys.argv[1], orjson.loads(sys.argv[2])
    for line in sys.stdin.buffer:
        request = orjson.loads(line)
        if "id" in request:
            sys.stdout.buffer.write(orjson.dumps(answer(request, tools, folder)) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

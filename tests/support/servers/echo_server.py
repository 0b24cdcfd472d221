"""A server that says who it is: its folder, its environment, its mask, and which descriptors it has."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = ("read_self", "read_descriptors", "list_variables", "write_note", "write_and_wait")


def called(name: str, text: object) -> dict[str, Any]:
    if name == "read_descriptors":
        return {number: os.readlink(path) for number, path in descriptors() if path.is_symlink()}  # noqa: PTH115
    if name == "list_variables":
        return dict(os.environ)
    if name in ("write_note", "write_and_wait"):
        with Path(os.environ["NOTES"]).open("a") as notes:
            notes.write(f"{text}\n")
    if name == "write_and_wait":
        Path(os.environ["FIFO"]).write_text(str(os.getpid()))  # Tells the test, which then decides what happens.
        signal.pause()
    mask = os.umask(0)
    os.umask(mask)
    return {"who": os.environ.get("WHO"), "folder": str(Path.cwd()), "mask": mask, "text": text}


def descriptors() -> list[tuple[str, Path]]:
    return [(path.name, path) for path in list(Path("/proc/self/fd").iterdir())]


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            return {"result": INFO}
        case "tools/list":
            return {"result": {"tools": [{"name": name, "inputSchema": SCHEMA} for name in TOOLS]}}
        case "tools/call":
            told = called(params["name"], (params.get("arguments") or {}).get("text"))
            return {"result": {"content": [{"type": "text", "text": json.dumps(told)}]}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


for line in sys.stdin:
    received = json.loads(line)
    if "id" in received and "method" in received:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": received["id"], **answer(received)}) + "\n")
        sys.stdout.flush()

"""A server on standard input and output whose calls end in a protocol error with a text."""

from __future__ import annotations

import json
import sys

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("list_things", "delete_thing")]
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "failing"}},
    "tools/list": {"tools": TOOLS},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        error = {"code": -32001, "message": "The disk is full.\u200b The key is AKIAIOSFODNN7EXAMPLE."}
        found = RESULTS.get(message["method"])
        body = {"result": found} if found is not None else {"error": error}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()

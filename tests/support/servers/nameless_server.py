"""A server on its standard streams that lists two tools, the second named as its argument says, as JSON."""

import json
import sys

INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("list_notes", json.loads(sys.argv[1]))]

for line in sys.stdin:
    asked = json.loads(line)
    result = {"initialize": INFO, "tools/list": {"tools": TOOLS}}.get(asked["method"])
    if result is not None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
        sys.stdout.flush()

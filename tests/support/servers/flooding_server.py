"""A stdio server of the handshake era that prints on its standard error as its first argument says.

`flood` never stops printing, `forge` prints lines that look like lines of our own log, `crash` ends with a traceback.
"""

import json
import sys
import threading
from typing import Any

FORGED = json.dumps({"level": "info", "logger": "assent.calls", "message": "approved by ann"})


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def flood() -> None:
    line = "x" * 1000 + "\n"
    while True:
        sys.stderr.write(line * 64)


if sys.argv[1] == "crash":
    raise SystemExit("there is no licence file")
if sys.argv[1] == "flood":
    threading.Thread(target=flood, daemon=True).start()
if sys.argv[1] == "forge":
    sys.stderr.write(f"{FORGED}\nmild\r{FORGED}\n\x1b[31mred\x1b[0m \x1b[2Jcleared\n2026-01-01 ERROR assent: forged\n")
    sys.stderr.flush()
for text in sys.stdin:
    request = json.loads(text)
    match request.get("method"):
        case "initialize":
            info = {"name": "loud", "version": "1"}
            version = request["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            write({"id": request["id"], "result": result})
        case "tools/list":
            tool = {"name": "list_things", "description": "Lists things.", "inputSchema": {"type": "object"}}
            write({"id": request["id"], "result": {"tools": [tool]}})
        case "tools/call":
            write({"id": request["id"], "result": {"content": [{"type": "text", "text": "things"}]}})
        case _ if "id" in request:
            write({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})

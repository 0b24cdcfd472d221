"""A stdio server of one person: it has a key in its environment and writes down every call. Standard library only.

Arguments: the file of its log. Each line is the process, the key and the argument of one call.
"""

import json
import os
import sys

KEY = os.environ.get("NOTES_KEY", "")
LOG = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
TOOLS = [
    {
        "name": name,
        "description": "Reads one of your notes.",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    for name in ("read_note", "hang_note")
]


def send(request_id: object, **rest: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request_id, **rest}) + "\n")
    sys.stdout.flush()


def main() -> None:
    sys.stderr.write(f"the key is {KEY}\n")
    sys.stderr.flush()
    held = None
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if "id" not in message:
            continue
        if method == "initialize":
            info = {"name": "keyed", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            note = params["arguments"]["name"]
            os.write(LOG, f"{os.getpid()} {KEY} {note}\n".encode())
            if params["name"] == "hang_note":  # It is answered when the next call comes.
                held = message["id"]
                continue
            result = {"content": [{"type": "text", "text": f"{note} with {KEY}"}]}
            if held is not None:
                send(held, result=result)
                held = None
        else:
            send(message["id"], error={"code": -32601, "message": "Method not found"})
            continue
        send(message["id"], result=result)


if __name__ == "__main__":
    main()

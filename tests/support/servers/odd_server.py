"""A server on its standard streams, in the handshake era, that behaves as oddly as its argument says.

plain, noisy (prints on stdout), mute (never answers), brief (exits at once with 3), mortal (dies on `die`),
asking (its tool `ask` elicits), modern (server/discover only).
"""

import json
import os
import sys
import threading
from typing import Any

KIND = sys.argv[1] if len(sys.argv) > 1 else "plain"
EMPTY = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "list_things", "description": "Lists things.", "inputSchema": EMPTY, "x-kept": [1.50]},
    {"name": "delete_thing", "description": "Deletes a thing for good.", "inputSchema": EMPTY},
    {"name": "read_private_key", "description": "Reads the private key.", "inputSchema": EMPTY},
    {
        "name": "die",
        "description": "Lists nothing and dies.",
        "inputSchema": EMPTY,
        "annotations": {"readOnlyHint": True},
    },
    {"name": "list_slowly", "description": "Lists, never.", "inputSchema": EMPTY},
    {"name": "list_answers", "description": "Lists what the user answers.", "inputSchema": EMPTY},
]
deleted = 0
answers: dict[str, Any] = {}
answered = threading.Condition()
writing = threading.Lock()


def write(message: dict[str, Any]) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def call(request: dict[str, Any]) -> None:
    global deleted
    name, meta = request["params"]["name"], request["params"].get("_meta") or {}
    if "progressToken" in meta:
        progress = {"progressToken": meta["progressToken"], "progress": 1, "total": 2}
        write({"method": "notifications/progress", "params": progress})
    if name == "die":
        os._exit(7)
    if name == "list_slowly":
        return
    if name == "delete_thing":
        deleted += 1
    said = f"{name} {os.getpid()} {deleted}"
    if name == "list_answers":
        form = {"message": "Which?", "requestedSchema": EMPTY}
        write({"id": "assent-1", "method": "elicitation/create", "params": form})
        with answered:
            answered.wait_for(lambda: "assent-1" in answers)
        said = json.dumps(answers["assent-1"])
    write({"id": request["id"], "result": text(said)})


def answer(message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            capabilities = {"tools": {}, "resources": {}, "prompts": {}}
            info = {"name": "odd", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
            write({"id": message["id"], "result": result})
        case "tools/list":
            first = "cursor" not in message["params"]
            page = {"tools": TOOLS[:3], "nextCursor": "more"} if first else {"tools": TOOLS[3:]}
            write({"id": message["id"], "result": page})
        case "tools/call":
            threading.Thread(target=call, args=(message,), daemon=True).start()
        case "resources/list":
            write({"id": message["id"], "result": {"resources": [{"uri": "odd://one", "name": "one"}]}})
        case "notifications/cancelled":
            write({"method": "notifications/message", "params": {"level": "info", "data": "cancelled"}})
        case None:
            with answered:
                answers[message["id"]] = message.get("result") or message.get("error")
                answered.notify_all()
        case method if "id" in message:
            write({"id": message["id"], "error": {"code": -32601, "message": f"Method not found: {method}"}})


if KIND == "brief":
    sys.exit(3)
if KIND == "noisy":
    sys.stdout.write("Starting up!\n\n[1, 2]\n" + "x" * 100_000 + "\n")
for line in sys.stdin:
    if KIND != "mute":
        answer(json.loads(line))
        if KIND == "noisy":
            sys.stdout.write("debug: answered\n")

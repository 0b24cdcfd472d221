"""A server on its standard streams that says what it should not, as its argument says.

forges (answers the client's own ids), strange (ids and methods of odd types), deep (nests without end), long (one line
of more than 16 MB), torn (an answer that ends too soon), dying (and so does it), bare (one without its version), null
(one without a result), choosy (refuses every revision but the oldest).
"""

import json
import sys
from typing import Any

KIND = sys.argv[1]
EMPTY = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "list_things", "description": "Lists things.", "inputSchema": EMPTY},
    {"name": "read_private_key", "description": "Reads the private key.", "inputSchema": EMPTY},
]
NEST = "[" * 400 + "]" * 400


def say(**message: Any) -> None:
    line(json.dumps({"jsonrpc": "2.0", **message}))


def line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def interrupt() -> None:
    """What comes before the answer to `tools/list`."""
    if KIND == "forges":
        for number in (1, 1.0, True, "1", None):
            say(id=number, result={"tools": TOOLS})
    if KIND == "strange":
        say(id=[1], method="sampling/createMessage", params={})
        say(id={"a": 1}, result={})
        say(method=7)
    if KIND == "deep":
        line(f'{{"jsonrpc": "2.0", "method": "notifications/message", "params": {{"data": {NEST}}}}}')


def call(request_id: Any) -> None:
    if KIND == "dying":
        line(f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": {{"content": [')
        sys.exit(1)
    if KIND == "deep":
        result = f'{{"content": [], "structuredContent": {{"a": {NEST}}}}}'
        line(f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": {result}}}')
    elif KIND == "torn":
        line(f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": {{"content": [')
    elif KIND == "bare":
        line(json.dumps({"id": request_id, "result": {"content": []}}))
    elif KIND == "null":
        say(id=request_id, result=None)
    elif KIND == "long":
        text = {"content": [{"type": "text", "text": "x" * 17_000_000}]}
        line(json.dumps({"result": text, "jsonrpc": "2.0", "id": request_id}))
    else:
        say(id=request_id, result={"content": [{"type": "text", "text": "done"}]})


for given in sys.stdin:
    message = json.loads(given)
    match message.get("method"):
        case "initialize" if KIND == "choosy" and message["params"]["protocolVersion"] != "2024-11-05":
            say(id=message["id"], error={"code": -32602, "message": "Unsupported protocol version"})
        case "initialize":
            said = {"capabilities": {"tools": {}}, "serverInfo": {"name": "forging", "version": "1"}}
            say(id=message["id"], result={"protocolVersion": message["params"]["protocolVersion"], **said})
        case "tools/list":
            interrupt()
            say(id=message["id"], result={"tools": TOOLS})
        case "tools/call":
            call(message["id"])
        case "resources/list":
            call(message["id"])

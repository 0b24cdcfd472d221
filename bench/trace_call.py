"""Counts the source files and package switches of one governed write: `python -m bench.trace_call [--show]`.

The gateway runs in this process as `assent serve` builds it, with a SQLite store, in front of a server with one tool.
A file counts when one of its functions begins on the event loop's thread; the store's threads are counted beside it. A
package switch is two functions that begin one after the other and lie in different packages (the first two parts of
the path: `assent/gateway`). Several calls are traced and the smallest counts win, because work in the background (the
signer of the log, the sweep of old records) meets some of them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import FrameType

import orjson
import uvicorn
import yaml

import assent
from assent.config.load import parse_settings
from assent.gateway.app import open_gateway
from assent.gateway.status_pages import StatusPages
from assent.people.console.start import console_in_front
from assent.web.asgi import Receive, Scope, Send
from assent.web.server import bind, make_server
from bench.calls import post
from bench.processes import KEY

SOURCE = str(Path(assent.__file__).parent.parent) + "/"
_NOT_TRACED, _TRACED = 2, 9
_ARGUMENTS = {"text": "hello"}
_TOOL = {"name": "save_note", "description": "Saves a note.", "inputSchema": {"type": "object"}}
_CALL = post("tools/call", {"name": "save_note", "arguments": _ARGUMENTS}, "Mcp-Name: save_note")
_CONTRACT = {"side_effect": "write", "input": {"type": "object", "properties": {"text": {"type": "string"}}}}


async def notes(scope: Scope, receive: Receive, send: Send) -> None:
    """An upstream with one tool, just enough of the protocol for the gateway to list and call it."""
    if scope["type"] != "http":
        return
    request = orjson.loads((await receive())["body"])
    complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    results = {
        "server/discover": {**complete, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {**complete, "tools": [_TOOL]},
        "tools/call": {**complete, "content": [{"type": "text", "text": "saved"}]},
    }
    answer: dict[str, object] = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in results:
        answer["result"] = results[request["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": orjson.dumps(answer)})


class Tracer:
    """Records where functions of this package begin while a call is traced."""

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._thread = threading.get_ident()
        threading.setprofile(self._on_event)  # the store starts its threads later
        sys.setprofile(self._on_event)

    async def trace(self, port: int) -> Trace:
        self._trace = trace = Trace()
        _check(await send_call(port))
        self._trace = None
        return trace

    def _on_event(self, frame: FrameType, event: str, _argument: object) -> None:
        code, trace = frame.f_code, self._trace
        if trace is None or event != "call" or not code.co_filename.startswith(SOURCE) or is_resumed(frame):
            return
        file = code.co_filename.removeprefix(SOURCE)
        if threading.get_ident() == self._thread:
            trace.begun.append((file, code.co_qualname))
        else:
            trace.elsewhere.add(file)


@dataclass
class Trace:
    """The functions that begin during one call, in order, and the files that other threads enter."""

    begun: list[tuple[str, str]] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)

    @property
    def files(self) -> list[str]:
        return sorted({file for file, _ in self.begun})

    @property
    def switches(self) -> int:
        return len(list(groupby("/".join(Path(file).parts[:2]) for file, _ in self.begun))) - 1


def is_resumed(frame: FrameType) -> bool:
    """Whether a coroutine or generator continues; the argument of RESUME is 0 only where a function begins."""
    return frame.f_code.co_code[frame.f_lasti + 1] != 0


async def send_call(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_CALL)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    body = await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()
    return body


def configure(folder: Path, port: int) -> str:
    (folder / "contracts.yaml").write_text(yaml.safe_dump({"tools": {"save_note": _CONTRACT}}))
    return yaml.safe_dump(
        {
            "store": f"sqlite:///{folder}/assent.db",
            "upstreams": {"notes": {"url": f"http://127.0.0.1:{port}/mcp"}},
            "contracts": [str(folder / "contracts.yaml")],
            "auth": {"api_keys": [{"name": "bench", "key": KEY, "kind": "agent", "scopes": ["*"]}]},
            "secrets": {"directory": str(folder / "keys")},
        }
    )


async def trace(folder: Path) -> Trace:
    """Make calls through a gateway; returns the smallest trace."""
    tracer = Tracer()
    upstream, front = bind("127.0.0.1", 0), bind("127.0.0.1", 0)
    app = await open_gateway(parse_settings(configure(folder, upstream.getsockname()[1])))
    servers = [
        uvicorn.Server(uvicorn.Config(notes, lifespan="off", log_config=None)),
        make_server(app.app(console_in_front(app, StatusPages(app))), lifespan="off"),
    ]
    running = [
        asyncio.create_task(one._serve(sockets=[at])) for one, at in zip(servers, (upstream, front), strict=True)
    ]
    try:
        await app.start()
        for _ in range(_NOT_TRACED):
            _check(await send_call(front.getsockname()[1]))
        return min([await tracer.trace(front.getsockname()[1]) for _ in range(_TRACED)], key=lambda one: len(one.begun))
    finally:
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*running)
        await app.stop()


def _check(answer: bytes) -> None:
    if b"saved" not in answer:
        raise SystemExit(f"the call was not answered: {answer!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print every function in order, and every file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assent-trace-") as folder:
        found = asyncio.run(trace(Path(folder)))
    if options.show:
        for file, function in found.begun:
            print(f"{file:48} {function}")
        print("\n".join(found.files))
    threads = len({*found.files, *found.elsewhere})
    print(f"{len(found.files)} files ({threads} with the store's threads), {found.switches} package switches")


if __name__ == "__main__":
    main()

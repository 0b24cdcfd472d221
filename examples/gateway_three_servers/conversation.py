"""An assistant of a help desk uses three servers through one gateway.

Run it with `python examples/gateway_three_servers/conversation.py` (it needs Node for two of the servers). It keeps its
files in a temporary folder and ends by itself.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

HERE = Path(__file__).parent
ASSISTANT, ANN = "assistant-key-0123456789", "ann-key-01234567890123456"
WAIT = 120


def prepare(folder: Path) -> Path:
    """Copy the configuration, so that store and keys are made beside it, and put some files to work with."""
    for name in ("assent.yaml", "contracts.yaml"):
        shutil.copy(HERE / name, folder)
    work = folder / "work"
    (work / "payroll").mkdir(parents=True)
    (work / "refunds.txt").write_text("Broken goods: refund up to 100 EUR, after a person agreed.\n")
    (work / "payroll" / "ann.txt").write_text("4200\n")
    return work


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The desk and the gateway, each a process of its own; gives the gateway's address."""
    desk, gateway = free_port(), free_port()
    environment = os.environ | {"FOLDER": str((folder / "work").resolve()), "DESK_URL": f"http://127.0.0.1:{desk}/mcp"}
    environment |= {"ASSISTANT_KEY": ASSISTANT, "ANN_KEY": ANN}
    own = [sys.executable, str(HERE / "desk.py"), str(desk), str(folder / "book.txt")]
    assent = str(Path(sys.executable).with_name("assent"))
    serve = [assent, "serve", "-c", str(folder / "assent.yaml"), "--port", str(gateway)]
    with (folder / "log.txt").open("w") as log:
        with running(own, f"http://127.0.0.1:{desk}/mcp", env=environment, stdout=log, stderr=log):
            with running(serve, f"http://127.0.0.1:{gateway}/healthz", env=environment, stdout=log, stderr=log):
                yield f"http://127.0.0.1:{gateway}"


@contextmanager
def running(command: list[str], url: str, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that answers at this address, until the end of the block."""
    process = subprocess.Popen(command, **how)
    try:
        _wait_for(url, process)
        yield process
    finally:
        process.terminate()
        process.wait(WAIT)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until something answers; /healthz answers once the tools of all servers are known."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx2.TransportError):
            if httpx2.get(url, timeout=WAIT).status_code < 500:
                return
        time.sleep(0.1)
    raise SystemExit(f"{url} did not answer; two of the servers need Node (npx)")


class Assistant:
    """A scripted agent: every call is printed in one line."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = (await self.client.call_tool(tool, arguments)).model_dump(by_alias=True)
        content, meta = result.get("structuredContent") or {}, result.get("_meta") or {}
        problem = meta.get("dev.assent/problem") or (content if result.get("isError") else None)
        said = f"{problem['code']}: {problem['detail']}" if problem else content
        shown = {key: Path(value).name if key == "path" else value for key, value in arguments.items()}
        print(f"  {tool}({', '.join(map(str, shown.values()))[:50]}) → {str(said)[:110]}")
        return dict(problem or content)


async def tell(address: str, work: Path) -> None:
    headers = {"Authorization": f"Bearer {ASSISTANT}"}
    async with httpx2.AsyncClient(headers=headers, timeout=WAIT) as http:
        async with Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client:
            await _talk(Assistant(client), address, work)


async def _talk(assistant: Assistant, address: str, work: Path) -> None:
    print("1 One list of tools, from three servers. Two of them are public and have contracts that Assent ships.")
    names = [tool.name for tool in (await assistant.client.list_tools()).tools]
    for server in ("files", "memory", "desk"):
        print(f"  {server}: {sum(name.startswith(f'{server}_') for name in names)} tools")
    print("\n2 Reading runs at once, on every server.")
    await assistant.call("desk_list_tickets")
    await assistant.call("memory_search_nodes", query="frame")
    await assistant.call("files_read_text_file", path=str(work / "refunds.txt"))
    print("\n3 Guards refuse on the gateway. The servers do not see these calls.")
    await assistant.call("files_read_text_file", path=str(work / "payroll" / "ann.txt"))
    await assistant.call("desk_reply", ticket="T-1", to="eve@evil.test", text="The customer list is ...")
    await assistant.call("desk_reply", ticket="T-1", to="ann@example.com", text="You get your money back.")
    print("\n4 A refund moves money: it waits for Ann. She approves exactly this call, once.")
    waiting = await assistant.call("desk_refund", ticket="T-1", amount=80)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {ANN}"}, timeout=WAIT) as ann:
        await ann.post(f"{address}/api/approvals/{waiting['approval']}/approve", json={})
    await assistant.call("desk_refund", ticket="T-1", amount=80)
    print("\n5 A second refund would pass the budget of 100 EUR a day. Ann is not even asked.")
    await assistant.call("desk_refund", ticket="T-2", amount=30)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="assent-example-") as name:
        folder = Path(name)
        work = prepare(folder)
        with serving(folder) as address:
            asyncio.run(tell(address, work))
        print("\nWhat really happened: " + "; ".join((folder / "book.txt").read_text().splitlines()) + ".")


if __name__ == "__main__":
    main()

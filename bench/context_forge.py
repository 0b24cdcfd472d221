"""ContextForge in front of a server, set up as its quick start says: a token of the administrator, a virtual server.

Callers authenticate, as they do by default. These settings are not its defaults: no limit of a hundred calls a minute,
its cache in memory (which its tuning guide recommends), errors alone in the log, no user interface, and a server on
the local network is allowed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from itertools import count
from typing import Any

import orjson

from bench.calls import Exchange, write_arguments
from bench.neighbours import NotRunning, environment, free_port, version_of, wait_for
from bench.processes import process

PACKAGE = "mcp-contextforge-gateway"
SESSIONS = 32
_ADMIN = "admin@example.com"
_SECRET = "a-secret-of-the-bench-that-opens-nothing"
_VERSION = "2025-11-25"
_INITIALIZE = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@dataclass
class ContextForge:
    """One ContextForge with a new SQLite database; `stateful` keeps a session for each connection, the default none."""

    upstream: int
    stateful: bool = False
    core: int | None = None
    _origin: str = field(default="", init=False)
    _token: str = field(default="", init=False)
    _path: str = field(default="", init=False)
    _tool: str = field(default="", init=False)
    _sessions: list[str] = field(default_factory=list, init=False)

    @contextmanager
    def start(self) -> Iterator[tuple[int, int]]:
        """Gives the process id and the port of a gateway that has the server behind it registered."""
        python, port = str(environment(PACKAGE) / "python"), free_port()
        with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
            quiet: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            environ = {**os.environ, **self._settings(folder)}
            command = [python, "-m", "mcpgateway.cli", "--host", "127.0.0.1", "--port", str(port)]
            with process(*command, core=self.core, env=environ, **quiet) as running:
                self._origin = f"http://127.0.0.1:{port}"
                wait_for(f"{self._origin}/health", running)
                self._token = _create_token(python, environ)
                self._register()
                yield running.pid, port

    def calls(self, connection: int) -> Iterator[Exchange]:
        """What a connection sends, in a session of its own where there are sessions."""
        head = (
            f"POST {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {_VERSION}\r\n"
            f"Authorization: Bearer {self._token}\r\n"
        )
        if self._sessions:
            head += f"Mcp-Session-Id: {self._sessions[connection % len(self._sessions)]}\r\n"
        for number in count(1):
            arguments = write_arguments(number)
            body = _message(number, "tools/call", {"name": self._tool, "arguments": arguments})
            yield f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, orjson.dumps(arguments)

    def version(self) -> str:
        return version_of(PACKAGE)

    def _settings(self, folder: str) -> dict[str, str]:
        return {
            "DATABASE_URL": f"sqlite:///{folder}/contextforge.db", "CACHE_TYPE": "memory", "LOG_LEVEL": "ERROR",
            "JWT_SECRET_KEY": _SECRET, "AUTH_ENCRYPTION_SECRET": _SECRET, "MCPGATEWAY_UI_ENABLED": "false",
            "PLATFORM_ADMIN_EMAIL": _ADMIN, "PLATFORM_ADMIN_PASSWORD": "Bench-1-Bench!",
            "SSRF_ALLOW_LOCALHOST": "true", "SSRF_ALLOW_PRIVATE_NETWORKS": "true", "RATE_LIMITING_ENABLED": "false",
            "USE_STATEFUL_SESSIONS": str(self.stateful).lower(),
        }  # fmt: skip

    def _register(self) -> None:
        """The server becomes a gateway of ContextForge, and its tool a virtual server that callers reach."""
        behind = {"name": "echo", "url": f"http://127.0.0.1:{self.upstream}/mcp", "transport": "STREAMABLEHTTP"}
        self._send("/v1/gateways", behind)
        tool = self._send("/v1/tools")[1][0]
        bundle = {"name": "bench", "associated_tools": [tool["id"]]}
        # Its answers name /v1/servers/… as the successor of this path, and there is nothing.
        self._path = f"/servers/{self._send('/v1/servers', {'server': bundle})[1]['id']}/mcp"
        self._tool = tool["name"]
        self._sessions = [self._open_session() for _ in range(SESSIONS)] if self.stateful else []

    def _open_session(self) -> str:
        response, _ = self._send(self._path, _message(0, "initialize", _INITIALIZE))
        session = response.headers["mcp-session-id"]
        if session is None:
            raise NotRunning("it answers initialize without a session")
        initialized = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._send(self._path, initialized, session)
        return str(session)

    def _send(self, path: str, body: Any = None, session: str = "") -> tuple[HTTPResponse, Any]:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        headers |= {"authorization": f"Bearer {self._token}"} | ({"mcp-session-id": session} if session else {})
        content = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        try:
            request = urllib.request.Request(self._origin + path, content, headers)
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = response.read()
        except urllib.error.HTTPError as error:
            said = error.read()[:80].decode(errors="replace")
            raise NotRunning(f"it starts, and refuses {path}: {error.code} {said}") from None
        return response, orjson.loads(answer) if answer else None


def _create_token(python: str, environ: dict[str, str]) -> str:
    command = [python, "-m", "mcpgateway.utils.create_jwt_token", "--username", _ADMIN, "--secret", _SECRET]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.split()[-1]


def _message(number: int, method: str, params: dict[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

"""The console of a store without a gateway: for `assent console --store`, and inside a library server."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from assent.config.model import ConsoleSettings
from assent.core.catalogue import Catalogue
from assent.core.recorded_tools import KIND, recorded_catalogue
from assent.errors import StoreError
from assent.gateway.auth.failed_auth import FailedAuthCounter
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.people.console.app import Console
from assent.people.console.page import ConsoleContext, ConsoleSite
from assent.people.console.start import sign_in_url
from assent.people.local_operator import console_person
from assent.people.sessions import Sessions
from assent.ports import Ports, Store
from assent.web.asgi import App, Receive, Scope, Send
from assent.web.http import is_loopback, respond

FRESH = 2.0
"""Seconds for which the recorded tools are believed without another look into the store."""
LINK_EVERY = 60.0
"""Seconds between two sign-in links that a library server prints."""


class RecordedTools:
    """The tools that library servers recorded on a store."""

    def __init__(self, store: Store) -> None:
        self._store, self._looked_at = store, float("-inf")
        self.catalogue = Catalogue()

    async def refresh(self) -> None:
        """Read them again if the last look is too old. While the store fails, the last ones stay."""
        if time.monotonic() - self._looked_at > FRESH:
            with suppress(StoreError):
                self.catalogue = recorded_catalogue(await self._store.documents(KIND, time.time()))
                self._looked_at = time.monotonic()


class StoreConsole:
    """The console for a store that library servers use, in a process of its own."""

    def __init__(self, ports: Ports, tools: RecordedTools, address: str, command: str) -> None:
        self._tools, self._console = tools, _console(ports, address, command)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._tools.refresh()
        await self._console(scope, receive, send)


class LibraryConsole:
    """The console of a library server, which its own HTTP server serves under `/console`.

    A person without a session who opens it from this machine gets a sign-in link in the server's terminal.
    """

    def __init__(self, ports: Callable[[], Ports], address: str, command: str) -> None:
        """`address` is empty if the server learns it from the requests of this machine."""
        self._ports, self._address, self._command = ports, address, command
        self._policy = HostOriginPolicy([address] if address else [])
        self._app: App | None = None
        self._link_at = float("-inf")

    def page(self, path: str) -> str | None:
        """The address of a page; None while the console's own address is not known."""
        return f"{self._address}/console/{path}" if self._address else None

    def learn_address(self, request: Any) -> None:
        """Take the address of this server from a request of this machine, unless it is configured."""
        host = request.headers.get("host", "")
        if not self._address and self._policy.refuse(host.encode(), None) is None:
            self._address = f"{request.url.scheme}://{host}"

    def mount(self, server: _HttpServer) -> None:
        """Serve the console beside the MCP endpoint of this server."""

        async def answer(request: Request) -> Response:
            return _AppResponse(self)

        for path in ("/console", "/console/{path:path}"):
            server.custom_route(path, methods=["GET", "POST"], include_in_schema=False)(answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.learn_address(Request(scope))
        if self._app is None:
            self._app = _console(self._ports(), self._address, self._command, self._offer_link)
        await self._app(scope, receive, send)

    async def _offer_link(self, address: str, client: str) -> bool:
        """Print a link for a person on this machine, at most one a minute; whether one was printed lately."""
        if not is_loopback(client):
            return False
        if time.monotonic() - self._link_at >= LINK_EVERY:
            self._link_at = time.monotonic()
            url = await sign_in_url(self._ports().store, address, console_person())
            sys.stderr.write(f"Sign in to the console, once, within ten minutes: {url}\n")
            sys.stderr.flush()
        return True


class _HttpServer(Protocol):
    def custom_route(
        self, path: str, methods: list[str], name: str | None = None, include_in_schema: bool = True
    ) -> Callable[[Callable[[Request], Awaitable[Response]]], Any]: ...


class _AppResponse(Response):
    """Answers with an application: frameworks take functions that return a response."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


def _console(
    ports: Ports, address: str, command: str, offer_link: Callable[[str, str], Awaitable[bool]] | None = None
) -> Console:
    policy, store = HostOriginPolicy([address] if address else []), ports.store
    site = ConsoleSite(ports, policy, address or "http://127.0.0.1", ConsoleSettings(accounts=False))
    context = ConsoleContext(
        lambda: site,
        Sessions(lambda: store, ports.now),
        FailedAuthCounter(store.append, ports.now).count_failure,
        command=command,
        offer_link=offer_link,
    )
    return Console(context, _only_console)


async def _only_console(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer outside `/console`."""
    if scope["type"] == "http":
        moved = [(b"location", b"/console/approvals")]
        await respond(send, 303 if scope["path"] == "/" else 404, b"{}", moved if scope["path"] == "/" else [])

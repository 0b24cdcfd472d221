"""ASGI types."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from assent.errors import SettingsError
from assent.features import missing_package

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class LazyApp:
    """An application for a path and everything below it, built with its first request, and another for the rest.

    A start does not pay for what may never be used.
    """

    def __init__(self, path: str, build: Callable[[], App], other: App) -> None:
        self._path, self._build, self._other = path, build, other
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == self._path or path.startswith(f"{self._path}/")):
            return await self._other(scope, receive, send)
        try:
            self._app = self._app or self._build()
        except (ModuleNotFoundError, SettingsError) as error:
            missing = missing_package(error) if isinstance(error, ModuleNotFoundError) else error
            if missing is None:
                raise
            return await _answer_unavailable(str(missing), send)
        await self._app(scope, receive, send)


async def _answer_unavailable(reason: str, send: Send) -> None:
    """A part of this server that is not installed answers how to install it."""
    head = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 501, "headers": head})
    await send({"type": "http.response.body", "body": f"Not available here: {reason}.\n".encode()})

"""ASGI types."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]


Message = MutableMapping[str, Any]


Receive = Callable[[], Awaitable[Message]]


Send = Callable[[Message], Awaitable[None]]


App = Callable[[Scope, Receive, Send], Awaitable[None]]


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
        if self._app is None:
            self._app = self._build()
        await self._app(scope, receive, send)


Headers = list[tuple[bytes, bytes]]

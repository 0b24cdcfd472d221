"""Asks a person on a web page.

One page per question, on this machine only, at an unguessable address. Anyone with the address can answer, so it is
given only to the person.
"""

from __future__ import annotations

import asyncio
import hmac
import inspect
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl

import uvicorn

from assent.client.question import Answer, Question
from assent.client.ui.web_form import NotUnderstood, ask_page, read_answer, told_page
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, read_body
from assent.web.server import bind, make_server

_LONGEST_FORM = 64 * 1024
_MOST_FIELDS = 500


def say_where(url: str) -> None:
    """Print the address on the terminal."""
    sys.stderr.write(f"A question waits for an answer: {url}\n")


@dataclass(eq=False, slots=True)
class _Open:
    question: Question
    answered: asyncio.Future[Answer]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class WebPage:
    """Asks on its own page; `tell` receives the address. Forms with fields are declined.

    Use it as `async with WebPage() as asker`. If no one answers, the client's timeout ends the question.
    """

    def __init__(self, tell: Callable[[str], Any] = say_where, port: int = 0) -> None:
        self._tell, self._port = tell, port
        self._open: dict[str, _Open] = {}
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._hosts: frozenset[bytes] = frozenset()
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every question without an answer, and stop the server."""
        for waiting in list(self._open.values()):
            if not waiting.answered.done():
                waiting.answered.set_result(Answer("cancel"))
        server, serving, self._server, self._serving = self._server, self._serving, None, None
        if server is not None and serving is not None:
            server.should_exit = True
            await serving

    async def __call__(self, question: Question) -> Answer:
        if question.schema:
            return Answer("decline")
        await self._start()
        waiting = _Open(question, asyncio.get_running_loop().create_future())
        address = secrets.token_urlsafe(32)
        self._open[address] = waiting
        try:
            told = self._tell(f"http://127.0.0.1:{self._port}/{address}")
            if inspect.isawaitable(told):
                await told
            return await waiting.answered
        finally:
            del self._open[address]

    async def _start(self) -> None:
        async with self._starting:
            if self._serving is not None:
                return
            listener = bind("127.0.0.1", self._port)
            self._port = listener.getsockname()[1]
            self._hosts = frozenset(f"{name}:{self._port}".encode() for name in ("127.0.0.1", "localhost"))
            self._server = server = _Server(make_server(self._app, drain=1, lifespan="off", interface="asgi3").config)
            self._serving = asyncio.create_task(server.serve(sockets=[listener]))

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        nonce, headers = secrets.token_urlsafe(16), dict(scope["headers"])
        if headers.get(b"host") not in self._hosts:
            return await _send_message(
                send,
                421,
                "Not here",
                "The Host header is wrong. Open the page under the address that was printed.",
                nonce,
            )
        waiting = self._open.get(scope["path"].removeprefix("/"))
        if waiting is None or waiting.answered.done():
            return await _send_message(
                send, 404, "No such question", "It was answered or closed, or it does not exist.", nonce
            )
        if scope["method"] == "GET":
            return await _page(send, 200, ask_page(waiting.question, waiting.token, nonce), nonce)
        if scope["method"] != "POST":
            return await _send_message(send, 405, "Method not allowed", "Open the page and use its buttons.", nonce)
        if not self._is_own(headers):
            return await _send_message(send, 403, "Wrong origin", "Answer on the page itself.", nonce)
        await self._answer(waiting, scope["headers"], receive, send, nonce)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the form came from our own page, according to the browser's headers."""
        origin, site = headers.get(b"origin", b""), headers.get(b"sec-fetch-site", b"same-origin")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip()
        return (
            origin.removeprefix(b"http://") == headers[b"host"]
            and site == b"same-origin"
            and kind == b"application/x-www-form-urlencoded"
        )

    async def _answer(self, waiting: _Open, headers: Headers, receive: Receive, send: Send, nonce: str) -> None:
        try:
            form = _fields(await read_body(headers, receive, _LONGEST_FORM))
        except (BodyTooLarge, Disconnected, ValueError):
            return await _send_message(
                send, 400, "Not understood", "The form is not valid. Open the page and use its buttons.", nonce
            )
        if not hmac.compare_digest(form.get("token", "").encode(), waiting.token.encode()):
            return await _send_message(send, 403, "Wrong origin", "Answer on the page itself.", nonce)
        try:
            answer = read_answer(waiting.question, form)
        except NotUnderstood as error:
            return await _page(send, 422, ask_page(waiting.question, waiting.token, nonce, str(error)), nonce)
        if waiting.answered.done():
            return await _send_message(send, 404, "No such question", "It was answered or closed meanwhile.", nonce)
        waiting.answered.set_result(answer)
        if answer.action == "accept":
            return await _send_message(
                send, 200, "You said yes", "The agent continues. You can close this page.", nonce
            )
        await _send_message(send, 200, "You said no", "The agent does not do it. You can close this page.", nonce)


class _Server(uvicorn.Server):
    """A server inside another process, which handles the signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _fields(body: bytes) -> dict[str, str]:
    """Return the form fields; a form with a repeated field is refused."""
    pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


async def _send_message(send: Send, status: int, title: str, note: str, nonce: str) -> None:
    await _page(send, status, told_page(title, note, nonce), nonce)


async def _page(send: Send, status: int, page: str, nonce: str) -> None:
    body = page.encode()
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    fields = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"content-security-policy", policy.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        # Not `no-referrer`, because browsers would then hide the origin of the form too.
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})

"""Asks a person on a web page.

One page per question, on this machine only, at an unguessable address. Anyone with the address can answer, so it is
given only to the person. Text from the server is made visible and escaped. The page runs no script and loads nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import inspect
import math
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Self
from urllib.parse import parse_qsl

import uvicorn

from assent.client.question import Answer, Anything, AtMost, Question, Remember, quoted_title
from assent.core.question import argument_warnings, visible
from assent.features import load_package
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, read_body
from assent.web.server import bind, make_server

SPANS = ((900, "15 minutes"), (3_600, "an hour"), (86_400, "a day"), (604_800, "a week"))


@cache
def _page_template() -> Callable[..., str]:
    """The page. Its language is loaded with the first question: an agent without a web page does not need it."""
    jinja = load_package("jinja2")
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True)
    text = styled(files("assent.client").joinpath("question.html").read_text("utf-8"))
    render: Callable[..., str] = environment.from_string(text).render
    return render


class NotUnderstood(Exception):
    """The form contains an invalid choice; the person is asked again."""


def ask_page(question: Question, token: str, nonce: str, note: str = "") -> str:
    """Return the page with the question."""
    standing = question.standing
    return _page_template()(
        question=question,
        title="May the agent do this?",
        note=note,
        nonce=nonce,
        token=token,
        headline=quoted_title(question.title) if standing else "The server asks",
        tool=visible(question.tool),
        server=visible(question.server),
        badge=f"{standing.tier.value}, {standing.risk.value} risk" if standing else "",
        why=visible(question.why),
        price=visible(question.price) if question.price else "",
        warnings=_warnings(question),
        sections=question.sections,
        constraints=_constraints(question),
        spans=SPANS,
    )


def message_page(title: str, note: str, nonce: str) -> str:
    """Return a page with a message only."""
    return _page_template()(question=None, title=title, note=note, nonce=nonce)


def read_answer(question: Question, form: Mapping[str, str]) -> Answer:
    """Return the person's answer; raise NotUnderstood for an invalid form."""
    match form.get("answer"):
        case "decline":
            return Answer("decline")
        case "accept":
            return Answer("accept", remember=_remember(question, form))
    raise NotUnderstood("Say yes or no with one of the buttons.")


def _warnings(question: Question) -> list[str]:
    found = argument_warnings(dict(question.arguments))
    return [*map(visible, question.warnings), *(warning[:1].upper() + warning[1:] for warning in found)]


def _constraints(question: Question) -> list[dict[str, Any]]:
    """Return the arguments that can be constrained; none for a question of the server, which is never remembered."""
    if question.standing is None or question.words is not None:
        return []
    return [
        {"field": f"argument-{number}", "name": visible(name), "number": value if _is_number(value) else None}
        for number, (name, value) in enumerate(question.arguments.items())
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _remember(question: Question, form: Mapping[str, str]) -> Remember | None:
    seconds = form.get("seconds", "0")
    if seconds == "0" or not _constraints(question):
        return None
    if seconds not in {str(span) for span, _ in SPANS}:
        raise NotUnderstood("Choose one of the times offered.")
    held = {
        name: _constraint(value, form.get(f"argument-{number}", "same"), form.get(f"argument-{number}-most", ""))
        for number, (name, value) in enumerate(question.arguments.items())
    }
    try:
        return Remember(held, float(seconds))
    except ValueError:
        raise NotUnderstood("A tool name alone cannot be allowed. Fix the value of at least one argument.") from None


def _constraint(value: Any, kind: str, most: str) -> Any:
    match kind:
        case "same":
            return value
        case "any":
            return Anything()
        case "most" if _is_number(value):
            return AtMost(_limit(most, value))
    raise NotUnderstood("Choose one of the constraints offered.")


def _limit(said: str, value: float) -> float:
    try:
        limit = float(said)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit) or limit < value:
        raise NotUnderstood("The maximum must be a number that is at least the value of this call.")
    return limit


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
        self._server: uvicorn.Server | None = None
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
            self._server = make_server(self._app, drain=1, lifespan="off")
            # Not `serve`: the process around it handles the signals itself.
            self._serving = asyncio.create_task(self._server._serve(sockets=[listener]))

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        try:
            status, page = await self._respond(scope, receive, nonce)
        except _Refused as refused:
            status, page = refused.status, message_page(refused.title, refused.note, nonce)
        await _send_page(send, status, page, nonce)

    async def _respond(self, scope: Scope, receive: Receive, nonce: str) -> tuple[int, str]:
        """Return the status and the page for one request."""
        headers = dict(scope["headers"])
        if headers.get(b"host") not in self._hosts:
            note = "The Host header is wrong. Open the page under the address that was printed."
            raise _Refused(421, "Not here", note)
        waiting = self._open.get(scope["path"].removeprefix("/"))
        if waiting is None or waiting.answered.done():
            raise _Refused(404, "No such question", "It was answered or closed, or it does not exist.")
        if scope["method"] == "GET":
            return 200, ask_page(waiting.question, waiting.token, nonce)
        if scope["method"] != "POST":
            raise _Refused(405, "Method not allowed", "Open the page and use its buttons.")
        if not self._is_own(headers):
            raise _Refused(403, "Wrong origin", "Answer on the page itself.")
        return await self._answer(waiting, scope["headers"], receive, nonce)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the form came from our own page, according to the browser's headers."""
        origin, site = headers.get(b"origin", b""), headers.get(b"sec-fetch-site", b"same-origin")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip()
        return (
            origin.removeprefix(b"http://") == headers[b"host"]
            and site == b"same-origin"
            and kind == b"application/x-www-form-urlencoded"
        )

    async def _answer(self, waiting: _Open, headers: Headers, receive: Receive, nonce: str) -> tuple[int, str]:
        try:
            form = _fields(await read_body(headers, receive, _LONGEST_FORM))
        except (BodyTooLarge, Disconnected, ValueError):
            note = "The form is not valid. Open the page and use its buttons."
            raise _Refused(400, "Not understood", note) from None
        if not hmac.compare_digest(form.get("token", "").encode(), waiting.token.encode()):
            raise _Refused(403, "Wrong origin", "Answer on the page itself.")
        try:
            answer = read_answer(waiting.question, form)
        except NotUnderstood as error:
            return 422, ask_page(waiting.question, waiting.token, nonce, str(error))
        if waiting.answered.done():
            raise _Refused(404, "No such question", "It was answered or closed meanwhile.")
        waiting.answered.set_result(answer)
        if answer.action == "accept":
            return 200, message_page("You said yes", "The agent continues. You can close this page.", nonce)
        return 200, message_page("You said no", "The agent does not do it. You can close this page.", nonce)


class _Refused(Exception):
    """A request that gets a message instead of the question."""

    def __init__(self, status: int, title: str, note: str) -> None:
        super().__init__(title)
        self.status, self.title, self.note = status, title, note


def _fields(body: bytes) -> dict[str, str]:
    """Return the form fields; a form with a repeated field is refused."""
    pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


async def _send_page(send: Send, status: int, page: str, nonce: str) -> None:
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


_STYLE = files("assent.web").joinpath("page.css").read_text("utf-8").rstrip()


def styled(page: str) -> str:
    """Replaces `{{ style }}` in a page with the shared style sheet; the page's own rules follow it."""
    return page.replace("{{ style }}", _STYLE)

"""Real receivers of notifications on loopback: an HTTP hook and an SMTP server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from support.servers.loopback_server import serving

PATIENCE = 20.0


@dataclass
class Hook:
    """What an HTTP receiver was sent; it answers with `statuses`, then with 200."""

    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: Request) -> Response:
        body = await request.body()
        async with self.came:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
            self.came.notify_all()
        return Response(status_code=self.statuses.pop(0) if self.statuses else 200)

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE), self.came:
            await self.came.wait_for(lambda: len(self.bodies) >= count)


@asynccontextmanager
async def hook(*statuses: int) -> AsyncIterator[Hook]:
    sink = Hook(list(statuses))
    app: Any = Starlette(routes=[Route("/mcp", sink.take, methods=["POST"])])
    async with serving(app) as url:
        sink.url = url
        yield sink


@dataclass
class MailServer:
    """The mails that an SMTP server took."""

    refuse: list[bytes] = field(default_factory=list)
    """Answers to RCPT that come before the first yes."""
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    port: int = 0
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE), self.came:
            await self.came.wait_for(lambda: len(self.mails) >= count)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def say(line: bytes) -> None:
            writer.write(line + b"\r\n")

        say(b"220 sink")
        try:
            while line := (await reader.readline()).strip():
                verb = line.split(b" ")[0].split(b":")[0].upper()
                if verb == b"DATA":
                    say(b"354 go on")
                    raw = await reader.readuntil(b"\r\n.\r\n")
                    mail = message_from_bytes(raw.removesuffix(b".\r\n"), policy=policy.default)
                    say(b"250 taken")
                    async with self.came:
                        self.mails.append(mail)  # type: ignore[arg-type]
                        self.came.notify_all()
                elif verb == b"RCPT" and self.refuse:
                    say(self.refuse.pop(0))
                elif verb == b"QUIT":
                    say(b"221 bye")
                    break
                else:
                    if verb == b"RCPT":
                        self.recipients.append(line.decode())
                    say(b"250 ok")
        finally:
            writer.close()


@asynccontextmanager
async def mail_server(*refuse: bytes) -> AsyncIterator[MailServer]:
    sink = MailServer(list(refuse))
    server = await asyncio.start_server(sink.talk, "127.0.0.1", 0)
    sink.port = server.sockets[0].getsockname()[1]
    async with server:
        yield sink

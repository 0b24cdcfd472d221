"""A TCP server on loopback that says exactly the bytes a test tells it to say."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress


class Conversation:
    """One accepted connection: read requests, write any bytes, end it."""

    def __init__(self, server: "ScriptedServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.number = len(server.conversations)
        self._reader = reader
        self._writer = writer

    async def read_request(self) -> tuple[bytes, bytes]:
        """The head and the body of the next request; EOF ends the script."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        body = await self._reader.readexactly(length)
        self.server.requests.append((head, body))
        self.server.received.set()
        return head, body

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, body: bytes, *, status: bytes = b"200 OK", fields: bytes = b"") -> None:
        await self.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n%b"
            % (status, len(body), fields, body)
        )

    async def ended_by_peer(self) -> None:
        """Wait until the other side is gone."""
        while await self._reader.read(65536):
            pass

    async def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        self._writer.transport.abort()


Script = Callable[[Conversation], Awaitable[None]]


class ScriptedServer:
    """Runs `script` for every connection; keeps what it was sent."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self.requests: list[tuple[bytes, bytes]] = []
        self.conversations: list[Conversation] = []
        self.received = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "ScriptedServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/mcp"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = Conversation(self, reader, writer)
        self.conversations.append(conversation)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await self._script(conversation)
        finally:
            self._tasks.discard(task)
            writer.close()


async def echo(conversation: Conversation) -> None:
    """Answer every request with its own body."""
    while True:
        _, body = await conversation.read_request()
        await conversation.answer(body)

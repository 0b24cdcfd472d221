"""How does a server of today look like one that never heard of the newest revision?"""

from __future__ import annotations

from typing import Any


def aged(app: Any, era: str) -> Any:
    """The same server as one that never heard of the newest revision."""

    async def old(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (b"mcp-protocol-version", b"2026-07-28") in scope["headers"]:
            body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Unsupported protocol version"}}'
            head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": 400, "headers": head})
            return await send({"type": "http.response.body", "body": body})
        await app(scope, receive, send)

    return app if era == "modern" else old

"""Pages beside `/mcp`: health, readiness, metrics, OAuth metadata and approvals."""

from __future__ import annotations

from typing import Any

import orjson

from assent.gateway.app import GatewayApp
from assent.upstreams import credentials as oauth_client
from assent.web.asgi import Receive, Scope, Send
from assent.web.http import respond, respond_error

MARK_HEADER = b"assent-store"
_NOTHING_HERE = "This path does not exist. The MCP endpoint is /mcp; /api/openapi.json describes the API."
_NO_ISSUER = "No token issuer is configured (auth.jwt). Use an API key."
_FOR_OPERATORS = "Metrics need the role operator, or a request from this machine without a proxy."


class StatusPages:
    """Serves health, readiness, metrics and OAuth metadata; any other path is 404."""

    def __init__(self, status: GatewayApp, mark: str = "") -> None:
        """`mark` names the store, so that commands tell their own gateway from another at the same port."""
        self._status = status
        self._mark = [(MARK_HEADER, mark.encode())] if mark else []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] not in ("GET", "HEAD"):
            return await respond_error(send, 405, "Method Not Allowed", [(b"allow", b"GET")])
        match scope["path"]:
            case "/healthz":
                loaded = self._status.is_loaded()
                status = orjson.dumps({"status": "ok" if loaded else "starting"})
                await respond(send, 200 if loaded else 503, status, self._mark)
            case "/readyz":
                ready = await self._status.is_ready()
                await _respond_json(send, 200 if ready else 503, {"status": "ready" if ready else "not ready"})
            case "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp":
                metadata = self._status.current.rulebook.authenticator.metadata()
                if metadata is None:
                    return await respond_error(send, 404, "Not Found", detail=_NO_ISSUER)
                await respond(send, 200, orjson.dumps(metadata), [(b"access-control-allow-origin", b"*")])
            case "/.well-known/oauth-client":
                await _respond_json(send, 200, client_metadata(self._status.current.settings.public_url))
            case "/metrics":
                page = await self._status.state.metrics(scope["headers"], scope)
                if page is None:
                    return await respond_error(send, 403, "Forbidden", detail=_FOR_OPERATORS)
                fields = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]
                await send({"type": "http.response.start", "status": 200, "headers": fields})
                await send({"type": "http.response.body", "body": page})
            case _:
                await respond_error(send, 404, "Not Found", detail=_NOTHING_HERE)


def client_metadata(public_url: str) -> dict[str, Any]:
    """Assent's own client metadata document, for authorization servers of upstreams that read it by its URL."""
    public = public_url.rstrip("/")
    document = oauth_client.client_metadata(f"{public}{oauth_client.CALLBACK_PATH}")
    return {"client_id": f"{public}/.well-known/oauth-client", **document}


async def _respond_json(send: Send, status: int, document: dict[str, Any]) -> None:
    await respond(send, status, orjson.dumps(document))

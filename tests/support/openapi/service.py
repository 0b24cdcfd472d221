"""What answers these tests? A small orders service on a loopback address, and a client to reach it with."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from assent.ports import NotReached, OutcomeUnknown
from assent.upstreams.openapi.link import SendHttp
from support.servers.loopback_server import PromptServer


class Orders:
    """The service's memory: its orders by id, and every request that reached it."""

    def __init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {}
        self.by_key: dict[str, str] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/orders", self.list_orders),
                Route("/orders", self.place_order, methods=["POST"]),
                Route("/orders/{id}", self.get_order),
                Route("/orders/{id}", self.delete_order, methods=["DELETE"]),
                Route("/orders/{id}/secret", self.secret),
                Route("/events", self.events),
                Route("/{rest:path}", self.anything, methods=["GET", "POST", "PUT"]),
            ]
        )

    def _note(self, request: Request) -> None:
        self.requests.append((request.method, request.scope["path"], dict(request.headers)))

    async def list_orders(self, request: Request) -> Response:
        self._note(request)
        wanted = request.query_params.getlist("status")
        return JSONResponse([one for one in self.orders.values() if not wanted or one["status"] in wanted])

    async def place_order(self, request: Request) -> Response:
        self._note(request)
        given = await request.json()
        if given["item"] == "gold":
            return _problem(402, {"code": "CARD_DECLINED", "detail": "The bank said no."})
        if given["item"] == "rare":
            return _problem(409, {"title": "Sold out"})
        if given["item"] == "cursed":
            return _problem(500, {"detail": "Something broke."})
        if given["item"] == "portal":
            return Response("<html>Log in</html>", media_type="text/html")
        key = request.headers.get("idempotency-key", "")
        identity = self.by_key.setdefault(key, f"o{len(self.orders) + 1}")
        order = {"id": identity, "item": given["item"], "amount": given.get("amount", 1), "status": "open"}
        self.orders[identity] = order
        return JSONResponse(order, status_code=201)

    async def get_order(self, request: Request) -> Response:
        self._note(request)
        order = self.orders.get(request.path_params["id"])
        if order is None:
            return _problem(404, {"detail": "No order of that id."})
        return JSONResponse(order)

    async def delete_order(self, request: Request) -> Response:
        self._note(request)
        self.orders.pop(request.path_params["id"], None)
        return Response(status_code=204)

    async def secret(self, request: Request) -> Response:
        self._note(request)
        return PlainTextResponse("a secret")

    async def events(self, request: Request) -> Response:
        self._note(request)
        lines = "".join(f'{{"n": {number}}}\n' for number in range(1200))
        return Response(lines, media_type="application/x-ndjson")

    async def anything(self, request: Request) -> Response:
        """What arrived, as Starlette decoded it."""
        self._note(request)
        form = {}
        if "form" in request.headers.get("content-type", ""):
            async with request.form() as fields:
                form = {key: [await _shown(one) for one in fields.getlist(key)] for key in fields}
        return JSONResponse(
            {
                "method": request.method,
                "path": request.scope["path"],
                "query": request.query_params.multi_items(),
                "cookies": request.cookies,
                "headers": dict(request.headers),
                "body": (await request.body()).decode("utf-8", "replace") if not form else "",
                "form": form,
            }
        )


async def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value.filename}:{(await value.read()).hex()}"


def _problem(status: int, members: dict[str, Any]) -> Response:
    return JSONResponse({"status": status, **members}, status_code=status, media_type="application/problem+json")


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """The app on a free port; the address it is at. The socket listens before the server runs, so nobody waits."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = PromptServer(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.stop()
        await task
        listening.close()


class _Answer:
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = [(name.lower(), value) for name, value in response.headers.raw]

    def pieces(self) -> AsyncIterator[bytes]:
        return self._response.aiter_raw()

    def close(self) -> None:
        """The client of these tests ends the connection when the test ends."""


@asynccontextmanager
async def sender() -> AsyncIterator[SendHttp]:
    """The official SDK's HTTP client as what the upstream sends with."""
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False) as client:

        async def send(method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> _Answer:
            request = client.build_request(method, url, headers=list(headers), content=body)
            try:
                return _Answer(await client.send(request, stream=True))
            except httpx2.ConnectError as error:
                raise NotReached(str(error)) from error
            except httpx2.TransportError as error:
                raise OutcomeUnknown(str(error)) from error

        yield cast("SendHttp", send)

"""The gateway with nothing governed: every call goes straight to one upstream, every list comes from it."""

import time
from itertools import count

import orjson

from assent.edges.doors import Doors
from assent.edges.gateway import Gateway, Incoming
from assent.edges.http import Headers, Receive, Scope, Send, respond_error
from assent.edges.inbound import Era
from assent.edges.passages import RelayPassage
from assent.edges.relay import Relay
from assent.edges.sessions import SessionTable
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.http import HttpUpstream
from assent.edges.upstreams.line import Peer
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.target import Target


async def anybody(_headers: Headers, _scope: Scope) -> str:
    return "anybody"


async def nowhere(scope: Scope, _receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await respond_error(send, 404, "Not Found")


class Straight:
    """Calls and lists, straight to the upstream."""

    def __init__(self, upstream: HttpUpstream) -> None:
        self._upstream = upstream

    async def listing(self, incoming: Incoming) -> bytes:
        return await self._request(incoming, safe=True)

    async def call(self, incoming: Incoming) -> bytes:
        return await self._request(incoming, safe=False)

    async def _request(self, incoming: Incoming, *, safe: bool) -> bytes:
        inbound = incoming.inbound
        session = incoming.session.id if incoming.session is not None else None
        peer = Peer(inbound.version, session, inbound.capabilities)

        result = await self._upstream.request(
            inbound.method,
            inbound.params,
            peer,
            fields=_mirrored(incoming),
            audience=incoming.reply,
            safe=safe,
        )
        return orjson.dumps(result)


def _mirrored(incoming: Incoming) -> Headers:
    if incoming.inbound.era is not Era.MODERN:
        return []
    return [(name, value) for name, value in incoming.headers if name.startswith(b"mcp-param-")]


def open_gateway(url: str, limits: Limits | None = None) -> Gateway:
    target, breaker = Target.of(url), Breaker("reference", time.monotonic)
    limits = limits or Limits()
    calls = Pool("reference", target, limits, breaker)
    streams = Pool("reference", target, Limits(connections=1000), breaker)
    numbers = count(1)
    sessions = SessionTable(time.monotonic, lambda: f"session-{next(numbers)}")
    straight = Straight(HttpUpstream(calls, {"name": "assent", "version": "0"}))
    return Gateway(
        authenticate=anybody,
        listing=straight.listing,
        call=straight.call,
        passage=RelayPassage(Relay(calls, streams), sessions),
        sessions=sessions,
        other=nowhere,
        doors=Doors(),
    )

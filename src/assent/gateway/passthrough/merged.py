"""Makes several upstreams look like one server, beside their tools.

Prompts carry the upstream's prefix as tools do; a resource keeps its URI and belongs to the first upstream that has it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import orjson
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from assent.core.mentions import Mentions
from assent.core.principal import Principal
from assent.edges.cleaning import CLEANED, no_mentions
from assent.edges.gateway import Incoming, Serve
from assent.edges.inbound import Era
from assent.edges.links import caller_of
from assent.edges.notices import CHANGES, SUBSCRIPTION_ID, Notices
from assent.edges.rpc import RpcError
from assent.edges.shelves import Shelf, first_of_each, owner_of
from assent.edges.upstreams.faults import Fault, Unreachable, words
from assent.edges.upstreams.hearing import Hearing
from assent.edges.upstreams.wishes import TooManyResources
from assent.ports import Lost, Unreached

logger = logging.getLogger(__name__)

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
NOT_FOUND = -32002
MOST_SUBSCRIPTIONS = 256
LOOK_AGAIN = 1.0
_LISTS = {
    "prompts/list": ("prompts", "prompts", "name"),
    "resources/list": ("resources", "resources", "uri"),
    "resources/templates/list": ("resources", "resourceTemplates", "uriTemplate"),
}
_CACHED = {"ttlMs": 0, "cacheScope": "private"}


@runtime_checkable
class Source(Protocol):
    """An upstream that may have more than tools."""

    name: str

    @property
    def capabilities(self) -> Mapping[str, Any]: ...

    def serves(self, principal: Principal) -> bool: ...

    def shelf(self, principal: Principal) -> Shelf: ...

    async def ask(self, method: str, params: Mapping[str, Any], incoming: Incoming) -> dict[str, Any]: ...

    async def list(self, method: str, key: str, incoming: Incoming) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Offer:
    """One upstream as it takes part: under which names, and how it is listened to."""

    source: Source
    canonical: Callable[[str], str]
    ear: Hearing


class Merged:
    """The answers to everything but tools, made of what several upstreams say."""

    def __init__(
        self,
        offers: Callable[[], Sequence[Offer]],
        notices: Notices,
        absent: Callable[[Hashable], Mentions] = no_mentions,
    ) -> None:
        self._offers, self._notices, self._absent = offers, notices, absent
        self._said: set[tuple[Any, ...]] = set()

    def methods(self) -> dict[str, Serve]:
        """What is served here, by method."""
        return {
            **dict.fromkeys(_LISTS, self.listing),
            "prompts/get": self.get_prompt,
            "resources/read": self.read_resource,
            "resources/subscribe": self.subscribe,
            "resources/unsubscribe": self.unsubscribe,
            "completion/complete": self.complete,
            "logging/setLevel": self.set_level,
            "subscriptions/listen": self.listen,
        }

    async def listing(self, incoming: Incoming) -> bytes:
        """Everybody's entries in the order of the configuration; who does not answer is left out, and it is logged."""
        method = incoming.inbound.method
        kind, key, named_by = _LISTS[method]
        if not any(kind in offer.source.capabilities for offer in self._offers()):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        offers = self._with(kind, incoming)
        found = await asyncio.gather(*(self._look(offer, method, incoming) for offer in offers))
        entries = [(offer, entry) for offer, listed in zip(offers, found, strict=True) for entry in listed]
        kept, lost = first_of_each(
            ((offer.source.name, self._renamed(offer, key, entry)) for offer, entry in entries), named_by
        )
        for name, loser, winner in lost:
            self._say_once(
                (key, name, loser), "%s %r of upstream %s is hidden by that of %s", key, name[:200], loser, winner
            )
        return _written(self._absent(incoming.caller).clean({key: kept}), incoming, cached=True)

    async def get_prompt(self, incoming: Incoming) -> bytes:
        name = incoming.inbound.params["name"]
        offer, wire_name = await self._find_prompt(name, incoming)
        return await self._pass(offer, {**incoming.inbound.params, "name": wire_name}, incoming)

    async def read_resource(self, incoming: Incoming) -> bytes:
        offer = await self._find_resource(incoming.inbound.params["uri"], incoming)
        return await self._pass(offer, incoming.inbound.params, incoming, cached=True)

    async def complete(self, incoming: Incoming) -> bytes:
        params = incoming.inbound.params
        ref = params["ref"]
        if ref.get("type") == "ref/prompt":
            offer, wire_name = await self._find_prompt(ref["name"], incoming)
            ref = {**ref, "name": wire_name}
        else:
            offer = await self._find_resource(ref["uri"], incoming)
        if "completions" not in offer.source.capabilities:
            return _written({"completion": {"values": []}}, incoming)
        return await self._pass(offer, {**params, "ref": ref}, incoming)

    async def set_level(self, incoming: Incoming) -> bytes:
        """Upstreams of the old era are told now, those of the new one with every request."""
        session, params = incoming.session, incoming.inbound.params
        if session is None or not self._with("logging", incoming):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", incoming.inbound.method)
        session.log_level = params["level"]
        asked = (self._set_level(offer, params, incoming) for offer in self._with("logging", incoming))
        await asyncio.gather(*asked)
        return b"{}"

    async def subscribe(self, incoming: Incoming) -> bytes:
        session = incoming.session
        if session is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", incoming.inbound.method)
        uri = incoming.inbound.params["uri"]
        if uri in session.subscriptions:
            return b"{}"
        if len(session.subscriptions) >= MOST_SUBSCRIPTIONS:
            raise RpcError(INVALID_PARAMS, f"A session may subscribe to {MOST_SUBSCRIPTIONS} resources")
        offer = await self._find_resource(uri, incoming)
        session.subscriptions[uri] = offer.source.name
        try:
            await _watch(offer, uri, caller := _owner(incoming))
        except BaseException:
            session.subscriptions.pop(uri, None)
            raise
        session.at_end[f"watch {uri}"] = lambda: offer.ear.leave(uri, caller)
        return b"{}"

    async def unsubscribe(self, incoming: Incoming) -> bytes:
        session = incoming.session
        if session is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", incoming.inbound.method)
        uri = incoming.inbound.params["uri"]
        session.subscriptions.pop(uri, None)
        leave = session.at_end.pop(f"watch {uri}", None)
        if leave is not None:
            await leave()
        return b"{}"

    async def listen(self, incoming: Incoming) -> bytes:
        """A stream of notices that ends when the caller hangs up or we stop (modern era)."""
        if incoming.inbound.era is not Era.MODERN:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", incoming.inbound.method)
        asked, meta = incoming.inbound.params["notifications"], {SUBSCRIPTION_ID: incoming.inbound.id}
        wanted: dict[str, Any] = {flag: True for flag in CHANGES.values() if asked.get(flag)}
        async with self._watching(asked.get("resourceSubscriptions") or [], incoming) as uris:
            if uris:
                wanted["resourceSubscriptions"] = uris
            with self._notices.listening(wanted) as listener:
                await incoming.reply.notify(
                    {"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": {"notifications": wanted, "_meta": meta}}
                )
                while (message := await listener.next()) is not None:
                    params = {**message.get("params", {}), "_meta": meta}
                    await incoming.reply.notify({**message, "params": params})
        return orjson.dumps({"resultType": "complete", "_meta": meta})

    @asynccontextmanager
    async def _watching(self, uris: Sequence[str], incoming: Incoming) -> AsyncIterator[list[str]]:
        """Those of the resources that somebody lets us watch, for as long as the block runs."""
        if len(uris) > MOST_SUBSCRIPTIONS:
            raise RpcError(INVALID_PARAMS, f"A stream may subscribe to {MOST_SUBSCRIPTIONS} resources")
        watched: dict[str, Offer] = {}
        caller = _owner(incoming)
        try:
            for uri in dict.fromkeys(uris):
                try:
                    offer = await self._find_resource(uri, incoming)
                    await _watch(offer, uri, caller)
                    watched[uri] = offer
                except (RpcError, Fault):
                    continue  # what is not honoured is left out of the acknowledgement
            yield list(watched)
        finally:
            for uri, offer in watched.items():
                await asyncio.shield(offer.ear.leave(uri, caller))

    async def _pass(
        self, offer: Offer, params: Mapping[str, Any], incoming: Incoming, *, cached: bool = False
    ) -> bytes:
        try:
            result = await offer.source.ask(incoming.inbound.method, params, incoming)
        except (Unreached, Lost) as failure:
            raise Unreachable(offer.source.name, str(failure), sent=True) from None
        told = incoming.inbound.method in CLEANED
        return _written(self._absent(incoming.caller).clean(result) if told else result, incoming, cached=cached)

    async def _look(self, offer: Offer, method: str, incoming: Incoming) -> list[dict[str, Any]]:
        """One list of one upstream, kept to find things by; empty where it cannot be had."""
        key = _LISTS[method][1]
        try:
            listed = await offer.source.list(method, key, incoming)
        except (RpcError, Fault, Unreached, Lost) as error:
            missing = isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND
            if not missing:
                logger.warning("upstream %s is left out of %s: %s", offer.source.name, method, words(error))
            return []
        offer.source.shelf(caller_of(incoming)).put(key, listed)
        return listed

    async def _find_prompt(self, name: str, incoming: Incoming) -> tuple[Offer, str]:
        offers = self._with("prompts", incoming)
        for look_again in (False, True):
            if look_again:
                await self._look_again(offers, ["prompts/list"], incoming)
            for offer in offers:
                for wire_name in offer.source.shelf(caller_of(incoming)).names("prompts", "name"):
                    if offer.canonical(wire_name) == name:
                        return offer, wire_name
        raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name}")

    async def _find_resource(self, uri: str, incoming: Incoming) -> Offer:
        offers = {offer.source.name: offer for offer in self._with("resources", incoming)}
        for look_again in (False, True):
            if look_again:
                await self._look_again(list(offers.values()), ["resources/list", "resources/templates/list"], incoming)
            shelves = {name: offer.source.shelf(caller_of(incoming)) for name, offer in offers.items()}
            listed = any(shelf.has(uri) for shelf in shelves.values())
            owner = owner_of(uri, shelves) if listed or look_again else None
            if owner is not None:
                return offers[owner]
        code = INVALID_PARAMS if incoming.inbound.era is Era.MODERN else NOT_FOUND
        raise RpcError(code, f"Unknown resource: {uri}", {"uri": uri})

    async def _look_again(self, offers: Sequence[Offer], methods: Sequence[str], incoming: Incoming) -> None:
        """Ask for the lists anew, but not again and again for names that nobody has."""
        now, due = time.monotonic(), []
        for offer in offers:
            shelf = offer.source.shelf(caller_of(incoming))
            if now - shelf.looked_at >= LOOK_AGAIN or not all(_LISTS[method][1] in shelf.lists for method in methods):
                shelf.looked_at = now
                due.append(offer)
        await asyncio.gather(*(self._look(offer, method, incoming) for offer in due for method in methods))

    def _with(self, capability: str, incoming: Incoming) -> list[Offer]:
        """The upstreams that say they have something, and have an end for this caller."""
        principal = caller_of(incoming)
        return [
            offer
            for offer in self._offers()
            if capability in offer.source.capabilities and offer.source.serves(principal)
        ]

    async def _set_level(self, offer: Offer, params: Mapping[str, Any], incoming: Incoming) -> None:
        try:
            await offer.source.ask("logging/setLevel", params, incoming)
        except (RpcError, Fault, Unreached, Lost) as error:
            missing = isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND
            if not missing:
                logger.warning("upstream %s was not told the log level: %s", offer.source.name, words(error))

    def _renamed(self, offer: Offer, key: str, entry: dict[str, Any]) -> dict[str, Any]:
        if key != "prompts" or not isinstance(entry.get("name"), str):
            return entry
        return {**entry, "name": offer.canonical(entry["name"])}

    def _say_once(self, what: tuple[Any, ...], sentence: str, *values: Any) -> None:
        if what not in self._said and len(self._said) < 1000:
            self._said.add(what)
            logger.warning(sentence, *values)


def _owner(incoming: Incoming) -> tuple[str, str]:
    """For whom a resource is watched."""
    principal = caller_of(incoming)
    return principal.tenant, principal.id


async def _watch(offer: Offer, uri: str, caller: tuple[str, str]) -> None:
    try:
        await offer.ear.watch(uri, caller)
    except TooManyResources:
        sentence = "Too many resources of this server are watched already: unsubscribe from others first"
        raise RpcError(INVALID_PARAMS, sentence) from None


def _written(result: dict[str, Any], incoming: Incoming, *, cached: bool = False) -> bytes:
    """A result as the caller's era has it, whatever the upstream's."""
    if incoming.inbound.era is Era.MODERN:
        hints = _CACHED if cached and result.get("resultType", "complete") == "complete" else {}
        return orjson.dumps({"resultType": "complete", **hints, **result})
    return orjson.dumps({key: value for key, value in result.items() if key not in ("resultType", *_CACHED)})

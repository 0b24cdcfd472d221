"""Merges the prompts, resources and other non-tool methods of all upstreams into one server.

Prompts get the upstream's prefix like tools; a resource keeps its URI and belongs to the first upstream that has it.

See ADR 0022 and ADR 0177.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.dispatch import Serve
from assent.gateway.hidden_text import CLEANED, HiddenText
from assent.gateway.sessions.notifications import CHANGES, Notifications
from assent.mcp.channel import ACKNOWLEDGED, SUBSCRIPTION_ID
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import INVALID_PARAMS, METHOD_NOT_FOUND
from assent.mcp.requests import Era, McpRequest
from assent.pipeline.other_requests import COMPLETE, GET, READ, OtherRequests, Target, rpc_error
from assent.pipeline.tool_mentions import Mentions
from assent.ports import NotReached, OutcomeUnknown
from assent.rules.guards.workload import characters_in, run_large
from assent.upstreams.errors import Unreachable, UpstreamError, safe_error_text
from assent.upstreams.link import McpLink
from assent.upstreams.resources import dedupe_by_name, owner_of
from assent.upstreams.subscriptions import Subscriptions, TooManyResources

logger = logging.getLogger(__name__)

NOT_FOUND = -32002
MOST_SUBSCRIPTIONS = 256
LOOK_AGAIN = 1.0
_LISTS = {
    "prompts/list": ("prompts", "prompts", "name"),
    "resources/list": ("resources", "resources", "uri"),
    "resources/templates/list": ("resources", "resourceTemplates", "uriTemplate"),
}
_CACHED = {"ttlMs": 0, "cacheScope": "private"}


@dataclass(frozen=True, slots=True)
class MergedUpstream:
    """One upstream of the merge: its source, its naming and its subscriptions."""

    source: McpLink
    canonical: Callable[[str], str]
    upstream_subscriptions: Subscriptions


class MergedServer:
    """Answers non-tool methods from all upstreams."""

    def __init__(
        self,
        offers: Callable[[], Sequence[MergedUpstream]],
        notifications: Notifications,
        absent: Callable[[Principal], Mentions],
        others: OtherRequests,
        hidden_text: HiddenText,
    ) -> None:
        self._offers, self._notifications, self._absent, self._others = offers, notifications, absent, others
        self._hidden_text = hidden_text
        self._logged: set[tuple[Any, ...]] = set()

    def methods(self) -> dict[str, Serve]:
        """The served methods with their handlers."""
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

    async def listing(self, mcp_request: McpRequest) -> bytes:
        """The entries of all upstreams in configuration order; one that does not answer is left out and logged."""
        method = mcp_request.method
        kind, key, named_by = _LISTS[method]
        if not any(kind in offer.source.capabilities for offer in self._offers()):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        offers = self._with(kind, mcp_request)
        found = await asyncio.gather(*(self._load_list(offer, method, mcp_request) for offer in offers))
        entries = [(offer, entry) for offer, listed in zip(offers, found, strict=True) for entry in listed]
        entries = [(offer, entry) for offer, entry in entries if self._shows(offer, key, entry, mcp_request)]
        kept, lost = dedupe_by_name(
            ((offer.source.name, self._canonical_entry(offer, key, entry)) for offer, entry in entries), named_by
        )
        for name, loser, winner in lost:
            self._log_once(
                (key, name, loser), "%s %r of upstream %s is hidden by that of %s", key, name[:200], loser, winner
            )
        return _render(self._absent(mcp_request.caller).clean({key: kept}), mcp_request, cached=True)

    async def get_prompt(self, mcp_request: McpRequest) -> bytes:
        name = mcp_request.params["name"]
        offer, wire_name = await self._find_prompt(name, mcp_request)
        self._check((GET, "Prompt", name), offer, mcp_request)
        return await self._pass(offer, {**mcp_request.params, "name": wire_name}, mcp_request)

    async def read_resource(self, mcp_request: McpRequest) -> bytes:
        uri = mcp_request.params["uri"]
        offer = await self._find_resource(uri, mcp_request)
        self._check((READ, "Resource", uri), offer, mcp_request)
        return await self._pass(offer, mcp_request.params, mcp_request, cached=True)

    async def complete(self, mcp_request: McpRequest) -> bytes:
        params = mcp_request.params
        ref = params["ref"]
        if ref.get("type") == "ref/prompt":
            offer, wire_name = await self._find_prompt(ref["name"], mcp_request)
            self._check((COMPLETE, "Prompt", ref["name"]), offer, mcp_request)
            ref = {**ref, "name": wire_name}
        else:
            offer = await self._find_resource(ref["uri"], mcp_request)
            self._check((COMPLETE, "Resource", ref["uri"]), offer, mcp_request)
        if "completions" not in offer.source.capabilities:
            return _render({"completion": {"values": []}}, mcp_request)
        return await self._pass(offer, {**params, "ref": ref}, mcp_request)

    async def set_level(self, mcp_request: McpRequest) -> bytes:
        """Sets the log level: handshake-era upstreams get it now, modern ones with every request."""
        session, params = mcp_request.session, mcp_request.params
        if session is None or not self._with("logging", mcp_request):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", mcp_request.method)
        session.log_level = params["level"]
        requested = (self._set_level(offer, params, mcp_request) for offer in self._with("logging", mcp_request))
        await asyncio.gather(*requested)
        return b"{}"

    async def subscribe(self, mcp_request: McpRequest) -> bytes:
        session = mcp_request.session
        if session is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", mcp_request.method)
        uri = mcp_request.params["uri"]
        if uri in session.subscriptions:
            return b"{}"
        if len(session.subscriptions) >= MOST_SUBSCRIPTIONS:
            raise RpcError(INVALID_PARAMS, f"A session may subscribe to {MOST_SUBSCRIPTIONS} resources")
        offer = await self._find_resource(uri, mcp_request)
        self._check((READ, "Resource", uri), offer, mcp_request)
        session.subscriptions[uri] = offer.source.name
        try:
            await _watch(offer, uri, caller := _owner(mcp_request))
        except BaseException:
            session.subscriptions.pop(uri, None)
            raise
        session.when_over(f"watch {uri}", lambda: offer.upstream_subscriptions.leave(uri, caller))
        return b"{}"

    async def unsubscribe(self, mcp_request: McpRequest) -> bytes:
        session = mcp_request.session
        if session is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", mcp_request.method)
        uri = mcp_request.params["uri"]
        session.subscriptions.pop(uri, None)
        leave = session.at_end.pop(f"watch {uri}", None)
        if leave is not None:
            await leave()
        return b"{}"

    async def listen(self, mcp_request: McpRequest) -> bytes:
        """Streams notifications until the client disconnects or the gateway stops (modern era)."""
        if mcp_request.era is not Era.MODERN:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", mcp_request.method)
        requested = mcp_request.params["notifications"]
        meta = {SUBSCRIPTION_ID: mcp_request.id}
        wanted: dict[str, Any] = {flag: True for flag in CHANGES.values() if requested.get(flag)}
        async with self._watching(requested.get("resourceSubscriptions") or [], mcp_request) as owners:
            if owners:
                wanted["resourceSubscriptions"] = list(owners)
            with self._notifications.listening({**wanted, "resourceSubscriptions": owners}) as listener:
                await mcp_request.reply.notify(
                    {"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": {"notifications": wanted, "_meta": meta}}
                )
                while (message := await listener.next()) is not None:
                    params = {**message.get("params", {}), "_meta": meta}
                    await mcp_request.reply.notify({**message, "params": params})
        return orjson.dumps({"resultType": "complete", "_meta": meta})

    @asynccontextmanager
    async def _watching(self, uris: Sequence[str], mcp_request: McpRequest) -> AsyncIterator[dict[str, str]]:
        """Watches the resources that upstreams allow, while the block runs; yields the upstream of each."""
        if len(uris) > MOST_SUBSCRIPTIONS:
            raise RpcError(INVALID_PARAMS, f"A stream may subscribe to {MOST_SUBSCRIPTIONS} resources")
        watched: dict[str, MergedUpstream] = {}
        caller = _owner(mcp_request)
        try:
            for uri in dict.fromkeys(uris):
                try:
                    offer = await self._find_resource(uri, mcp_request)
                    self._check((READ, "Resource", uri), offer, mcp_request)
                    await _watch(offer, uri, caller)
                    watched[uri] = offer
                except (RpcError, UpstreamError):
                    continue  # A refused resource is left out of the acknowledgement.
            yield {uri: offer.source.name for uri, offer in watched.items()}
        finally:
            for uri, offer in watched.items():
                await asyncio.shield(offer.upstream_subscriptions.leave(uri, caller))

    def _check(self, target: Target, offer: MergedUpstream, mcp_request: McpRequest) -> None:
        """Raise for what policies deny."""
        try:
            self._others.check_target(mcp_request.caller, target, offer.source.name)
        except Refusal as refusal:
            raise rpc_error(refusal) from None

    def _shows(self, offer: MergedUpstream, key: str, entry: dict[str, Any], mcp_request: McpRequest) -> bool:
        if not self._others.applies():
            return True
        return self._others.shows(mcp_request.caller, key, self._canonical_entry(offer, key, entry), offer.source.name)

    async def _pass(
        self, offer: MergedUpstream, params: Mapping[str, Any], mcp_request: McpRequest, *, cached: bool = False
    ) -> bytes:
        try:
            result = await offer.source.ask(mcp_request.method, params, mcp_request)
        except (NotReached, OutcomeUnknown) as failure:
            raise Unreachable(offer.source.name, str(failure), sent=True) from None
        if mcp_request.method in CLEANED:
            clean = partial(self._absent(mcp_request.caller).clean, result)
            result = await run_large(clean, characters_in(result), offer.source.name)
        await self._others.remember(mcp_request.caller, mcp_request.method, mcp_request.params, result)
        return _render(result, mcp_request, cached=cached)

    async def _load_list(self, offer: MergedUpstream, method: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        """One list of one upstream as agents get it, kept for lookups; empty if it cannot be loaded."""
        key = _LISTS[method][1]
        try:
            listed = await offer.source.list(method, key, mcp_request)
        except (RpcError, UpstreamError, NotReached, OutcomeUnknown) as error:
            missing = isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND
            if not missing:
                logger.warning("upstream %s is left out of %s: %s", offer.source.name, method, safe_error_text(error))
            return []
        name = offer.source.name
        cleaned = await run_large(lambda: self._hidden_text.clean(name, {key: listed}), characters_in(listed), name)
        shown: list[dict[str, Any]] = cleaned[key]
        offer.source.listed_resources(mcp_request.caller).lists[key] = shown
        return shown

    async def _find_prompt(self, name: str, mcp_request: McpRequest) -> tuple[MergedUpstream, str]:
        offers = self._with("prompts", mcp_request)
        for look_again in (False, True):
            if look_again:
                await self._reload_lists(offers, ["prompts/list"], mcp_request)
            for offer in offers:
                for wire_name in offer.source.listed_resources(mcp_request.caller).names("prompts", "name"):
                    if offer.canonical(wire_name) == name:
                        return offer, wire_name
        raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name}")

    async def _find_resource(self, uri: str, mcp_request: McpRequest) -> MergedUpstream:
        offers = {offer.source.name: offer for offer in self._with("resources", mcp_request)}
        for look_again in (False, True):
            if look_again:
                await self._reload_lists(
                    list(offers.values()), ["resources/list", "resources/templates/list"], mcp_request
                )
            listed_by_upstream = {
                name: offer.source.listed_resources(mcp_request.caller) for name, offer in offers.items()
            }
            listed = any(listed_resources.has(uri) for listed_resources in listed_by_upstream.values())
            owner = owner_of(uri, listed_by_upstream) if listed or look_again else None
            if owner is not None:
                return offers[owner]
        code = INVALID_PARAMS if mcp_request.era is Era.MODERN else NOT_FOUND
        raise RpcError(code, f"Unknown resource: {uri}", {"uri": uri})

    async def _reload_lists(
        self, offers: Sequence[MergedUpstream], methods: Sequence[str], mcp_request: McpRequest
    ) -> None:
        """Loads the lists again, limited in rate so that unknown names cannot flood the upstreams."""
        now, due = time.monotonic(), []
        for offer in offers:
            listed_resources = offer.source.listed_resources(mcp_request.caller)
            if now - listed_resources.looked_at >= LOOK_AGAIN or not all(
                _LISTS[method][1] in listed_resources.lists for method in methods
            ):
                listed_resources.looked_at = now
                due.append(offer)
        await asyncio.gather(*(self._load_list(offer, method, mcp_request) for offer in due for method in methods))

    def _with(self, capability: str, mcp_request: McpRequest) -> list[MergedUpstream]:
        """The upstreams with this capability that serve this caller."""
        principal = mcp_request.caller
        return [
            offer
            for offer in self._offers()
            if capability in offer.source.capabilities and offer.source.serves(principal)
        ]

    async def _set_level(self, offer: MergedUpstream, params: Mapping[str, Any], mcp_request: McpRequest) -> None:
        try:
            await offer.source.ask("logging/setLevel", params, mcp_request)
        except (RpcError, UpstreamError, NotReached, OutcomeUnknown) as error:
            missing = isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND
            if not missing:
                logger.warning(
                    "setting the log level of upstream %s failed: %s", offer.source.name, safe_error_text(error)
                )

    def _canonical_entry(self, offer: MergedUpstream, key: str, entry: dict[str, Any]) -> dict[str, Any]:
        if key != "prompts" or not isinstance(entry.get("name"), str):
            return entry
        return {**entry, "name": offer.canonical(entry["name"])}

    def _log_once(self, key: tuple[Any, ...], message: str, *values: Any) -> None:
        if key not in self._logged and len(self._logged) < 1000:
            self._logged.add(key)
            logger.warning(message, *values)


def _owner(mcp_request: McpRequest) -> tuple[str, str]:
    """The principal for whom a resource is watched."""
    principal = mcp_request.caller
    return principal.tenant, principal.id


async def _watch(offer: MergedUpstream, uri: str, caller: tuple[str, str]) -> None:
    try:
        await offer.upstream_subscriptions.watch(uri, caller)
    except TooManyResources:
        message = "Too many resources of this server are watched: unsubscribe from others first"
        raise RpcError(INVALID_PARAMS, message) from None


def _render(result: dict[str, Any], mcp_request: McpRequest, *, cached: bool = False) -> bytes:
    """The result in the caller's era."""
    if mcp_request.era is Era.MODERN:
        hints = _CACHED if cached and result.get("resultType", "complete") == "complete" else {}
        return orjson.dumps({"resultType": "complete", **hints, **result})
    return orjson.dumps({key: value for key, value in result.items() if key not in ("resultType", *_CACHED)})

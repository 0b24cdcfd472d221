"""How does a governed call reach its upstream, whichever eras the two ends speak?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, TypeVar, cast

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PROTOCOL_VERSION_META_KEY,
    URL_ELICITATION_REQUIRED,
)
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from assent.core.call import Call
from assent.core.principal import Principal
from assent.edges.gateway import Incoming
from assent.edges.http import Headers
from assent.edges.idempotency_key import META_KEY
from assent.edges.inbound import Era
from assent.edges.reply import CannotAsk
from assent.edges.rpc import RpcError
from assent.edges.shelves import Shelf
from assent.edges.tracing import carried
from assent.edges.upstreams.faults import Fault
from assent.edges.upstreams.http import Described, HttpUpstream
from assent.edges.upstreams.line import Peer, SessionLost
from assent.edges.upstreams.tenancy import Tenancy
from assent.ports import Lost, NotRun, Unreached

MOST_ROUNDS = 10
T = TypeVar("T")
_ENVELOPE = frozenset(
    {PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, LOG_LEVEL_META_KEY, META_KEY}
)
# Errors that say that the tool never ran.
_BEFORE_RUNNING = frozenset(
    {
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        INVALID_PARAMS,
        URL_ELICITATION_REQUIRED,
        MISSING_REQUIRED_CLIENT_CAPABILITY,
    }
)


class End:
    """One address of an upstream, and what it said of itself when it was last asked."""

    def __init__(self, server: HttpUpstream) -> None:
        self.server = server
        self.described: Described | None = None
        self.tenancy = Tenancy(server)
        self.shelf = Shelf()

    @property
    def modern(self) -> bool:
        return self.described is not None and self.described.version in MODERN_PROTOCOL_VERSIONS

    async def know(self) -> Described:
        if self.described is None:
            self.described = await self.server.describe()
        return self.described


class McpLink:
    """What is the same for every server that speaks the protocol, however it is reached."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def run(self, call: Call, key: str | None, incoming: Incoming, asked: dict[str, Any]) -> dict[str, Any]:
        """Run a governed call. `asked` holds answers to the tool's own question, and its state."""
        params: dict[str, Any] = {"name": call.tool.wire_name, "arguments": forwarded(call, key), **asked}
        meta = _meta(incoming)
        fields: Headers = incoming.mirrors if incoming.inbound.era is Era.MODERN else []
        if key is not None:
            forward = call.tool.contract.idempotency.forward
            if forward == "meta":
                meta[META_KEY] = key
            elif forward == "header":
                fields = [*fields, (b"idempotency-key", key.encode())]
        if meta := carried(meta):
            params["_meta"] = meta
        return await self._guarded(call, params, fields, incoming)

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call, incoming: Incoming) -> dict[str, Any]:
        """Call another tool of the upstream, one that only reads."""
        return await self._guarded(call, {"name": tool, "arguments": dict(arguments)}, [], incoming, safe=True)

    async def _guarded(
        self, call: Call, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool = False
    ) -> dict[str, Any]:
        reads = call.tool.contract.side_effect == "read"
        try:
            return await self._rounds("tools/call", params, fields, incoming, safe=safe or reads)
        except Fault as fault:
            raise (Lost if fault.sent else Unreached)(str(fault)) from fault
        except RpcError as error:
            if reads and not safe:
                raise Lost(error.message, error) from error
            if error.code in _BEFORE_RUNNING:
                raise NotRun(error.message, error) from error
            raise Lost(f"upstream {self.name!r} answered with error {error.code}") from error

    async def _rounds(
        self, method: str, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        """One request; where the upstream asks in the modern way a client of the old one, the questions in between."""
        result = await self._once(method, params, fields, incoming, safe=safe)
        for _ in range(MOST_ROUNDS):
            if result.get("resultType") != "input_required" or incoming.inbound.era is Era.MODERN:
                return result
            answers = await _ask_all(result.get("inputRequests") or {}, incoming)
            params = {**params, "inputResponses": answers}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            result = await self._once(method, params, fields, incoming, safe=safe)
        raise Lost(f"upstream {self.name!r} never stops asking")

    async def _once(
        self, method: str, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        raise NotImplementedError


class HttpLink(McpLink):
    """An upstream behind a URL, with its test endpoint where it has one."""

    def __init__(
        self, name: str, live: HttpUpstream, test: HttpUpstream | None = None, *, relayed: bool = False
    ) -> None:
        super().__init__(name)
        self._live, self._test = End(live), End(test) if test is not None else None
        self.relayed = relayed

    @property
    def described(self) -> Described | None:
        return self._live.described

    @property
    def live(self) -> HttpUpstream:
        return self._live.server

    @property
    def streams(self) -> bool:
        """Whether a caller in a session of the upstream's own expects its answers as streams."""
        return self.relayed and self._live.server.streams

    async def load(self) -> list[dict[str, Any]]:
        """Every tool definition as the upstream wrote it. Raises a Fault where it cannot be had."""
        described = self._live.described = await self._live.server.describe()
        if described.version in MODERN_PROTOCOL_VERSIONS:
            return await self._live.server.list_all("tools/list", "tools", Peer(described.version, capabilities={}))
        _, peer = await self._live.server.open_session({})
        try:
            return await self._live.server.list_all("tools/list", "tools", peer)
        finally:
            await self._live.server.close_session(peer)

    async def _once(
        self, method: str, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        server = self._end(caller_of(incoming)).server

        async def request(peer: Peer) -> dict[str, Any]:
            modern = peer.version in MODERN_PROTOCOL_VERSIONS
            said = _with_log_level(params, incoming) if modern else params
            return await server.request(method, said, peer, fields=fields, audience=incoming.reply, safe=safe)

        return await self._speak(incoming, request)

    async def _speak(self, incoming: Incoming, say: Callable[[Peer], Awaitable[T]]) -> T:
        """Say something to the upstream in the session it has for this caller, where it keeps sessions."""
        principal, session, inbound = caller_of(incoming), incoming.session, incoming.inbound
        end = self._end(principal)
        if self.relayed and session is not None:
            return await say(Peer(inbound.version, session.id, inbound.capabilities))
        if not end.modern:
            await end.know()
        if end.modern:
            return await say(Peer(LATEST_MODERN_VERSION, None, inbound.capabilities or {}))
        owner: Hashable = (principal.tenant, principal.id)
        if session is not None:
            owner = session.id
            session.at_end.setdefault(self.name, lambda: end.tenancy.end(owner))
        capabilities = inbound.capabilities or {} if session is not None else {}
        for last in (False, True):
            async with end.tenancy.speaking(owner, capabilities) as peer:
                try:
                    return await say(peer)
                except SessionLost:  # nothing was done, so once more in a new session
                    end.tenancy.forget(owner, peer)
                    if last:
                        raise Unreached(f"upstream {self.name!r} keeps forgetting our session") from None
        raise AssertionError

    # What is not a call

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the upstream says it can do; nothing while it has not said."""
        return self.described.capabilities if self.described is not None else {}

    def serves(self, principal: Principal) -> bool:
        """Whether there is an end of it for this caller at all."""
        return principal.mode != "test" or self._test is not None

    def shelf(self, principal: Principal) -> Shelf:
        """What it last said it has, to this kind of caller."""
        return self._end(principal).shelf

    async def ask(self, method: str, params: Mapping[str, Any], incoming: Incoming) -> dict[str, Any]:
        """Any other request for a caller. Raises `RpcError` as the upstream sent it, and what a call raises."""
        said = {name: value for name, value in params.items() if name != "_meta"}
        if meta := carried(_meta(incoming)):
            said["_meta"] = meta
        return await self._rounds(method, said, [], incoming, safe=True)

    async def list(self, method: str, key: str, incoming: Incoming) -> list[dict[str, Any]]:
        """Every entry of one of its lists."""
        server = self._end(caller_of(incoming)).server
        return await self._speak(incoming, lambda peer: server.list_all(method, key, peer))

    def _end(self, principal: Principal) -> End:
        """Test principals reach the test endpoint and nothing else; live ones never do."""
        if principal.mode != "test":
            return self._live
        if self._test is None:
            raise Unreached(f"upstream {self.name!r} has no test endpoint")
        return self._test


def forwarded(call: Call, key: str | None) -> dict[str, Any]:
    """The arguments as they go upstream: without those that are ours alone, with the key where it is one of them."""
    contract, arguments = call.tool.contract, dict(call.arguments)
    if contract.dry_run.mode != "none" and not call.tool.rehearses:
        arguments.pop(contract.dry_run.argument, None)
    argument = contract.idempotency.argument
    if argument is not None and not call.tool.takes_key:
        arguments.pop(argument, None)
    if key is not None and contract.idempotency.forward == "argument" and argument is not None:
        arguments[argument] = key
    return arguments


async def _ask_all(questions: dict[str, Any], incoming: Incoming) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for name, question in questions.items():
        try:
            answers[name] = await incoming.reply.ask(question["method"], question.get("params") or {})
        except (CannotAsk, RpcError, KeyError, TypeError):
            raise Lost("the tool asked a question that this client cannot answer") from None
    return answers


def _meta(incoming: Incoming) -> dict[str, Any]:
    """What the caller's `_meta` says beyond the envelope, which is ours to write."""
    meta = incoming.inbound.params.get("_meta")
    return {name: value for name, value in meta.items() if name not in _ENVELOPE} if isinstance(meta, dict) else {}


def _with_log_level(params: dict[str, Any], incoming: Incoming) -> dict[str, Any]:
    """A modern upstream is told with every request how much it may log; a session of the old era said so once."""
    session, meta = incoming.session, incoming.inbound.params.get("_meta")
    level = session.log_level if session is not None else None
    if level is None and isinstance(meta, dict):
        level = meta.get(LOG_LEVEL_META_KEY)
    return params if level is None else {**params, "_meta": {**params.get("_meta", {}), LOG_LEVEL_META_KEY: level}}


def caller_of(incoming: Incoming) -> Principal:
    return cast("Principal", incoming.caller)

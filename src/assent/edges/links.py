"""How does a governed call reach its upstream, whichever eras the two ends speak?"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
from assent.edges.upstreams.faults import Fault
from assent.edges.upstreams.http import Described, HttpUpstream
from assent.edges.upstreams.line import Peer, SessionLost
from assent.ports import Lost, NotRun, Unreached

MOST_SESSIONS = 256
MOST_ROUNDS = 10
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


@dataclass(slots=True)
class End:
    """One address of an upstream, and what it said of itself when it was last asked."""

    server: HttpUpstream
    described: Described | None = None
    sessions: OrderedDict[tuple[str, str], Peer] = field(default_factory=OrderedDict)

    @property
    def modern(self) -> bool:
        return self.described is not None and self.described.version in MODERN_PROTOCOL_VERSIONS

    async def peer(self, principal: Principal, capabilities: dict[str, Any] | None) -> Peer:
        """For whom we speak where the caller has no session of the upstream's own: a session is never shared."""
        if self.described is None:
            self.described = await self.server.describe()
        if self.modern:
            return Peer(LATEST_MODERN_VERSION, None, capabilities or {})
        owner = (principal.tenant, principal.id)
        if owner not in self.sessions:
            _, opened = await self.server.open_session({})
            self.sessions[owner] = opened
            while len(self.sessions) > MOST_SESSIONS:
                _, oldest = self.sessions.popitem(last=False)
                await self.server.close_session(oldest)
        self.sessions.move_to_end(owner)
        return self.sessions[owner]

    def forget(self, principal: Principal) -> None:
        self.sessions.pop((principal.tenant, principal.id), None)


class McpLink:
    """What is the same for every server that speaks the protocol, however it is reached."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def run(self, call: Call, key: str | None, incoming: Incoming, asked: dict[str, Any]) -> dict[str, Any]:
        """Run a governed call. `asked` holds answers to the tool's own question, and its state."""
        params: dict[str, Any] = {"name": call.tool.wire_name, "arguments": forwarded(call, key), **asked}
        meta = {name: value for name, value in _meta(incoming).items() if name not in _ENVELOPE}
        fields: Headers = _mirrored(incoming)
        if key is not None:
            forward = call.tool.contract.idempotency.forward
            if forward == "meta":
                meta[META_KEY] = key
            elif forward == "header":
                fields = [*fields, (b"idempotency-key", key.encode())]
        if meta:
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
            return await self._rounds(call.principal, params, fields, incoming, safe=safe or reads)
        except Fault as fault:
            raise (Lost if fault.sent else Unreached)(str(fault)) from fault
        except RpcError as error:
            if reads and not safe:
                raise Lost(error.message, error) from error
            if error.code in _BEFORE_RUNNING:
                raise NotRun(error.message, error) from error
            raise Lost(f"upstream {self.name!r} answered with error {error.code}") from error

    async def _rounds(
        self, principal: Principal, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        """One request; where the upstream asks in the modern way a client of the old one, the questions in between."""
        result = await self._once(principal, params, fields, incoming, safe=safe)
        for _ in range(MOST_ROUNDS):
            if result.get("resultType") != "input_required" or incoming.inbound.era is Era.MODERN:
                return result
            answers = await _ask_all(result.get("inputRequests") or {}, incoming)
            params = {**params, "inputResponses": answers}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            result = await self._once(principal, params, fields, incoming, safe=safe)
        raise Lost(f"upstream {self.name!r} never stops asking")

    async def _once(
        self, principal: Principal, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        raise NotImplementedError


class HttpLink(McpLink):
    """An upstream behind a URL, with its test endpoint where it has one."""

    def __init__(
        self, name: str, live: HttpUpstream, test: HttpUpstream | None = None, *, relayed: bool = False
    ) -> None:
        super().__init__(name)
        self._live, self._test = End(live), End(test) if test is not None else None
        self._relayed = relayed

    @property
    def described(self) -> Described | None:
        return self._live.described

    @property
    def streams(self) -> bool:
        """Whether a caller in a session of the upstream's own expects its answers as streams."""
        return self._relayed and self._live.server.streams

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
        self, principal: Principal, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        end, inbound = self._end(principal), incoming.inbound
        if self._relayed and incoming.session is not None and end is self._live:
            peer = Peer(inbound.version, incoming.session.id, inbound.capabilities)
            return await end.server.request(
                "tools/call", params, peer, fields=fields, audience=incoming.reply, safe=safe
            )
        for last in (False, True):
            peer = await end.peer(principal, inbound.capabilities)
            try:
                return await end.server.request(
                    "tools/call", params, peer, fields=fields, audience=incoming.reply, safe=safe
                )
            except SessionLost:  # nothing was done, so once more in a new session
                end.forget(principal)
                if last:
                    raise Unreached(f"upstream {self.name!r} keeps forgetting our session") from None
        raise AssertionError

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
    meta = incoming.inbound.params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _mirrored(incoming: Incoming) -> Headers:
    if incoming.inbound.era is not Era.MODERN:
        return []
    return [(name, value) for name, value in incoming.headers if name.startswith(b"mcp-param-")]

"""A request as it arrived, and a call after validation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, cast

import orjson

from assent.core.principal import Principal
from assent.core.tool import Tool

Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """A person's answer to a confirmation, as the client reports it."""

    approval: str
    action: Action
    seconds: float | None = None
    """How long the question was open; None if the edge does not know."""
    client: str = ""
    """The name that the client gives itself."""
    claimed: float | None = None
    """How long the client says that its own question was open."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The claim that continues now that the tool's own question was answered."""

    claim: str
    epoch: int


Mirrors = Sequence[tuple[bytes, bytes]]


class ConversationRef(NamedTuple):
    """What the client says of the conversation that a call belongs to. The model cannot set it: it is no argument."""

    name: str = ""
    """The client's own name for it; empty if it gives none."""
    user_text: str = ""
    """The user's own words."""


class Presence(Protocol):
    """A caller that may disconnect while its request is served, which cancels the serving task."""

    def release(self) -> None:
        """Let the task continue without its caller."""


class Request(NamedTuple):
    """A request as it arrived, not yet checked."""

    tool: str
    arguments: Any
    principal: Principal
    """Who calls, as the edge has authenticated them."""
    keys: tuple[str, ...] = ()
    """Idempotency keys sent beside the arguments: in a header or in `_meta`."""
    reply: UserAnswer | None = None
    resume: Resume | None = None
    can_ask: bool = False
    """Whether the client can show a question to a person."""
    presence: Presence | None = None
    """Released when the serving task must outlive the caller; None if other parties may cancel the task too."""
    beside: Mapping[str, Any] | None = None
    """Values that reach the tool beside its arguments. They are digested, shown, checked and logged like arguments."""
    conversation: ConversationRef | None = None
    mirrors: Mirrors | None = None
    """The headers that repeat arguments; None where the protocol has none."""
    origin: Any = None
    """What the edge keeps of the client's request for the upstream. The pipeline does not read it."""
    client: str = ""
    """The name that an MCP client gives itself, if it can ask. It proves nothing: it only lowers what a yes means."""


class Call(NamedTuple):
    """A validated, immutable request. The same object is authorised, previewed, approved, claimed, run and recorded."""

    principal: Principal
    tool: Tool
    arguments: Mapping[str, Any]
    canonical: bytes
    fingerprint: str
    digest: str
    key: str | None = None
    dry_run: bool = False
    reply: UserAnswer | None = None
    resume: Resume | None = None
    can_ask: bool = False
    beside: Mapping[str, Any] | None = None
    conversation: ConversationRef | None = None
    origin: Any = None
    client: str = ""
    scratch: dict[str, Any] | None = None
    """What rules keep of this call until it ends; None if they keep nothing."""

    @property
    def stated(self) -> dict[str, Any]:
        """The arguments that describe the action, as digested: equal calls have equal ones."""
        return cast("dict[str, Any]", orjson.loads(self.canonical))


def digest_of_call(principal: Principal, tool: Tool, fingerprint: str) -> str:
    """The digest that binds approvals, claims and the log to who calls which tool with which arguments."""
    who: tuple[str, ...] = (principal.tenant, principal.id, principal.mode)
    if principal.actors:
        who += tuple(actor.id for actor in principal.actors)
    prefix = _digest_prefix(who, tool.upstream, tool.name, tool.contract.digest)
    return hashlib.sha256(prefix + fingerprint.encode()).hexdigest()


@lru_cache(65_536)
def _digest_prefix(who: tuple[str, ...], upstream: str, name: str, contract: str) -> bytes:
    """Everything of a call except its arguments. Parts are length-prefixed so that different inputs cannot produce
    the same digest input.
    """
    parts = [*who, "", upstream, name, contract]
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"assent call v1\n" + b"".join(len(part).to_bytes(4, "big") + part for part in encoded)

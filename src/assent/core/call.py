"""A request as it arrived, and a call as it was validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, cast

import orjson

from assent.core.principal import Principal
from assent.core.tool import Tool

Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """What the client says a person answered to a question of ours."""

    approval: str
    action: Action


@dataclass(frozen=True, slots=True)
class Resume:
    """The claim that goes on now that a question of the tool's own was answered."""

    claim: str
    epoch: int


class Presence(Protocol):
    """A caller who may leave while its request is served, which ends the task that serves it."""

    def release(self) -> None:
        """From now on the task goes on without its caller."""


class Request(NamedTuple):
    """What arrived, believed by nobody yet."""

    tool: str
    arguments: Any = None
    credentials: Any = None
    keys: tuple[str, ...] = ()
    """Idempotency keys as sent beside the arguments: by header, by `_meta`."""
    reply: UserAnswer | None = None
    resume: Resume | None = None
    can_ask: bool = False
    """Whether the client behind this request can put a question to a person."""
    presence: Presence | None = None
    """What must be released where the task that serves this request is to run on; none where others may end it too."""
    beside: Mapping[str, Any] | None = None
    """What reaches the tool beside its arguments: it is digested, shown, checked and logged as they are."""


class Call(NamedTuple):
    """A validated request, frozen. What is authorised is what is previewed, approved, claimed, run and recorded."""

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

    @property
    def stated(self) -> dict[str, Any]:
        """The arguments that say what is done, as the digest has them: calls that are equal state them alike."""
        return cast("dict[str, Any]", orjson.loads(self.canonical))

    @property
    def is_read(self) -> bool:
        return self.tool.contract.side_effect == "read"

"""One operation of the API: its path, parameters, body and result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assent.config.model import Settings
from assent.core.approval import SignedDecision
from assent.core.principal import Principal
from assent.gateway.recent_calls import RecentCalls
from assent.gateway.state import GatewayState
from assent.people.api.problems import ApiProblem
from assent.pipeline.stop_switches import StopSwitches
from assent.ports import Cursor, Ports

Schema = dict[str, Any]
ID = r"[A-Za-z0-9_.-]{1,64}"
NAME = r"[A-Za-z0-9_.-]{1,128}"
ACCOUNT = r"[a-z0-9][a-z0-9._@-]{0,63}"
PATTERNS = {"tool": NAME, "account": ACCOUNT}
"""What a name in a path may be, where it is not an id."""
_CURSOR = rf"[0-9]{{1,12}}\.[0-9]{{9}}~{ID}"
MOST_LISTED = 1000
MOST_INDEX = 2**53 - 1


@dataclass(frozen=True, slots=True)
class RouteParameter:
    """One query parameter: what may be written, and how it is read."""

    name: str
    says: str
    schema: Schema
    read: Callable[[str], Any] = str


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request to the API, read and found in order."""

    principal: Principal
    ports: Ports
    names: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    channel: str = "api"
    """The way the request came: `api`, or `console` for a page. The log records it with decisions."""
    gateway: GatewayState | None = None
    signed: SignedDecision | None = None
    """A decision that the console has found to be signed by the person; nothing that is sent over HTTP sets it."""
    session: str = ""
    """The id of the console's session."""

    @property
    def stop_switches(self) -> StopSwitches:
        return self.gateway.stop_switches if self.gateway is not None else StopSwitches(self.ports.store)

    @property
    def settings(self) -> Settings:
        """The gateway's settings; a store alone has the defaults."""
        return self.gateway.settings if self.gateway is not None else Settings()

    async def recent_calls(self) -> RecentCalls:
        """The last calls in the log, read up to now."""
        recent = self.gateway.recent_calls if self.gateway is not None else RecentCalls(self.ports.store)
        await recent.catch_up()
        return recent

    @property
    def state(self) -> GatewayState:
        """The running gateway. Only operations that look at more than the store and the catalogue need it."""
        if self.gateway is None:
            raise ApiProblem("api.unavailable", "This needs a gateway, and there is only a store here.")
        return self.gateway


Handler = Callable[[ApiRequest], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. The table of these is the API: it drives the routing, the OpenAPI document and the docs."""

    method: Literal["GET", "POST"]
    path: str
    name: str
    says: str
    who: str
    handler: Handler | None
    """None for the document itself, which is there for everybody."""
    gives: Schema
    parameters: tuple[RouteParameter, ...] = ()
    body: Schema | None = None
    refusals: tuple[str, ...] = ()
    missing: str = "api.unknown"
    """What is said of a name in the path that cannot be one."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The path with a group for each name in braces; a segment is taken as it is written, before decoding."""
        return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.path)))


def integer(name: str, says: str, least: int, most: int, default: int) -> RouteParameter:
    def read(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,16}", text) or not least <= int(text) <= most:
            raise ApiProblem("api.malformed", f"{name} must be a whole number from {least} to {most}.")
        return int(text)

    return RouteParameter(name, says, {"type": "integer", "minimum": least, "maximum": most, "default": default}, read)


def choice(name: str, says: str, values: tuple[str, ...], default: str | None = None) -> RouteParameter:
    def read(text: str) -> str:
        if text not in values:
            raise ApiProblem("api.malformed", f"{name} must be one of {', '.join(values)}.")
        return text

    schema: Schema = {"type": "string", "enum": list(values)}
    return RouteParameter(name, says, schema if default is None else {**schema, "default": default}, read)


def text(name: str, says: str, pattern: str) -> RouteParameter:
    def read(given: str) -> str:
        if not re.fullmatch(pattern, given):
            raise ApiProblem("api.malformed", f"{name} must match {pattern}.")
        return given

    return RouteParameter(name, says, {"type": "string", "pattern": f"^{pattern}$"}, read)


LIMIT = integer("limit", "How many at most.", 1, MOST_LISTED, 100)


def cursor() -> RouteParameter:
    """Where a list goes on: what `next` of the page before said."""
    plain = text("cursor", "Where to go on: `next` of the page before.", _CURSOR)

    def read(given: str) -> Cursor:
        at, _, name = plain.read(given).partition("~")
        return float(at), name

    return RouteParameter(plain.name, plain.says, plain.schema, read)


def written(place: Cursor) -> str:
    """A place as a cursor; a time is written so that it is read back as it was."""
    return f"{place[0]:.9f}~{place[1]}"


def listed(name: str, item: str) -> Schema:
    """The schema of one page of a list."""
    return {
        "type": "object",
        "required": [name, "next"],
        "properties": {
            name: {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}},
            "next": {"type": ["string", "null"], "description": "The cursor of the next page; null on the last."},
        },
    }

"""One operation of the API: its path, who it is for, what it takes and what it gives.

A decorator on the handler declares it. From these declarations come the routes, the checks of queries and bodies,
the OpenAPI document and the reference page.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from assent.config.model import Settings
from assent.core.approval import SignedDecision
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.operator_access import GatewayState
from assent.gateway.recent_calls import RecentCalls
from assent.people.api.fields import ACCOUNT, ID, NAME, NoFields, PlainSchema
from assent.people.api.problems import ApiProblem
from assent.pipeline.authorize import StopSwitches
from assent.ports import Ports

PATTERNS = {"tool": NAME, "account": ACCOUNT}
"""What a name in a path may be, if it is not an id."""
MOST_QUERY = 4096


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request to the API, after its checks."""

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
        """The running gateway, for operations that need more than the store and the catalogue."""
        if self.gateway is None:
            raise ApiProblem("api.unavailable", "This needs a gateway, and there is only a store here.")
        return self.gateway


Handler = Callable[[ApiRequest], Awaitable[dict[str, Any]]]
HandlerT = TypeVar("HandlerT", bound=Handler)


@dataclass(frozen=True, slots=True)
class Operation:
    """What one handler is called by, and with."""

    method: Literal["GET", "POST"]
    path: str
    name: str
    says: str
    who: str
    gives: str
    """The answer, by its name in `answers.yaml`."""
    handler: Handler | None = None
    """None for the document, which needs no credentials."""
    query: Any = None
    body: Any = None
    refusals: tuple[str, ...] = ()
    missing: str = "api.unknown"
    """The code for a name in the path that nothing can have."""
    readers: dict[Any, TypeAdapter[Any]] = field(default_factory=dict)

    def check_names(self, names: Mapping[str, str]) -> None:
        """Refuse a name that nothing can have like one that is not known; no store is asked for it."""
        for name, value in names.items():
            if not re.fullmatch(PATTERNS.get(name, ID), value):
                raise ApiProblem("api.unknown") if self.missing == "api.unknown" else Refusal(self.missing)

    def read_query(self, raw: bytes) -> dict[str, Any]:
        """The parameters of a query string."""
        if len(raw) > MOST_QUERY:
            raise ApiProblem("api.malformed", f"The query has {len(raw)} bytes; at most {MOST_QUERY} are accepted.")
        try:
            given = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
        except ValueError:
            raise ApiProblem("api.malformed", "The query is not valid URL-encoded text.") from None
        return self.read_pairs(given)

    def read_pairs(self, given: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The same from names and texts."""
        names = [name for name, _ in given]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ApiProblem("api.malformed", f"{twice[:40]} is given twice.")
        try:
            return dict(self._reader(self.query or NoFields).validate_python(dict(given)))
        except ValidationError as error:
            raise ApiProblem("api.malformed", self._query_fault(error.errors()[0])) from None

    def _query_fault(self, fault: Any) -> str:
        name = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            known = ", ".join((self.query or NoFields).__annotations__)
            return f"There is no filter {name[:40]}. " + (f"There are {known}." if known else "There are none here.")
        if fault["type"] == "value_error":
            return f"{name} {fault['ctx']['error']}"
        return f"{name} must be {_words(self.schema('query')['properties'][name])}."

    def schema(self, part: Literal["query", "body"]) -> dict[str, Any]:
        """The JSON Schema of what is sent, without references."""
        return self._reader(getattr(self, part) or NoFields).json_schema(schema_generator=PlainSchema)

    def check_body(self, value: Any) -> dict[str, Any]:
        """The body, if it has the declared form; ApiProblem names the first fault."""
        try:
            body: dict[str, Any] = self._reader(self.body).validate_python(value, strict=True)
        except ValidationError as error:
            raise ApiProblem("api.invalid", _body_fault(error.errors()[0])) from None
        return body

    def _reader(self, kind: Any) -> TypeAdapter[Any]:
        if kind not in self.readers:
            self.readers[kind] = TypeAdapter(kind)
        return self.readers[kind]


def _words(schema: Mapping[str, Any]) -> str:
    """What a parameter must be."""
    if "enum" in schema or "const" in schema:
        return f"one of {', '.join(schema.get('enum') or [schema['const']])}"
    if schema.get("type") == "integer":
        return f"a whole number from {schema['minimum']} to {schema['maximum']}"
    return f"a text that matches {schema['pattern']}"


def _body_fault(fault: Any) -> str:
    """The first fault of a body, with its place."""
    kind, place, context = fault["type"], list(map(str, fault["loc"])), fault.get("ctx", {})
    inner = place[:-1] if kind in ("extra_forbidden", "missing") else place
    match kind:
        case "extra_forbidden":
            words = f"there are unknown fields: {place[-1]!r:.80}"
        case "missing":
            words = f"{place[-1]!r} is required"
        case "literal_error":
            words = f"it must be one of {context['expected']}"
        case "dict_type":
            words = "it must be an object"
        case "too_short":
            words = "choose at least one" if context["min_length"] == 1 else f"choose at least {context['min_length']}"
        case "string_pattern_mismatch":
            words = f"it must match {context['pattern']}"
        case _:
            words = fault["msg"].replace("Input should be", "it must be").replace("Input should", "it must")
    return f"{'/'.join(inner) or 'The body'}: {words}."


OPERATIONS: dict[Handler, Operation] = {}
"""Every operation by its handler, as far as its module is imported."""


def get(path: str, gives: str, query: Any = None, **more: Any) -> Callable[[HandlerT], HandlerT]:
    """Declare a handler as the GET of a path. Its docstring is the summary."""
    return _declared("GET", path, gives, query=query, **more)


def post(path: str, gives: str, body: Any = None, **more: Any) -> Callable[[HandlerT], HandlerT]:
    """Declare a handler as the POST of a path, which always has a JSON body: no page of another origin can send one."""
    return _declared("POST", path, gives, body=body or NoFields, **more)


def _declared(method: Literal["GET", "POST"], path: str, gives: str, **more: Any) -> Callable[[HandlerT], HandlerT]:
    def declare(handler: HandlerT) -> HandlerT:
        name = more.pop("name", getattr(handler, "__name__", ""))
        says = " ".join((handler.__doc__ or "").split())
        OPERATIONS[handler] = Operation(method, path, name, says, gives=gives, handler=handler, **more)
        return handler

    return declare

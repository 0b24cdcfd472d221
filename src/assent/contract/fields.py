"""The fields of a contract that have fields of their own, such as confirmation, idempotency and hints."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from assent.contract.documents import plain_copy, schema_validator
from assent.contract.expressions import MOST_SOURCE, Condition
from assent.contract.pointers import Pointer

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FORM = re.compile(r"([1-9][0-9]{0,9})(s|m|h|d)\Z")
_LONGEST = 100 * 366 * 86400


def parse_duration(value: Any) -> Any:
    """Seconds for `30s`, `15m`, `12h` or `30d`; a whole number is already in seconds."""
    seconds = value
    if isinstance(value, str):
        match = _FORM.match(value)
        if match is None:
            raise ValueError(f"{value[:40]!r} is not a duration; write a whole number and s, m, h or d, such as 15m")
        seconds = int(match[1]) * _UNITS[match[2]]
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise ValueError("a duration must be a whole number and s, m, h or d, such as 15m")
    if not 0 < seconds <= _LONGEST:
        raise ValueError(f"{str(value)[:40]} is not a duration between a second and a hundred years")
    return seconds


def format_duration(seconds: int) -> str:
    """The shortest form that reads back as the same number of seconds."""
    for unit in ("d", "h", "m"):
        if seconds % _UNITS[unit] == 0:
            return f"{seconds // _UNITS[unit]}{unit}"
    return f"{seconds}s"


Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "pattern": "^[1-9][0-9]{0,9}(s|m|h|d)$",
            "minimum": 1,
            "maximum": _LONGEST,
            "examples": ["15m"],
        }
    ),
]


Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x20\x7f]+$")]
Flag = Annotated[bool, Field(strict=True)]


def _require_list(value: Any) -> Any:
    """Refuse a value that is not a list, such as a single text."""
    if not isinstance(value, list | tuple):
        raise ValueError("a list is expected, such as [one, two]")
    return value


Words = Annotated[tuple[Word, ...], BeforeValidator(_require_list)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_require_list)]
Pointers = Annotated[tuple[Pointer, ...], BeforeValidator(_require_list)]


def _check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    schema_validator(schema)
    return schema


def _check_object(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type", "object") != "object":
        raise ValueError("a tool's arguments must be an object: its schema needs type: object")
    return schema


Plain = Annotated[dict[str, Any], BeforeValidator(plain_copy)]
JsonSchema = Annotated[Plain, AfterValidator(_check_schema)]
ArgumentSchema = Annotated[JsonSchema, AfterValidator(_check_object)]


class Part(BaseModel):
    """An immutable part of a contract; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Confirmation(Part):
    """Who must approve before the call runs."""

    by: Literal["none", "host", "user", "approver"] = "user"
    """No person, the host with its own dialog, the user in band, or a person with the role approver."""
    quorum: Annotated[int, Field(ge=1, le=20, strict=True)] = 1
    """How many different approvers must approve."""
    expires: Duration = 15 * 60
    """How long the question stays open, and how long an approval can be used."""
    uses: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1
    """How many calls one approval covers; each must equal the call that was shown."""
    lasts: Duration | None = None
    """How long an approval can be used, if that differs from the time that the question stays open."""
    because: Text | None = None
    """The reason why no person is asked about a tool of high risk."""


def _check_condition(when: str) -> str:
    if when != "always":
        Condition(when)
    return when


class StepUp(Part):
    """How recent and how strong the caller's authentication must be."""

    max_age: Duration | None = None
    """The maximum age of the login."""
    acr: Words = ()
    """The accepted authentication classes; one is enough."""
    when: Annotated[str, StringConstraints(min_length=1, max_length=MOST_SOURCE), AfterValidator(_check_condition)] = (
        "always"
    )
    """`always`, or a condition on the arguments, such as: amount > 100."""


class FailureMode(Part):
    """One way the tool can fail, and what that means for its effect."""

    outcome: Literal["no_effect", "definite", "unknown"] = Field("definite", alias="class")
    """Nothing was done, it failed for certain, or the effect is unknown."""
    status: Annotated[int, Field(ge=400, le=599, strict=True)] = 422
    """The HTTP status of the problem."""
    title: Text | None = None
    """The failure as people read it."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)


class Lookup(Part):
    """The read-only call that reports whether an earlier call was done."""

    tool: Word
    """The canonical name of the look-up tool."""
    by: Words = ()
    """The arguments that are passed to it."""
    key_argument: Word | None = None
    """The argument in which it takes the key."""
    status: Pointer = "/status"
    """The pointer to `done`, `not_done` or `unknown` in its result."""
    result: Pointer | None = None
    """The pointer to the result of the first call in its result."""


class Idempotency(Part):
    """What a repeated call does, and how it is recognised."""

    recovery: Literal["none", "keyed", "reconcile", "natural"] = "none"
    """After an unknown end: never run again, run again with the same key, look it up first, or simply run again."""
    key: Literal["required", "optional", "auto"] = "optional"
    """Whether the caller must send a key; auto: if none is sent, it is derived from principal, tool and arguments."""
    argument: Word | None = None
    """The argument in which a caller can send the key."""
    forward: Literal["header", "argument", "meta"] | None = None
    """How the key is passed to the tool."""
    retention: Duration | None = None
    """How long a result is kept for retries."""
    lookup: Lookup | None = None
    """The look-up for recovery: reconcile."""


class DryRun(Part):
    """Whether a dry run is possible or required."""

    mode: Literal["none", "offered", "required"] = "offered"
    """Not possible, optional, or required before every real call."""
    argument: Word = "dryRun"
    """The argument that requests it."""
    within: Duration = 10 * 60
    """How long a dry run is valid."""
    simulated: Literal["accepted"] | None = None
    """`accepted`: a preview made from the contract alone counts as the required dry run; by default it does not."""


class Estimate(Part):
    """The read-only tool that reports the price before the call."""

    tool: Word
    """The canonical name of the tool that estimates."""
    amount: Pointer
    """The pointer to the price in its result."""


class Cost(Part):
    """What a call costs, read from its arguments."""

    amount: Pointer
    """The pointer to the amount in the arguments."""
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{3,10}$")] | None = None
    """The currency of the amount; a budget names it in capital letters, whatever the case here."""


class Natural(Part):
    """The arguments that identify the result: the same ones return it while it is valid."""

    by: Annotated[tuple[Word, ...], Field(min_length=1), BeforeValidator(_require_list)]
    """The arguments that identify it."""
    until: Pointer | None = None
    """The pointer to the end of its validity, in the result or else in the arguments."""


class Labels(Part):
    """The role of the tool in data flows; unset values are inferred."""

    reads_private: Flag | None = None
    """Whether its result contains private data."""
    sees_untrusted: Flag | None = None
    """Whether its result can contain text from untrusted people."""
    public_sink: Flag | None = None
    """Whether untrusted people can read its arguments."""


class FlowArguments(Part):
    """The arguments that matter for flow control, by JSON pointer; others are inferred from their names."""

    recipients: Pointers = ()
    """Who receives something: addresses, people, channels, accounts."""
    target: Pointers = ()
    """What the call acts on: ids, file names, the thing that is booked, a new password."""
    url: Pointers = ()
    """Where the call reaches to."""
    amount: Pointers = ()
    """How much."""
    rights: Pointers = ()
    """What somebody may do afterwards: a permission, a role, scopes, who can see it."""
    title: Pointers = ()
    """What the new thing is called."""
    content: Pointers = ()
    """What is sent or stored."""
    ignored: Pointers = ()
    """Arguments that do not matter."""
    exempt: Text | None = None
    """The reason why calls of this tool are not checked; without it, they are."""


class Hints(Part):
    """Hints that differ from the profile's, with the reason."""

    read_only: Flag | None = None
    """Not allowed: it follows from side_effect."""
    destructive: Flag | None = None
    """Can be set to true, not to false."""
    idempotent: Flag | None = None
    """Whether repeating the same call changes nothing more."""
    open_world: Flag | None = None
    """Whether it reaches external systems."""
    because: Text | None = None
    """Why the profile's hint is wrong for this tool."""


def as_time(value: Any, otherwise: float) -> float:
    """Seconds since the epoch for a number or an RFC 3339 text; `otherwise` for any other value."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int | float):
        return _number_as_time(value, otherwise)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return otherwise
    return otherwise


def _number_as_time(value: float, otherwise: float) -> float:
    """Read seconds, or milliseconds above 1e11; `otherwise` for a number out of range."""
    if not 0 <= value <= 1e14:
        return otherwise
    return value / 1000 if value > 1e11 else float(value)

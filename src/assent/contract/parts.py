"""Of what smaller promises is a contract made?"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from assent.contract.documents import plain_copy, schema_validator
from assent.contract.durations import Duration
from assent.contract.expressions import MOST_SOURCE, Condition
from assent.contract.pointers import Pointer

Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x20\x7f]+$")]
Flag = Annotated[bool, Field(strict=True)]


def _listed(value: Any) -> Any:
    """Lists keep their order; what has none, or is a single text, is refused."""
    if not isinstance(value, list | tuple):
        raise ValueError("a list is expected, such as [one, two]")
    return value


Words = Annotated[tuple[Word, ...], BeforeValidator(_listed)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Pointers = Annotated[tuple[Pointer, ...], BeforeValidator(_listed)]


def _check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    schema_validator(schema)
    return schema


def _check_object(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type", "object") != "object":
        raise ValueError("a tool's arguments are an object: its schema has type: object")
    return schema


Plain = Annotated[dict[str, Any], BeforeValidator(plain_copy)]
JsonSchema = Annotated[Plain, AfterValidator(_check_schema)]
ArgumentSchema = Annotated[JsonSchema, AfterValidator(_check_object)]


class Part(BaseModel):
    """A frozen piece of a contract in which unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Confirmation(Part):
    """Who must say yes before the call runs."""

    by: Literal["none", "host", "user", "approver"] = "user"
    """Nobody, the host by its own dialog, the user in band, or a person with the role approver."""
    quorum: Annotated[int, Field(ge=1, le=20, strict=True)] = 1
    """How many different approvers must say yes."""
    expires: Duration = 15 * 60
    """How long the question stays open, and how long a yes may be used."""
    uses: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1
    """How many calls one yes is good for; each is exactly the call that was shown."""
    lasts: Duration | None = None
    """How long a yes may be used, where that is not as long as the question stays open."""
    because: Text | None = None
    """Why nobody is asked about a tool of high risk."""


def _check_condition(when: str) -> str:
    if when != "always":
        Condition(when)
    return when


class StepUp(Part):
    """How fresh and how strong the caller's authentication must be."""

    max_age: Duration | None = None
    """The oldest login that is still good enough."""
    acr: Words = ()
    """The classes of authentication of which one is needed."""
    when: Annotated[str, StringConstraints(min_length=1, max_length=MOST_SOURCE), AfterValidator(_check_condition)] = (
        "always"
    )
    """`always`, or a condition on the arguments, such as: amount > 100."""


class FailureMode(Part):
    """One way the tool can fail, and what that says about its effect."""

    outcome: Literal["no_effect", "definite", "unknown"] = Field("definite", alias="class")
    """Nothing was done, it surely failed, or nobody knows."""
    status: Annotated[int, Field(ge=400, le=599, strict=True)] = 422
    """The HTTP status of the problem."""
    title: Text | None = None
    """The failure as people read it."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)


class Lookup(Part):
    """The read-only call that says whether an earlier one was done."""

    tool: Word
    """The canonical name of the tool that looks it up."""
    by: Words = ()
    """The arguments that are passed on to it."""
    key_argument: Word | None = None
    """The argument in which it takes the key."""
    status: Pointer = "/status"
    """Where its result says done, not_done or unknown."""
    result: Pointer | None = None
    """Where its result holds what the first call would have answered."""


class Idempotency(Part):
    """What a repeated call does, and how it is recognised."""

    recovery: Literal["none", "keyed", "reconcile", "natural"] = "none"
    """After an unknown end: never run again, run again with our key, look it up first, or simply run again."""
    key: Literal["required", "optional", "auto"] = "optional"
    """Whether the caller must send a key; auto: without one, it is derived from principal, tool and arguments."""
    argument: Word | None = None
    """The argument in which a caller can send the key."""
    forward: Literal["header", "argument", "meta"] | None = None
    """How the tool is given our key."""
    retention: Duration | None = None
    """How long an answer is kept for a retry."""
    lookup: Lookup | None = None
    """The look-up that recovery: reconcile uses."""


class DryRun(Part):
    """Whether a call can, or must, be rehearsed."""

    mode: Literal["none", "offered", "required"] = "offered"
    """Not at all, if the caller likes, or before every real call."""
    argument: Word = "dryRun"
    """The argument that asks for it."""
    within: Duration = 10 * 60
    """How long a rehearsal counts."""


class Estimate(Part):
    """The read that names the price before the spend."""

    tool: Word
    """The canonical name of the tool that estimates."""
    amount: Pointer
    """Where its result holds the price."""


class Cost(Part):
    """What a call costs, read from its arguments."""

    amount: Pointer
    """Where the arguments hold the amount."""
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{3,10}$")] | None = None
    """The currency of the amount; a budget names it in capital letters, whatever the case here."""


class Natural(Part):
    """The arguments that name the thing made: the same ones return it while it is valid."""

    by: Annotated[tuple[Word, ...], Field(min_length=1), BeforeValidator(_listed)]
    """The arguments that name it."""
    until: Pointer | None = None
    """Where the result, or else the arguments, say until when it is valid."""


class Labels(Part):
    """Where the tool stands in a flow of data; unset means: to be inferred."""

    reads_private: Flag | None = None
    """Whether its result holds private data."""
    sees_untrusted: Flag | None = None
    """Whether its result can hold what strangers wrote."""
    public_sink: Flag | None = None
    """Whether what it is given can be read by strangers."""


class Hints(Part):
    """Hints said otherwise than the profile derives them, and why."""

    read_only: Flag | None = None
    """Never: it follows from side_effect alone."""
    destructive: Flag | None = None
    """May be raised to true, never lowered."""
    idempotent: Flag | None = None
    """Whether repeating the same call changes nothing more."""
    open_world: Flag | None = None
    """Whether it reaches outside."""
    because: Text | None = None
    """Why the profile's hint is wrong for this tool."""

"""Of what smaller promises is a contract made?"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from assent.contract.durations import Duration
from assent.contract.expressions import Condition
from assent.contract.pointers import Pointer

Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x20\x7f]+$")]


class Part(BaseModel):
    """A frozen piece of a contract in which unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False, str_strip_whitespace=False)


class Confirmation(Part):
    """Who must say yes before the call runs."""

    by: Literal["none", "host", "user", "approver"] = "user"
    quorum: Annotated[int, Field(ge=1, le=20)] = 1
    expires: Duration = 15 * 60
    because: Text | None = None


def _check_condition(when: str) -> str:
    if when != "always":
        Condition(when)
    return when


class StepUp(Part):
    """How fresh and how strong the caller's authentication must be."""

    max_age: Duration | None = None
    acr: tuple[Word, ...] = ()
    when: Annotated[str, AfterValidator(_check_condition)] = "always"


class FailureMode(Part):
    """One way the tool can fail, and what that says about its effect."""

    outcome: Literal["no_effect", "definite", "unknown"] = Field("definite", alias="class")
    status: Annotated[int, Field(ge=400, le=599)] = 422
    title: Text | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Lookup(Part):
    """The read-only call that says whether an earlier one was done."""

    tool: Word
    by: tuple[Word, ...] = ()
    key_argument: Word | None = None
    status: Pointer = "/status"
    result: Pointer | None = None


class Idempotency(Part):
    """What a repeated call does, and how it is recognised."""

    recovery: Literal["none", "keyed", "reconcile", "natural"] = "none"
    key: Literal["required", "optional", "auto"] = "optional"
    argument: Word | None = None
    forward: Literal["header", "argument", "meta"] | None = None
    retention: Duration | None = None
    lookup: Lookup | None = None


class DryRun(Part):
    """Whether a call can, or must, be rehearsed."""

    mode: Literal["none", "offered", "required"] = "offered"
    argument: Word = "dryRun"
    within: Duration = 10 * 60


class Estimate(Part):
    """The read that names the price before the spend."""

    tool: Word
    amount: Pointer


class Cost(Part):
    """What a call costs, read from its arguments."""

    amount: Pointer
    currency: Word | None = None


class Natural(Part):
    """The arguments that name the thing made: the same ones return it while it is valid."""

    by: Annotated[tuple[Word, ...], Field(min_length=1)]
    until: Pointer | None = None


class Labels(Part):
    """Where the tool stands in a flow of data; unset means: to be inferred."""

    reads_private: bool | None = None
    sees_untrusted: bool | None = None
    public_sink: bool | None = None


class Hints(Part):
    """Hints said otherwise than the profile derives them, and why."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    because: Text | None = None


JsonSchema = dict[str, Any] | bool

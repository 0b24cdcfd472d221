"""The contract of one tool."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ModelWrapValidatorHandler, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from assent.contract.contradictions import contradictions
from assent.contract.defaults import fill
from assent.contract.digest import digest_of
from assent.contract.parts import (
    ArgumentSchema,
    Confirmation,
    Cost,
    DryRun,
    Estimate,
    FailureMode,
    Flag,
    Hints,
    Idempotency,
    JsonSchema,
    Labels,
    Natural,
    Part,
    Plain,
    Pointers,
    StepUp,
    Text,
    Texts,
    Word,
    Words,
)
from assent.contract.tiers import Risk, Tier

TOOL_NAME = r"^[A-Za-z0-9_.-]{1,128}$"
ToolName = Annotated[str, StringConstraints(pattern=TOOL_NAME)]
FailureCode = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]{0,99}$")]
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}")


def _check_template(template: str) -> str:
    if re.search(r"[{}]", PLACEHOLDER.sub("", template)):
        raise ValueError("only {argument} placeholders are allowed, without conversions or formats")
    return template


def _names_key(idempotency: Any) -> bool:
    said = idempotency.model_fields_set if isinstance(idempotency, Idempotency) else idempotency or ()
    return "key" in said


class Contract(Part):
    """The frozen promise of one tool; everything but `side_effect` has a default."""

    name: ToolName
    """The canonical name."""
    title: Text
    """The name as people read it; default: from the canonical name."""
    description: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    """What it does, in sentences; replaces the upstream's."""
    category: Word | None = None
    """The domain it belongs to, such as billing."""
    category_label: Text | None = None
    """The category as people read it."""
    side_effect: Tier
    """What it does to the world: the one thing that must be said."""
    overwrites: Flag = False
    """For a write: whether it replaces what was there."""
    risk: Risk
    """How much must happen before a call; default: from side_effect."""
    autonomous: Flag
    """Whether an agent may call it without a person; default: from risk; may be tightened."""
    confirmation: Confirmation
    """Who must say yes before the call runs; default: from risk."""
    step_up: StepUp | None = None
    """How fresh and how strong the caller's authentication must be."""
    permissions: Words = ()
    """The scopes a caller needs, all of them."""
    input: ArgumentSchema | None = None
    """The JSON Schema of the arguments; default: the upstream's or the function's."""
    output: JsonSchema | None = None
    """The JSON Schema of the structured result; default: the upstream's or the function's."""
    side_effects: Texts = ()
    """Every change outside the result, as sentences; what a repetition does, too."""
    audit_event: Word
    """The event that is written down; default: the name and `.called`."""
    failure_modes: dict[FailureCode, FailureMode] = Field(default_factory=dict)
    """The closed list of the ways it fails, by its own codes."""
    idempotency: Idempotency
    """What a repeated call does, and how it is recognised."""
    dry_run: DryRun
    """Whether a call can, or must, be rehearsed; default: none."""
    estimate: Estimate | None = None
    """The read that names the price before the spend."""
    cost: Cost | None = None
    """What a call costs, read from its arguments."""
    natural: Natural | None = None
    """The arguments that name the thing made: the same ones return it while it is valid."""
    secrets: Pointers = ()
    """JSON pointers into the structured result: what is shown once and never again."""
    selects: Words = ()
    """The arguments whose emptiness or width makes a call ambiguous."""
    bulk: Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None = None
    """More items than this make a call ambiguous."""
    open_world: Flag | None = None
    """Whether it reaches systems outside; default: as the profile has it."""
    produces: Words = ()
    """The kinds of thing it makes."""
    activity: Annotated[Text, AfterValidator(_check_template)] | None = None
    """One line for an activity feed, with {argument} placeholders."""
    visibility: Literal["scoped", "locked", "hidden"] | None = None
    """Listed to those who may call it, listed to all and challenged on call, or as if it did not exist."""
    labels: Labels = Labels()
    """Where the tool stands in a flow of data."""
    hints: Hints = Hints()
    """Hints said otherwise than the profile derives them, and why."""
    meta: Plain = Field(default_factory=dict)
    """More keys for `_meta`, as they are."""

    model_config = ConfigDict(ignored_types=(cached_property,))

    @model_validator(mode="wrap")
    @classmethod
    def _derive(cls, given: Any, read: ModelWrapValidatorHandler[Contract]) -> Contract:
        contract = read(fill(given) if isinstance(given, dict) else given)
        if isinstance(given, dict) and not _names_key(given.get("idempotency")):
            contract.idempotency.model_fields_set.discard("key")  # a default, which a profile may tighten
        return contract

    @model_validator(mode="after")
    def _agree(self) -> Contract:
        found = contradictions(self)
        if found:
            raise PydanticCustomError("contradiction", "{message}", {"message": found[0][1], "found": found})
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything promised."""
        return digest_of({"name": self.name, **self.as_json()})

    def asked_by(self, ambiguous: bool) -> str:
        """Who is asked before a call: `none`, `host`, `user` or `approver`."""
        by = self.confirmation.by
        return "none" if by != "host" and self.autonomous and not ambiguous else by

    def as_json(self) -> dict[str, Any]:
        """The contract as a contract file would say it in full, under its name."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"name"})

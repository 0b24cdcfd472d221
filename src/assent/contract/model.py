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
    FlowArguments,
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
    given = idempotency.model_fields_set if isinstance(idempotency, Idempotency) else idempotency or ()
    return "key" in given


class Contract(Part):
    """The immutable contract of one tool; every field except `side_effect` has a default."""

    name: ToolName
    """The canonical name."""
    title: Text
    """The name for people; default: derived from the canonical name."""
    description: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    """What the tool does, in sentences; replaces the upstream's description."""
    category: Word | None = None
    """The domain it belongs to, such as billing."""
    category_label: Text | None = None
    """The category for people."""
    side_effect: Tier
    """The kind of side effect. The only required field."""
    overwrites: Flag = False
    """For a write: whether it replaces existing data."""
    risk: Risk
    """How much must happen before a call; default: from side_effect."""
    autonomous: Flag
    """Whether an agent may call it without a person; default: from risk; can only be tightened."""
    confirmation: Confirmation
    """Who must approve before the call runs; default: from risk."""
    step_up: StepUp | None = None
    """How recent and how strong the caller's authentication must be."""
    permissions: Words = ()
    """The scopes that a caller needs, all of them."""
    input: ArgumentSchema | None = None
    """The JSON Schema of the arguments; default: the upstream's or the function's."""
    output: JsonSchema | None = None
    """The JSON Schema of the structured result; default: the upstream's or the function's."""
    side_effects: Texts = ()
    """Every change outside the result, as sentences; also what a repetition does."""
    audit_event: Word
    """The event name in the audit log; default: the name and `.called`."""
    failure_modes: dict[FailureCode, FailureMode] = Field(default_factory=dict)
    """The complete list of its failures, by its own codes."""
    idempotency: Idempotency
    """What a repeated call does, and how it is recognised."""
    dry_run: DryRun
    """Whether a dry run is possible or required; default: none."""
    estimate: Estimate | None = None
    """The read-only tool that reports the price before the call."""
    cost: Cost | None = None
    """What a call costs, read from its arguments."""
    natural: Natural | None = None
    """The arguments that identify the result: the same ones return it while it is valid."""
    secrets: Pointers = ()
    """JSON pointers into the structured result: values that are delivered only once."""
    selects: Words = ()
    """The arguments that make a call ambiguous if they are empty or too broad."""
    bulk: Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None = None
    """More items than this make a call ambiguous."""
    open_world: Flag | None = None
    """Whether it reaches external systems; default: from the profile."""
    produces: Words = ()
    """The kinds of objects it makes."""
    activity: Annotated[Text, AfterValidator(_check_template)] | None = None
    """One line for an activity feed, with {argument} placeholders."""
    visibility: Literal["scoped", "locked", "hidden"] | None = None
    """Listed to principals that may call it (scoped), listed to all and challenged on call (locked), or absent
    (hidden).
    """
    labels: Labels = Labels()
    """The role of the tool in data flows."""
    flow: FlowArguments | None = None
    """The arguments that matter for flow control; default: inferred from their names."""
    hints: Hints = Hints()
    """Hints that differ from the profile's, with the reason."""
    meta: Plain = Field(default_factory=dict)
    """Additional keys for `_meta`, copied unchanged."""

    model_config = ConfigDict(ignored_types=(cached_property,))

    @model_validator(mode="wrap")
    @classmethod
    def _derive(cls, given: Any, read: ModelWrapValidatorHandler[Contract]) -> Contract:
        contract = read(fill(given) if isinstance(given, dict) else given)
        if isinstance(given, dict) and not _names_key(given.get("idempotency")):
            contract.idempotency.model_fields_set.discard("key")  # A default, which a profile may tighten.
        return contract

    @model_validator(mode="after")
    def _agree(self) -> Contract:
        found = contradictions(self)
        if found:
            raise PydanticCustomError("contradiction", "{message}", {"message": found[0][1], "found": found})
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole contract."""
        return digest_of({"name": self.name, **self.as_json()})

    def asked_by(self, ambiguous: bool) -> str:
        """Who is asked before a call: `none`, `host`, `user` or `approver`."""
        by = self.confirmation.by
        return "none" if by != "host" and self.autonomous and not ambiguous else by

    @property
    def is_secret_whole(self) -> bool:
        """Whether the whole result counts as secret: the tool shares something, and no field mentions its secrets.

        A contract with `natural:` returns its link again, and one with `secrets: []` declares that there are none.
        """
        shares = self.side_effect is Tier.SHARE_EXPORT and self.natural is None
        return shares and "secrets" not in self.model_fields_set

    def as_json(self) -> dict[str, Any]:
        """The contract with all fields, as in a contract file under its name."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"name"})

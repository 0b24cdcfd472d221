"""What does one tool promise?"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from assent.contract.defaults import fill
from assent.contract.digest import digest_of
from assent.contract.parts import (
    Confirmation,
    Cost,
    DryRun,
    Estimate,
    FailureMode,
    Hints,
    Idempotency,
    JsonSchema,
    Labels,
    Natural,
    Part,
    StepUp,
    Text,
    Word,
)
from assent.contract.pointers import Pointer
from assent.contract.tiers import Risk, Tier

ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
FailureCode = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]{0,99}$")]
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}")


def _check_template(template: str) -> str:
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        raise ValueError("only {argument} placeholders are allowed, without conversions or formats")
    return template


class Contract(Part):
    """The frozen promise of one tool; everything but `side_effect` has a default."""

    name: ToolName
    title: Text
    description: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    category: Word | None = None
    category_label: Text | None = None
    side_effect: Tier
    overwrites: bool = False
    risk: Risk
    autonomous: bool
    confirmation: Confirmation
    step_up: StepUp | None = None
    permissions: tuple[Word, ...] = ()
    input: JsonSchema | None = None
    output: JsonSchema | None = None
    side_effects: tuple[Text, ...] = ()
    audit_event: Word
    failure_modes: dict[FailureCode, FailureMode] = Field(default_factory=dict)
    idempotency: Idempotency
    dry_run: DryRun
    estimate: Estimate | None = None
    cost: Cost | None = None
    natural: Natural | None = None
    secrets: tuple[Pointer, ...] = ()
    selects: tuple[Word, ...] = ()
    bulk: Annotated[int, Field(ge=1)] | None = None
    open_world: bool | None = None
    produces: tuple[Word, ...] = ()
    activity: Annotated[Text, AfterValidator(_check_template)] | None = None
    visibility: Literal["scoped", "locked", "hidden"] | None = None
    labels: Labels = Labels()
    hints: Hints = Hints()
    meta: dict[str, Any] = Field(default_factory=dict)

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, given: Any) -> Any:
        return fill(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _agree(self) -> Contract:
        found = contradictions(self)
        if found:
            raise PydanticCustomError("contradiction", "{message}", {"message": found[0][1], "found": found})
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything promised."""
        return digest_of(self.as_json())

    def asked_by(self, ambiguous: bool) -> str:
        """Who is asked before a call: `none`, `host`, `user` or `approver`."""
        by = self.confirmation.by
        return "none" if by != "host" and self.autonomous and not ambiguous else by

    def as_json(self) -> dict[str, Any]:
        """The contract as a contract file would say it in full."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def contradictions(contract: Contract) -> list[tuple[str, str, str]]:
    """Every (field, what is wrong, remedy) in which a contract contradicts itself."""
    c, found = contract, []
    spends = c.side_effect is Tier.EXTERNAL_SPEND
    guarded = c.risk in (Risk.HIGH, Risk.CRITICAL, Risk.FORBIDDEN)

    def wrong(field: str, message: str, remedy: str) -> None:
        found.append((field, message, remedy))

    if c.overwrites and c.side_effect is not Tier.WRITE:
        wrong(
            "overwrites",
            f"only a write overwrites, and this is {c.side_effect}",
            "Remove it, or say side_effect: write",
        )
    if c.autonomous and guarded:
        wrong("autonomous", f"a tool of {c.risk} risk is never autonomous", "Remove it, or lower the risk")
    if c.confirmation.by == "none" and guarded and not c.confirmation.because:
        wrong(
            "confirmation.by",
            f"nobody is asked about a tool of {c.risk} risk",
            "Say why with `because:`, or ask a user",
        )
    if c.confirmation.quorum > 1 and c.confirmation.by != "approver":
        wrong("confirmation.quorum", "only approvers can be counted", "Say by: approver")
    if c.step_up and not c.step_up.max_age and not c.step_up.acr:
        wrong("step_up", "it asks for nothing", "Give max_age, acr or both")
    if spends and c.idempotency.key == "optional":
        wrong("idempotency.key", "spending without a key can charge twice", "Say key: required, or key: auto")
    if c.idempotency.recovery == "reconcile" and c.idempotency.lookup is None:
        wrong(
            "idempotency.lookup",
            "reconciling needs a look-up",
            "Name the read-only tool that says whether it was done",
        )
    if c.idempotency.forward == "argument" and not c.idempotency.argument:
        wrong("idempotency.forward", "no argument is named for the key", "Name it with `argument:`")
    if c.side_effect is Tier.READ and c.dry_run.mode == "required":
        wrong(
            "dry_run.mode",
            "a read changes nothing that could be rehearsed",
            "Remove dry_run, or correct side_effect",
        )
    found.extend(_contradicting_hints(c))
    return found


def _contradicting_hints(c: Contract) -> list[tuple[str, str, str]]:
    h, found = c.hints, []
    said = [name for name in ("read_only", "destructive", "idempotent", "open_world") if getattr(h, name) is not None]
    if said and not h.because:
        found.append(("hints", "a hint is overridden without a reason", "Say why with `because:`"))
    if h.read_only is not None:
        found.append(("hints.read_only", "read-only follows from side_effect alone", "Correct side_effect instead"))
    if h.destructive is False:
        found.append(
            (
                "hints.destructive",
                "destructive may be raised, never lowered",
                "Correct side_effect or overwrites",
            )
        )
    if h.destructive and c.side_effect is Tier.READ:
        found.append(("hints.destructive", "a read cannot be destructive", "Say side_effect: destructive"))
    return found

"""The contract of one tool."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ModelWrapValidatorHandler, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from assent.contract.contradictions import contradictions
from assent.contract.digest import digest_of
from assent.contract.fields import (
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
from assent.contract.pointers import Pointer
from assent.contract.tiers import DEFAULT_RISK, Risk, Tier


def fill(given: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the fields with everything that follows from tier and risk filled in.

    Values of the wrong type are left for the model to refuse.
    """
    full = dict(given)
    tier, risk = _tier(given), _risk(given)
    name = given.get("name")
    if isinstance(name, str):
        full.setdefault("title", humanise(name))
        full.setdefault("audit_event", f"{name}.called")
    if risk is not None:
        full.setdefault("risk", risk)
        full.setdefault("autonomous", risk in (Risk.LOW, Risk.MEDIUM) and not _asks(full.get("confirmation")))
        full["confirmation"] = _confirmation(full, risk)
    if tier is not None:
        full["idempotency"] = _idempotency(full.get("idempotency"), tier)
    full.setdefault("dry_run", {"mode": "none"})
    return full


def humanise(name: str) -> str:
    """A title from a name: `orders.place_order` becomes "Orders place order"."""
    words = name.replace(".", " ").replace("_", " ").replace("-", " ").split()
    text = " ".join(words) or name
    return text[:1].upper() + text[1:]


def _tier(given: dict[str, Any]) -> Tier | None:
    try:
        return Tier(given["side_effect"])
    except (KeyError, ValueError):
        return None


def _risk(given: dict[str, Any]) -> Risk | None:
    if given.get("risk") is None:
        tier = _tier(given)
        return DEFAULT_RISK[tier] if tier else None
    try:
        return Risk(given["risk"])
    except ValueError:
        return None


def _asks(confirmation: Any) -> bool:
    return isinstance(confirmation, dict) and confirmation.get("by", "user") != "none"


def _confirmation(given: dict[str, Any], risk: Risk) -> Any:
    by = "none" if risk is Risk.LOW and given["autonomous"] is True else "user"
    declared = given.get("confirmation")
    if declared is None:
        return {"by": by}
    return {"by": by, **declared} if isinstance(declared, dict) else declared


def _idempotency(declared: Any, tier: Tier) -> Any:
    implied = {
        "recovery": "natural" if tier is Tier.READ else "none",
        "key": "auto" if tier is Tier.EXTERNAL_SPEND else "optional",
    }
    if declared is None:
        return implied
    if not isinstance(declared, dict):
        return declared
    full = {**implied, **declared}
    if full["recovery"] == "keyed":
        full.setdefault("forward", "argument" if full.get("argument") else "header")
    return full


TOOL_NAME = r"^[A-Za-z0-9_.-]{1,128}$"
ToolName = Annotated[str, StringConstraints(pattern=TOOL_NAME)]
EventName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:/-]{1,200}$")]
FailureCode = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]{0,99}$")]
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}")


def _check_template(template: str) -> str:
    if re.search(r"[{}]", PLACEHOLDER.sub("", template)):
        raise ValueError("only {argument} placeholders are allowed, without conversions or formats")
    return template


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
    events: Annotated[dict[EventName, Pointer], Field(min_length=1)] | None = None
    """Further events by name, each with a JSON pointer into the structured result: one entry for each value there."""
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
        if isinstance(given, dict):  # What was filled in is not written: a profile or the server may say otherwise.
            contract.model_fields_set.intersection_update(given)
            written = given.get("idempotency") or {}
            if isinstance(written, dict):
                contract.idempotency.model_fields_set.intersection_update(written)
            asked = given.get("confirmation") or {}
            if isinstance(asked, dict):
                contract.confirmation.model_fields_set.intersection_update(asked)
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

    def changed(self, **fields: Any) -> Contract:
        """A copy with other values for these fields, and its own digest."""
        copy = self.model_copy(update=fields)
        copy.__dict__.pop("digest", None)  # The cached digest belongs to the other contract.
        return copy

    def asked_by(self, ambiguous: bool, critical: str = "user") -> str:
        """Who is asked before a call: `none`, `host`, `user` or `approver`.

        `critical` is who is asked about a critical call whose contract does not say it.
        """
        by = self.confirmation.by
        if by != "host" and self.autonomous and not ambiguous:
            return "none"
        return critical if by == "user" and self.risk >= Risk.CRITICAL and not self.names_confirmer else by

    @property
    def names_confirmer(self) -> bool:
        """Whether the contract itself says who confirms; otherwise it follows from the risk."""
        return "by" in self.confirmation.model_fields_set

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

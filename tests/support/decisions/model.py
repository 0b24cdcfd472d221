"""Model of a decision case file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from assent.contract.fields import Duration, parse_duration
from assent.core.approval import Verdict
from assent.core.principal import Kind, Mode, Principal
from assent.core.problems import CATALOGUE
from assent.core.quotas import RateLimit, SpendBudget

Asks = Literal["none", "shown", "accept", "decline", "cancel"]
"""The person at the client: absent, asked, or answering."""
APPROVALS = ("pending", "approved", "declined")
_ACTS = ("called", "rehearsed", "asked", "running", "in_doubt")
_DECISIONS = ("approved", "declined")
_ENDINGS = ("answer", "error", "refusal", "pause", "approval")


def _age(value: Any) -> Any:
    """Parse a duration, or None."""
    return 0 if value == 0 and not isinstance(value, bool) else parse_duration(value)


class Form(BaseModel):
    """A part of a case; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PrincipalSpec(Form):
    """A principal; `auth_age` is the time between its login and the start of the case."""

    id: str | None = None
    kind: Kind
    tenant: str = "local"
    scopes: tuple[str, ...] = ("*",)
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    acr: str | None = None
    auth_age: Annotated[int, BeforeValidator(_age), Field(ge=0)] | None = None
    bearer: bool = False
    mode: Mode = "live"
    actors: tuple[PrincipalSpec, ...] = ()
    asks: Literal["person", "nobody", "unknown"] = "person"
    """The operator's word on this caller's client; `unknown` if there is none."""

    def at(self, name: str, begin: float) -> Principal:
        return Principal(
            id=self.id or name,
            kind=self.kind,
            tenant=self.tenant,
            scopes=frozenset(self.scopes),
            roles=frozenset(self.roles),
            groups=frozenset(self.groups),
            acr=self.acr,
            auth_time=None if self.auth_age is None else begin - self.auth_age,
            mode=self.mode,
            bearer=self.bearer,
            asks=None if self.asks == "unknown" else self.asks,
            actors=tuple(actor.at(f"{name}-{place}", begin) for place, actor in enumerate(self.actors, 1)),
        )


class CallSpec(Form):
    """One call; fields that a step leaves out come from the case."""

    by: str = "agent"
    tool: str = ""
    arguments: Any = None
    key: str | None = None
    asks: Asks = "none"

    def over(self, base: CallSpec) -> CallSpec:
        return base.model_copy(update={name: getattr(self, name) for name in self.model_fields_set})


class Decide(Form):
    """A person's decision out of band on the last question."""

    by: str = "ann"
    verdict: Verdict = "approve"
    approval: str | None = None


class Script(Form):
    """What a tool does when it is called."""

    does: Literal["ok", "lost", "unreached", "not_run", "hangs"] = "ok"
    returns: Any = None
    text: str | None = None
    fails: str | None = None
    error: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _expand_shorthand(cls, given: Any) -> Any:
        return {"does": given} if isinstance(given, str) else given


def _as_list(given: Any) -> Any:
    return given if isinstance(given, list) else [given]


Scripts = Annotated[tuple[Script, ...], BeforeValidator(_as_list), Field(min_length=1)]


class WorldSettings(Form):
    """Settings of the world around the contracts."""

    profile: str = "spec"
    mode: Literal["enforce", "observe"] = "enforce"
    guards: tuple[dict[str, Any], ...] = ()
    test_endpoint: bool = False
    policy: str = ""
    policies: str = ""
    """Cedar policies."""
    critical_confirmer: Literal["approver", "user"] = "user"
    most_pending: int = 20
    cooldown: Duration | Literal[0] = 0
    limits: tuple[RateLimit, ...] = ()
    budgets: tuple[SpendBudget, ...] = ()
    store_fails: tuple[str, ...] = ()
    approval_overtaken: bool = False
    """Whether another caller uses the approval between its lookup and the claim."""

    def over(self, base: WorldSettings) -> WorldSettings:
        return base.model_copy(update={name: getattr(self, name) for name in self.model_fields_set})


class Changed(Form):
    """Changes from here on: contract fields, the world, or what tools do."""

    tools: dict[str, dict[str, Any]] = Field(default_factory=dict)
    world: WorldSettings = WorldSettings()
    upstream: dict[str, Scripts] = Field(default_factory=dict)


def _as_counts(given: Any) -> Any:
    return {"": given} if isinstance(given, int) else given


class Expect(Form):
    """The expected end: one of answer, error, refusal, pause and approval, and further conditions."""

    answer: bool = False
    error: str | None = None
    refusal: str | None = None
    pause: bool = False
    approval: Literal["pending", "approved", "declined"] | None = None
    replayed: bool | None = None
    result: dict[str, Any] = Field(default_factory=dict)
    facts: dict[str, Any] = Field(default_factory=dict)
    shows: tuple[str, ...] = ()
    effects: Annotated[dict[str, int], BeforeValidator(_as_counts)] = Field(default_factory=dict)
    """Effects in the tools' log since the start; a bare number is for the case's own tool."""
    would: tuple[str, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _expand_shorthand(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        if given in ("answer", "pause"):
            return {given: True}
        return {"approval": given} if given in APPROVALS else {"refusal": given}

    @model_validator(mode="after")
    def _one_ending(self) -> Expect:
        said = [name for name in _ENDINGS if getattr(self, name)]
        if len(said) != 1:
            raise ValueError(f"say one of {', '.join(_ENDINGS)}, not {' and '.join(said) or 'none'}")
        if self.refusal is not None and self.refusal not in CATALOGUE:
            raise ValueError(f"there is no refusal {self.refusal!r}")
        return self


class CaseStep(Form):
    """One earlier step: a verb, and its expected end if that is not the usual one."""

    called: CallSpec | None = None
    rehearsed: CallSpec | None = None
    asked: CallSpec | None = None
    running: CallSpec | None = None
    in_doubt: CallSpec | None = None
    approved: str | None = None
    declined: str | None = None
    elapsed: Duration | None = None
    changed: Changed | None = None
    expect: Expect | None = None

    @model_validator(mode="before")
    @classmethod
    def _expand_shorthand(cls, given: Any) -> Any:
        given = {given: None} if isinstance(given, str) else given
        if not isinstance(given, dict):
            return given
        bare: dict[str, Any] = {name: {} for name in _ACTS} | dict.fromkeys(_DECISIONS, "ann")
        return {key: bare.get(key) if value is None else value for key, value in given.items()}

    @model_validator(mode="after")
    def _one_verb(self) -> CaseStep:
        verbs = (*_ACTS, *_DECISIONS, "elapsed", "changed")
        if sum(getattr(self, verb) is not None for verb in verbs) != 1:
            raise ValueError(f"a step is one of {', '.join(verbs)}")
        return self

    @property
    def verb(self) -> str:
        return next(verb for verb in (*_ACTS, *_DECISIONS, "elapsed", "changed") if getattr(self, verb) is not None)


class CaseForm(Form):
    """One decision case."""

    name: str
    tools: dict[str, dict[str, Any]] = Field(default_factory=dict)
    principals: dict[str, PrincipalSpec] = Field(default_factory=dict)
    upstream: dict[str, Scripts] = Field(default_factory=dict)
    world: WorldSettings = WorldSettings()
    given: tuple[CaseStep, ...] = ()
    by: str = "agent"
    tool: str
    arguments: Any = None
    key: str | None = None
    asks: Asks = "none"
    decide: Decide | None = None
    expect: Expect

    @property
    def act(self) -> CallSpec:
        return CallSpec(by=self.by, tool=self.tool, arguments=self.arguments, key=self.key, asks=self.asks)


class Matrix(Form):
    """Many cases: every combination of `over`, with the end from a table of two axes."""

    name: str
    over: dict[str, tuple[str, ...]]
    contract: dict[str, Any]
    case: dict[str, Any] = Field(default_factory=dict)
    rows: str
    columns: str
    expect: dict[str, dict[str, Expect]]


class FileForm(Form):
    """A file of decision cases."""

    tools: dict[str, dict[str, Any]] = Field(default_factory=dict)
    principals: dict[str, PrincipalSpec] = Field(default_factory=dict)
    upstream: dict[str, Scripts] = Field(default_factory=dict)
    world: WorldSettings = WorldSettings()
    cases: tuple[CaseForm, ...] = ()
    matrices: tuple[Matrix, ...] = ()

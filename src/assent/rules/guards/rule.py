"""The base classes of guards: where they apply, what they check, and what happens when they object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from assent.contract.pointers import tokens
from assent.core.call import Call
from assent.core.match import names_of
from assent.core.quotas import RateSlot
from assent.core.tool import Tool
from assent.rules.guards.context import NO_CONTEXT, NOTHING_NEEDED, Context, LookupNeeds
from assent.rules.guards.match import GuardMatch
from assent.rules.guards.values import Fields, Named, any_scalar, named_scalars

Denial = tuple[str, str]
"""The field and the reason of an objection."""
Action = Literal["deny", "approve", "mask", "warn"]


class Examples(NamedTuple):
    """Examples of a guard that run as tests: its options, and calls (or results) that it lets pass or objects to."""

    options: Mapping[str, Any]
    passes: tuple[Mapping[str, Any], ...]
    objects: tuple[Mapping[str, Any], ...]


def _field(name: str) -> str:
    if not name:
        raise ValueError("a field has a name; write `to`, or a pointer such as /message/to")
    if name.startswith("/"):
        tokens(name)
    return name


FieldName = Annotated[str, AfterValidator(_field)]


class GuardRule(BaseModel):
    """A configured rule on the arguments or the result of calls.

    A subclass states in its docstring what it checks, and in `examples` what that means.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    rule: ClassVar[str] = ""
    """The name of the rule, which is the name of its file."""
    examples: ClassVar[Examples]
    needs_fields: ClassVar[bool] = False
    usual_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that it checks if the configuration names none."""
    takes_fields: ClassVar[bool] = True
    """Whether it checks fields; otherwise it checks the call or the result as a whole."""
    on_results: ClassVar[bool] = False
    """Whether it can check results."""
    masks: ClassVar[bool] = False
    """Whether it can replace what it finds in results."""
    looks_up: ClassVar[bool] = False
    """Whether it needs addresses of hosts or real paths."""
    counts: ClassVar[bool] = False
    """Whether it counts calls."""
    changed: ClassVar[tuple[str, str]] = ("", "")
    """An option whose default is stricter than in the version before, and what follows; `assent doctor` says it."""
    per_character: ClassVar[float] = 0.3
    """About how many microseconds it takes to read a character."""
    most_characters: ClassVar[int] = 4_000_000
    """How many characters it reads of one call or result. It objects to more."""

    match: GuardMatch = Field(GuardMatch(), description="The calls it applies to; without it, every call.")
    fields: tuple[FieldName, ...] = Field(
        (), description="What it checks: a name at any depth, or a JSON pointer. Without it, all values."
    )
    action: Action = Field("deny", description="What happens: deny, approve (ask a person), mask (results), warn.")
    on: Literal["arguments", "results"] = Field("arguments", description="What it checks; mask implies results.")
    mode: Literal["enforce", "observe"] = Field("enforce", description="observe only records what would happen.")
    by: Literal["user", "approver"] = Field("approver", description="With approve: who decides.")
    because: Annotated[str, Field(max_length=300)] = Field("", description="Your reason, shown with the decision.")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.rule = cls.__module__.rpartition(".")[2]

    @model_validator(mode="before")
    @classmethod
    def _mask_implies_results(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("action") == "mask" and "on" not in given:
            return {**given, "on": "results"}
        return given

    @model_validator(mode="after")
    def _fits_the_rule(self) -> GuardRule:
        if self.action == "mask" and (self.on != "results" or not self.masks):
            where = "only results are masked" if self.on != "results" else f"{self.rule} cannot mask"
            raise ValueError(f"{where}; use action deny, approve or warn")
        if self.on == "results" and not self.on_results:
            raise ValueError(f"{self.rule} checks arguments, not results; remove `on: results`")
        if self.on == "results" and self.action == "approve":
            raise ValueError("an approval comes before the call; on results use action deny, mask or warn")
        if self.on == "results" and self.match.inner is not None:
            raise ValueError("`inner` names a call's arguments; remove it, or `on: results`")
        if self.needs_fields and not self.fields:
            raise ValueError(f"{self.rule} needs `fields`, the fields that it checks")
        if self.fields and not self.takes_fields:
            raise ValueError(f"{self.rule} checks the whole call; remove `fields`")
        return self

    @cached_property
    def is_for_all(self) -> bool:
        """Whether it checks all values, because neither the configuration nor the rule names fields."""
        return not self.fields and not self.usual_fields

    @cached_property
    def selected(self) -> Fields:
        """The fields that it checks."""
        return Fields(self.fields or self.usual_fields)

    def concerns(self, tool: Tool) -> bool:
        """Whether it can apply to calls of a tool; asked once per tool."""
        return self.match.holds_for(tool)

    def applies(self, call: Call) -> bool:
        return self.match.holds(call)

    def each_call(
        self, context: Context, arguments: Mapping[str, Any]
    ) -> Iterator[tuple[Context, Mapping[str, Any], str]]:
        """What it checks of a call: the call, or the inner calls, each with its context and the path in front."""
        if self.match.inner is None:
            yield context, arguments, ""
            return
        outer = {self.match.tool or "", *(names_of(context.call.tool) if context.call is not None else ())} - {""}
        for inner in self.match.inner.calls(arguments, outer):
            yield context._replace(tool=inner.tool, tier=None), inner.arguments, inner.path

    def needs(self, arguments: Mapping[str, Any]) -> LookupNeeds:
        """What must be looked up before `denies` is called, for rules with `looks_up`."""
        return NOTHING_NEEDED

    def rates(self, arguments: Mapping[str, Any], context: Context) -> tuple[RateSlot, ...]:
        """What the call takes from the counts of the rule, for rules with `counts`."""
        return ()

    @property
    def over_count(self) -> str:
        """The reason of the objection when the counts allow no further call."""
        return ""

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        """The first objection to the arguments or the result of a call, or None."""
        raise NotImplementedError

    def checked_values(self, arguments: Mapping[str, Any]) -> list[Named]:
        """The values of the named fields with their paths; without `fields`, all arguments."""
        return list(arguments.items()) if self.is_for_all else self.selected.find_values(arguments)


class ValueRule(GuardRule):
    """A rule that checks one value after the other."""

    on_results: ClassVar[bool] = True
    texts_alone: ClassVar[bool] = False
    """Whether it checks only texts when it looks at all values."""

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        """The first objection. Most calls have none, so paths are built only once there is one."""
        everything = self.is_for_all
        looked_at = arguments.values() if everything else self.selected.pick(arguments)
        passed = _NO_TEXTS if everything and self.texts_alone else _NONE
        if not any_scalar(looked_at, self.objection, context, passed):
            return None
        for path, value in self.scalars(arguments):
            if (reason := self.objection(value, context)) is not None:
                return path, reason
        return None

    def scalars(self, arguments: Mapping[str, Any]) -> Iterator[Named]:
        """Every scalar that it checks, with its path. Keys of objects count."""
        for path, value in self.checked_values(arguments):
            yield from named_scalars(path, value)

    def objection(self, value: Any, context: Context) -> str | None:
        """Why this value is not allowed, or None."""
        raise NotImplementedError


_NO_TEXTS: frozenset[type] = frozenset({int, float, bool, type(None)})
_NONE: frozenset[type] = frozenset()

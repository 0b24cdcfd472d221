"""Guard `call_rate`: not too many calls of one kind in a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import Field

from assent.contract.digest import digest_of
from assent.contract.fields import Duration, format_duration
from assent.core.quotas import RateSlot
from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.mailboxes import read_mailboxes
from assent.rules.guards.rule import Denial, Examples, GuardRule
from assent.rules.guards.text import name_key
from assent.rules.guards.values import named_scalars


class CallRate(GuardRule):
    """At most `calls` calls may be made `per` time, counted for each value of the fields.

    With `fields: [to]`, each recipient has a count of its own; without `fields`, all matched calls share one. The
    counts are in the store, so that several gateways share them. `limits:` counts calls by caller and tool; this guard
    counts by what is in the arguments, and can ask a person instead of refusing. A call that a person approved beyond
    the limit is not counted.
    """

    counts: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["to"], "calls": 2, "per": "1h"},
        passes=({"to": "ann@example.com"}, {"to": "bob@example.com"}),
        objects=({"to": "ann@example.com", "calls_before": 2}, {"to": " ANN@example.com", "calls_before": 2}),
    )

    calls: Annotated[int, Field(ge=1, le=1_000_000, description="The number of calls.")]
    per: Duration = Field(description="The time, such as 1h.")
    each: Literal["principal", "tenant", "everyone"] = Field("principal", description="Who shares a count.")

    @cached_property
    def _name(self) -> str:
        return digest_of(self.model_dump(mode="json", exclude={"because", "mode", "action", "by"}))

    def rates(self, arguments: Mapping[str, Any], context: Context) -> tuple[RateSlot, ...]:
        found = (one for path, value in self.checked_values(arguments) for _, one in named_scalars(path, value))
        values = {key for one in found for key in _keys(one)}
        keys = sorted(values) if self.fields else [""]
        return tuple(RateSlot(self._slot(key, context), self.calls, float(self.per)) for key in keys)

    def _slot(self, key: str, context: Context) -> str:
        principal = context.call.principal if context.call is not None else None
        tenant, name, mode = (principal.tenant, principal.id, principal.mode) if principal is not None else ("", "", "")
        who = {"principal": [tenant, name], "tenant": [tenant], "everyone": []}[self.each]
        return hashlib.sha256(orjson.dumps(["assent guard rate v1", self._name, who, mode, key])).hexdigest()

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        """Counting needs the store, so the stage asks it about `rates` instead."""
        return None

    @property
    def over_count(self) -> str:
        return f"there were {self.calls} such calls in the last {format_duration(self.per)}"


def _keys(value: Any) -> set[str]:
    """What a value is counted under: each mailbox that it lists, however it is written, or the value."""
    if not isinstance(value, str):
        return {repr(value)}
    boxes = read_mailboxes(value) if "@" in value else [None]
    return {min(sorted(box.spellings()), key=len) if box is not None else name_key(value) for box in boxes}

"""Remembered approvals and refusals of a person.

A remembered yes names arguments and expires. It applies to the tool definition that the person saw, never to a name
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assent.client.estimates import at_most
from assent.contract.digest import NotCanonicalError, canonical

LONGEST = 30 * 86_400.0
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class OneOf:
    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        return any(_same(value, one) for one in self.values)


@dataclass(frozen=True, slots=True)
class AtMost:
    limit: float

    def holds(self, value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= self.limit


@dataclass(frozen=True, slots=True)
class Anything:
    def holds(self, value: Any) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Remember:
    """A yes for later calls: each argument must be named here and match. A plain value must be equal."""

    arguments: Mapping[str, Any]
    seconds: float

    def __post_init__(self) -> None:
        if all(isinstance(constraint, Anything) for constraint in self.arguments.values()):
            raise ValueError("a decision is never remembered by name alone: constrain at least one argument")
        if not 0 < self.seconds <= LONGEST:
            raise ValueError("a remembered decision ends: give seconds, from more than 0 to 30 days")

    def covers(self, arguments: Mapping[str, Any]) -> bool:
        return set(arguments) <= set(self.arguments) and all(
            name in arguments and _matches(constraint, arguments[name])
            for name, constraint in self.arguments.items()
            if not isinstance(constraint, Anything)
        )


@dataclass(frozen=True, slots=True)
class PriceAndPreview:
    """The price and preview that the person agreed to."""

    price: str | None = None
    preview: Any = None
    question_open: float | None = None
    """For how many seconds the person could read both."""

    def covers(self, now: PriceAndPreview) -> bool:
        """Whether the new price is not higher, in the same currency, and the preview is the same."""
        return at_most(now.price, self.price) and _same(self.preview, now.preview)


@dataclass(frozen=True, slots=True)
class _StoredApproval:
    tool: str
    definition: str
    remember: Remember
    shown: PriceAndPreview
    since: float
    until: float


class RememberedApprovals:
    """Approvals and refusals until they expire."""

    def __init__(self, declined_for: float) -> None:
        self._declined_for = declined_for
        self._given: list[_StoredApproval] = []
        self._latest = float("-inf")
        self._declined: dict[str, float] = {}

    def allow(self, tool: str, definition: str, remember: Remember, shown: PriceAndPreview, now: float) -> None:
        self._given = [given for given in self._given if given.until > now][-_MOST:]
        self._given.append(_StoredApproval(tool, definition, remember, shown, now, now + remember.seconds))

    def find(
        self, tool: str, definition: str, arguments: Mapping[str, Any], shown: PriceAndPreview, now: float
    ) -> PriceAndPreview | None:
        """What the person saw when they said yes to such calls; None if no yes covers this one."""
        # A clock that is set back must not extend an approval.
        self._latest, before = now, self._latest
        if now < before:
            self.forget()
        found = (
            given.shown
            for given in self._given
            if given.tool == tool
            and given.definition == definition
            and given.since <= now < given.until
            and given.remember.covers(arguments)
            and given.shown.covers(shown)
        )
        return next(found, None)

    def decline(self, action: str, now: float) -> None:
        self._declined = {one: until for one, until in self._declined.items() if until > now}
        self._declined[action] = now + self._declined_for

    @property
    def any_declined(self) -> bool:
        return bool(self._declined)

    def declined(self, action: str, now: float) -> bool:
        return now < self._declined.get(action, now)

    def forget(self) -> None:
        """End all approvals; refusals stay."""
        self._given.clear()


def _matches(constraint: Any, value: Any) -> bool:
    if isinstance(constraint, OneOf | AtMost | Anything):
        return constraint.holds(value)
    return _same(constraint, value)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON, so that true is not 1."""
    try:
        return canonical(one) == canonical(other)
    except NotCanonicalError:
        return False

"""Estimates: which tool gives the price of a call, and the price in its result."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container
from dataclasses import dataclass, field

from assent.client.tool_policy import ToolPolicy
from assent.core.estimates import estimate_names


@dataclass(slots=True)
class Budget:
    """A number of calls per number of seconds; calls beyond it need a confirmation."""

    calls: int = 100
    per: float = 3_600.0
    _taken: deque[float] = field(default_factory=deque, repr=False)

    def __post_init__(self) -> None:
        if self.calls < 0 or self.per <= 0:
            raise ValueError("a budget is a number of calls, 0 or more, per a number of seconds above 0")

    def take(self, now: float) -> bool:
        """Count one more call if it is within the budget, and return whether it is."""
        while self._taken and self._taken[0] <= now - self.per:
            self._taken.popleft()
        if len(self._taken) >= self.calls:
            return False
        self._taken.append(now)
        return True


_NUMBER = re.compile(r"-?\d[\d_,]*(?:\.\d+)?")


def estimate_of(name: str, standing: ToolPolicy, listed: Container[str]) -> str | None:
    """Return the tool that estimates a call of `name`: the one in the contract, or a sibling by name."""
    said = standing.contract.get("estimate")
    if isinstance(said, str):
        return said if said in listed else None
    return next((sibling for sibling in estimate_names(name) if sibling in listed and sibling != name), None)


def same_price(one: str | None, other: str) -> bool:
    """Whether two prices have the same number and no different currency."""
    first, second = (_NUMBER.search(text or "") for text in (one, other))
    if first is None or second is None or first.group() != second.group():
        return False
    money, other_money = ("".join(_parts(text or "")[1].split()) for text in (one, other))
    return not money or not other_money or money == other_money


def at_most(price: str | None, agreed: str | None) -> bool:
    """Whether a price is at most the agreed one, in the same currency; incomparable prices must be equal."""
    if price == agreed:
        return True
    if price is None or agreed is None:
        return False
    (one, money), (other, agreed_money) = _parts(price), _parts(agreed)
    return one is not None and other is not None and money == agreed_money and 0 <= one <= other


def _parts(price: str) -> tuple[float | None, str]:
    """Return the number and the text around it."""
    found = _NUMBER.search(price)
    if found is None or "," in found.group():
        return None, price  # a comma is a decimal point in some countries
    return float(found.group()), price[: found.start()] + price[found.end() :]

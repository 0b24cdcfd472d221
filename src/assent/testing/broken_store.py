"""Store that fails at chosen operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, cast

from assent.errors import StoreError
from assent.ports import Store

WRITES = ("claim", "admit", "retake", "mark_in_doubt", "settle", "extend", "ask", "decide", "remember", "append")
READS = ("claim_by_id", "wait_until_ended", "approval", "approval_for", "rehearsed")

Fails = Callable[[str, int], bool]


class BrokenStore:
    """A store that refuses chosen operations before anything is written.

    `fails` gets the operation's name and its position; `operations` lists all attempts.
    """

    def __init__(self, inner: Store, fails: Fails) -> None:
        self.inner, self.fails = inner, fails
        self.operations: list[str] = []

    def as_store(self) -> Store:
        return cast("Store", self)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in WRITES + READS:
            return method
        return self._sync(name, method) if name == "append" else self._async(name, method)

    def _count_or_fail(self, name: str) -> None:
        before = len(self.operations)
        self.operations.append(name)
        if self.fails(name, before):
            raise StoreError(f"the store failed at {name}")

    def _sync(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def tried(*args: Any, **kwargs: Any) -> Any:
            self._count_or_fail(name)
            return method(*args, **kwargs)

        return tried

    def _async(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(method)
        async def tried(*args: Any, **kwargs: Any) -> Any:
            self._count_or_fail(name)
            return await method(*args, **kwargs)

        return tried


def failing_at(*names: str) -> Fails:
    """Fail every operation with one of these names."""
    return lambda name, _: name in names


def failing_nth(n: int) -> Fails:
    """Fail the n-th operation, counted from zero."""
    return lambda _, before: before == n

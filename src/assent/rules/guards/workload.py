"""Bounds what a guard reads of one call, and takes long checks off the event loop.

Short checks run where they are. A longer one runs in a thread, so that other callers are answered meanwhile; a caller
has one such check at a time, so that nobody waits for all checks of another. Beyond the bound nothing is read: the
guard objects.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from assent.core.principal import Principal

T = TypeVar("T")
Later = Coroutine[Any, Any, T]
"""What to await."""
QUICK = 2_000.0
"""Microseconds that a check may take on the event loop."""
LONG = 50_000.0
"""Checks that take longer wait for each other, not for shorter ones."""
PER_VALUE = 2.0
MICROS = 0.05
"""Microseconds for a byte of JSON that is parsed, or checked against a schema."""
LARGE = 20_000
"""Characters from which on a text is rewritten in a thread."""
MOST_VALUES = 200_000
"""How many values a guard reads of one call."""
SWITCH = 0.0001
"""Seconds after which a check in a thread lets the event loop continue. Python's usual 5 ms are felt by callers."""


class Load(NamedTuple):
    """How much there is to read."""

    characters: int
    values: int

    def micros(self, per_character: float) -> float:
        return self.characters * per_character + self.values * PER_VALUE


def load_of(values: Iterable[Any]) -> Load:
    """The characters and values below some values; names of members count. It stops counting beyond the bound."""
    characters = count = 0
    waiting = list(values)
    while waiting and count <= MOST_VALUES:
        value = waiting.pop()
        count += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, dict):
            waiting += value.values()
            characters += sum(map(len, value))
        elif isinstance(value, list):
            waiting += value
    return Load(characters, count + len(waiting))


def characters_in(value: Any) -> int:
    return load_of([value]).characters


def beyond(load: Load, most_characters: int) -> str | None:
    """Why there is more than a guard reads, or None."""
    if load.characters > most_characters:
        return f"it has more than {most_characters} characters to check"
    return f"it has more than {MOST_VALUES} values to check" if load.values > MOST_VALUES else None


def owner_of(principal: Principal) -> str:
    return f"{principal.tenant}/{principal.id}"


async def run_large(work: Callable[[], T], size: int, owner: str) -> T:
    """Run something whose time grows with the size of a text: in a thread if that is long."""
    return work() if size <= LARGE else await run_apart(work, float(size), owner)


async def run_apart(work: Callable[[], T], micros: float, owner: str) -> T:
    """Run a check in a thread, after the other long checks of this caller.

    The check and what it returns may hold a large call. A finished future is part of a cycle, and the thread keeps
    its last arguments for a while, so neither gets them: both are handed over in lists.
    """
    loop = asyncio.get_running_loop()
    turns = _turns.setdefault((id(loop), owner), asyncio.Lock())
    found: list[T] = []
    async with turns:
        await loop.run_in_executor(_LONG if micros > LONG else _SHORT, _polite, [work], found)
    return found.pop()


def _polite(works: list[Callable[[], T]], found: list[T]) -> None:
    with _short_switches():
        found.append(works.pop()())


@contextmanager
def _short_switches() -> Iterator[None]:
    """Let threads take turns more often while checks run."""
    with _switching:
        _running.append(sys.getswitchinterval())
        sys.setswitchinterval(min(SWITCH, _running[0]))
    try:
        yield
    finally:
        with _switching:
            usual = _running[0]
            _running.pop()
            if not _running:
                sys.setswitchinterval(usual)


_SHORT = ThreadPoolExecutor(1, "assent-guards")
_LONG = ThreadPoolExecutor(1, "assent-long-guards")
_turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
_switching = threading.Lock()
_running: list[float] = []

"""The questions about calls that are open at the clients of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from assent.core.limited_dict import LimitedDict

MOST_SENT = 10_000


@dataclass(slots=True)
class OpenQuestion:
    """A question that is open on a stream."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    unanswered: bool = False


@dataclass(slots=True)
class OpenQuestions:
    """Open questions, by the id of the approval, which belongs to one caller and one exact call."""

    on_streams: dict[str, OpenQuestion] = field(default_factory=dict)
    sent: LimitedDict[str, float] = field(default_factory=lambda: LimitedDict(MOST_SENT))
    """When a question was last sent as the result of a call."""
    held: int = 0
    """Bytes of the arguments of the calls that wait on streams."""

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        self.held += size
        try:
            yield
        finally:
            self.held -= size

"""What has happened so far on the way of one request?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assent.core.call import Call
from assent.core.outcome import Ending
from assent.core.principal import Principal
from assent.core.tool import Tool


class StageNote(NamedTuple):
    """One stage's verdict and its reason."""

    stage: str
    verdict: str
    reason: str


@dataclass(slots=True)
class CallTrace:
    """The notes of one request: kept while the sentence is said, read by `record` at its end."""

    observing: bool = False
    principal: Principal | None = None
    tool: Tool | None = None
    call: Call | None = None
    started: bool = False
    handed_over: bool = False
    """Whether the rest runs on without its caller, and writes itself down."""
    rehearsed: bool = False
    """Whether its rehearsal is written down."""
    _notes: list[tuple[str, str, str, tuple[object, ...]]] = field(default_factory=list)
    would: list[str] = field(default_factory=list)
    """Codes of what was not asked or refused because the mode is `observe`."""

    @property
    def notes(self) -> list[StageNote]:
        """What was noted, put into words. Hardly any request is ever asked for them."""
        return [
            StageNote(stage, verdict, reason % parts if parts else reason)
            for stage, verdict, reason, parts in self._notes
        ]

    def passed(self, stage: str, reason: str, *parts: object) -> None:
        """A stage had no objection; `reason` is a pattern for `parts`, where there are any."""
        self._notes.append((stage, "pass", reason, parts))

    def stopped(self, stage: str, reason: str) -> None:
        self._notes.append((stage, "stop", reason, ()))

    def refuse_or_note(self, stage: str, ending: Ending) -> None:
        """Raise a pause or refusal; when only observing, write down that it would have been raised."""
        if not self.observing:
            raise ending
        code = getattr(ending, "code", stage)
        self.would.append(code)
        detail = getattr(ending, "detail", "") or "a person would be asked"
        self._notes.append((stage, "would stop", "%s: %s", (code, detail)))

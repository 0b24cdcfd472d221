"""How does the gateway tell an operator what happens, without telling what was in a call?

An exception's message may repeat what it choked on, so a log has its type and its place and never its words.
"""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
MOST_FRAMES = 30
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Plain(logging.Formatter):
    """One line, and the places an exception came through."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: _Raised) -> str:
        return "\n".join(places(ei[1]))


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = places(record.exc_info[1])
        return orjson.dumps(line, default=lambda value: type(value).__name__).decode()


def places(error: BaseException | None) -> list[str]:
    """The type of an exception and where it came from, and the same of what caused it."""
    found: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found.append(f"{type(error).__module__}.{type(error).__qualname__}")
        frames = traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]
        found += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def begin(form: str, level: str) -> None:
    """Log to standard error from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else Plain())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)

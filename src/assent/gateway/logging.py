"""Log formats and setup. Logs never contain the contents of a call.

The message of an exception may repeat its input, so a log has the exception's type and stack frames, not its message.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

from assent.errors import AssentError, FaultsError

logger = logging.getLogger(__name__)

_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
MOST_FRAMES = 30
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class PlainFormatter(logging.Formatter):
    """One line with its time in UTC, followed by the stack frames of an exception."""

    def __init__(self, form: str = "%(asctime)s %(levelname)s %(name)s: %(message)s") -> None:
        super().__init__(form)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return time_of(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.replace("\n", "\\n").replace("\r", "\\r")
        return super().formatMessage(record)

    def formatException(self, ei: _Raised) -> str:
        return "\n".join(stack_lines(ei[1]))


class JsonLinesFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = stack_lines(record.exc_info[1])
        return orjson.dumps(line, default=lambda value: type(value).__name__).decode()


def time_of(record: logging.LogRecord) -> str:
    """The time of a log record in UTC."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def stack_lines(error: BaseException | None) -> list[str]:
    """The type and stack frames of an exception and of its causes."""
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
    """Starts logging to standard error."""
    _start(JsonLinesFormatter() if form == "json" else PlainFormatter(), level)


def begin_brief(prefix: str) -> None:
    """Starts logging warnings to standard error, one line each, after a prefix."""
    _start(PlainFormatter(f"{prefix}: %(message)s"), "warning")


def _start(formatter: logging.Formatter, level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def log_uncaught() -> None:
    """Logs warnings and unhandled exceptions, which Python would print."""
    logging.captureWarnings(True)
    sys.excepthook = lambda _, error, __: _uncaught(error)
    sys.unraisablehook = lambda raised: _uncaught(raised.exc_value)
    threading.excepthook = lambda raised: _uncaught(raised.exc_value)


def _uncaught(error: BaseException | None) -> None:
    logger.critical("an exception was not handled", exc_info=error)


@contextmanager
def errors_as_json(form: str) -> Iterator[None]:
    """Logs configuration errors of the block as JSON lines and exits, if the log format is JSON."""
    try:
        yield
    except AssentError as error:
        if form != "json":
            raise
        for fault in error.faults if isinstance(error, FaultsError) else (error,):
            logger.error("%s", fault)
        sys.exit(2)

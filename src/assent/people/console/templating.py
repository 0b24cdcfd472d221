"""Jinja templates of the console, with the filters that every page uses."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from assent.core.question import visible

if TYPE_CHECKING:
    from assent.people.console.page import PageRequest

SOON = 5 * 60.0
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


@lru_cache(1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assent.people.console", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "time": as_time,
        "ago": as_ago,
        "until": as_until,
        "is_soon": is_soon,
        "visible": lambda value: visible(str(value)),
        "visible_lines": _visible_lines,
        "iso": as_iso,
        "pretty": as_pretty,
        "chart_top": chart_top,
        "chart_ticks": chart_ticks,
    }
    return environment


def render_template(name: str, page: PageRequest, values: dict[str, Any]) -> str:
    session = page.session
    return (
        _environment()
        .get_template(name)
        .render(
            page=page,
            session=session,
            csrf=session.csrf if session else "",
            menu=_menu(page),
            current=page.request.scope.get("console_path", ""),
            notice=_notice(page),
            **values,
        )
    )


def _menu(page: PageRequest) -> list[tuple[str, list[Any]]]:
    """The navigation, without what this person may not open. What the configuration does not use comes last."""
    groups = page.request.scope.get("console_menu", ()) if page.session is not None else ()
    allowed = [(group, [entry for entry in entries if page.may(entry.roles)]) for group, entries in groups]
    used = [(group, [entry for entry in entries if entry.is_used(page)]) for group, entries in allowed]
    return [*used, ("Not in use", [entry for _, entries in allowed for entry in entries if not entry.is_used(page)])]


def _notice(page: PageRequest) -> str:
    try:
        return bytes.fromhex(page.request.cookies.get("assent_notice", "")).decode()
    except ValueError:
        return ""


def as_pretty(value: Any) -> str:
    """JSON on several lines, with every invisible character written out."""
    return _visible_lines(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True))


def _visible_lines(value: Any) -> str:
    """A text of several lines, which stay lines, with every invisible character written out."""
    return "\n".join(visible(line) for line in str(value).split("\n"))


def as_iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def as_time(at: float | None) -> str:
    """A moment in UTC, to the second."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def as_duration(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"


def as_ago(at: float | None) -> str:
    return "" if at is None else f"{as_duration(max(0.0, time.time() - at))} ago"


def as_until(at: float) -> str:
    left = at - time.time()
    return f"in {as_duration(left)}" if left > 0 else "expired"


def is_soon(at: float) -> bool:
    """Whether little time is left, so that a page says so in red."""
    return at - time.time() < SOON


def chart_top(points: Sequence[tuple[str, int, int]]) -> int:
    """Where the axis of a chart ends: an even, round number that no column exceeds."""
    most = max((did + refused for _, did, refused in points), default=0)
    size = int(10 ** (len(str(most)) - 1))
    return max(2, min(size * step for step in (1, 2, 4, 6, 8, 10) if size * step >= most))


def chart_ticks(points: Sequence[tuple[str, int, int]]) -> list[str]:
    """The names under a chart: first, middle and last; of a few points all."""
    names = [name for name, _, _ in points]
    return names if len(names) <= 7 else [names[0], names[len(names) // 2], names[-1]]

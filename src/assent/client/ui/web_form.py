"""Renders a question as a web page and reads the answer from its form.

Text from the server is made visible and escaped. The page runs no script and loads nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from assent.client.question import Answer, Question, quoted_title
from assent.client.remembered_approvals import Anything, AtMost, Remember
from assent.core.question import argument_lines, argument_warnings, visible
from assent.web.style import styled

SPANS = ((900, "15 minutes"), (3_600, "an hour"), (86_400, "a day"), (604_800, "a week"))
_TEMPLATE = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(
    styled(files("assent.client.ui").joinpath("question.html").read_text("utf-8"))
)


class NotUnderstood(Exception):
    """The form contains an invalid choice; the person is asked again."""


def ask_page(question: Question, token: str, nonce: str, note: str = "") -> str:
    """Return the page with the question."""
    standing = question.standing
    return _TEMPLATE.render(
        question=question,
        title="May the agent do this?",
        note=note,
        nonce=nonce,
        token=token,
        headline=quoted_title(question.title) if standing else "The server asks",
        tool=visible(question.tool),
        server=visible(question.server),
        badge=f"{standing.tier.value}, {standing.risk.value} risk" if standing else "",
        why=visible(question.why),
        price=visible(question.price) if question.price else "",
        warnings=_warnings(question),
        sections=_sections(question),
        constraints=_constraints(question),
        spans=SPANS,
    )


def told_page(title: str, note: str, nonce: str) -> str:
    """Return a page with a message only."""
    return _TEMPLATE.render(question=None, title=title, note=note, nonce=nonce)


def read_answer(question: Question, form: Mapping[str, str]) -> Answer:
    """Return the person's answer; raise NotUnderstood for an invalid form."""
    match form.get("answer"):
        case "decline":
            return Answer("decline")
        case "accept":
            return Answer("accept", remember=_remember(question, form))
    raise NotUnderstood("Say yes or no with one of the buttons.")


def _warnings(question: Question) -> list[str]:
    found = argument_warnings(dict(question.arguments))
    return [*map(visible, question.warnings), *(warning[:1].upper() + warning[1:] for warning in found)]


def _sections(question: Question) -> list[tuple[str, list[str], bool]]:
    found = [
        ("Arguments, as sent", argument_lines(dict(question.arguments)) if question.arguments else ["(none)"], False)
    ]
    if question.estimate is not None:
        found.append(("Estimate, as the server reported it", argument_lines(question.estimate), True))
    if question.preview is not None:
        found.append(("Preview, as the server reported it", argument_lines(question.preview), True))
    if question.words is not None:
        said = [visible(line) for line in question.words.splitlines()] or ["(nothing)"]
        found.append(("The server's own words, not checked", said, True))
    return found


def _constraints(question: Question) -> list[dict[str, Any]]:
    """Return the arguments that can be constrained; none for a question of the server, which is never remembered."""
    if question.standing is None or question.words is not None:
        return []
    return [
        {"field": f"argument-{number}", "name": visible(name), "number": value if _is_number(value) else None}
        for number, (name, value) in enumerate(question.arguments.items())
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _remember(question: Question, form: Mapping[str, str]) -> Remember | None:
    seconds = form.get("seconds", "0")
    if seconds == "0" or not _constraints(question):
        return None
    if seconds not in {str(span) for span, _ in SPANS}:
        raise NotUnderstood("Choose one of the times offered.")
    held = {
        name: _constraint(value, form.get(f"argument-{number}", "same"), form.get(f"argument-{number}-most", ""))
        for number, (name, value) in enumerate(question.arguments.items())
    }
    try:
        return Remember(held, float(seconds))
    except ValueError:
        raise NotUnderstood("A tool name alone cannot be allowed. Fix the value of at least one argument.") from None


def _constraint(value: Any, kind: str, most: str) -> Any:
    match kind:
        case "same":
            return value
        case "any":
            return Anything()
        case "most" if _is_number(value):
            return AtMost(_limit(most, value))
    raise NotUnderstood("Choose one of the constraints offered.")


def _limit(said: str, value: float) -> float:
    try:
        limit = float(said)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit) or limit < value:
        raise NotUnderstood("The maximum must be a number that is at least the value of this call.")
    return limit

"""The activity feed: what happened, newest first, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from assent.audit.activity import ActivityFilter, ActivityLine, ActivityReader
from assent.audit.sentences import OBSERVED, OUTCOMES
from assent.contract.tiers import Tier
from assent.core.action_template import ActionTemplate, BadTemplate
from assent.core.catalogue import Catalogue
from assent.core.record_scope import record_scope_of
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import (
    LIMIT,
    MOST_INDEX,
    ApiRequest,
    Route,
    RouteParameter,
    Schema,
    choice,
    integer,
    text,
)

TIERS = tuple(tier.value for tier in Tier)
PATTERN = r"[!-~]{1,256}"
FEED_OUTCOMES = (*OUTCOMES, OBSERVED)
_TIME = re.compile(
    r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])"
    r"|(?P<year>19[7-9][0-9]|20[0-9]{2})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"
    r"(T(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(:(?P<second>[0-5][0-9]))?Z?)?"
)
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

LINE: Schema = {
    "type": "object",
    "description": "One thing that happened.",
    "required": ["index", "at", "text", "outcome", "who", "tool", "open_world", "would"],
    "properties": {
        "index": {"type": "integer", "description": "The place of its entry in the log."},
        "at": {"type": "number", "description": "Seconds since 1970."},
        "text": {
            "type": "string",
            "description": "What happened; of the arguments, those that the contract's activity names.",
        },
        "outcome": {"type": "string", "enum": list(OUTCOMES)},
        "who": {"type": ["string", "null"], "description": "Null where it is not known, or erased."},
        "tool": {"type": ["string", "null"]},
        "tier": {"type": ["string", "null"]},
        "risk": {"type": ["string", "null"]},
        "upstream": {"type": ["string", "null"]},
        "mode": {"type": ["string", "null"], "description": "live or test"},
        "code": {"type": ["string", "null"], "description": "Why it was refused, or failed."},
        "open_world": {"type": "boolean"},
        "would": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What would have refused the call, had it not only been observed.",
        },
        "claim": {"type": ["string", "null"]},
        "approval": {"type": ["string", "null"]},
    },
}


async def list_activity(asked: ApiRequest) -> dict[str, Any]:
    """One page of the feed. A page ends when it is full or enough entries were looked at."""
    scope = record_scope_of(asked.principal)
    if scope.principal is not None:
        raise ApiProblem("api.not_entitled", "The feed is for people, and for programs with the role operator.")
    query = asked.query
    wanted = ActivityFilter(
        **{name: query[name] for name in ("tool", "tier", "outcome", "principal", "upstream") if name in query},
        open_world=query.get("open_world") == "true",
        since=moment(query.get("since"), "since", asked.ports.now()),
        until=moment(query.get("until"), "until", asked.ports.now()),
        tenant=scope.tenant,
    )
    reader = ActivityReader(
        asked.ports.store, wanted, templates_of(asked.ports.catalogue()), int(query.get("limit", 100))
    )
    page = await reader.page(query.get("before"))
    return {"lines": [line_json(line) for line in page.lines], "next": page.next}


def line_json(line: ActivityLine) -> dict[str, Any]:
    facts = line.facts
    names = ("tool", "tier", "risk", "upstream", "mode", "code", "claim", "approval")
    return {
        "index": line.index,
        "at": line.at / 1000,
        "text": line.text,
        "outcome": line.outcome,
        "who": line.who,
        **{name: facts.get(name) for name in names},
        "open_world": bool(facts.get("open_world")),
        "would": list(line.would),
    }


def templates_of(catalogue: Catalogue) -> Mapping[str, ActionTemplate]:
    """The sentence of each contract that has one; parsed once for each tool."""
    found: dict[str, ActionTemplate] = {}
    for tool in catalogue.tools.values():
        if "feed_template" not in tool.derived:
            tool.derived["feed_template"] = _template(tool.contract.activity)
        if (template := tool.derived["feed_template"]) is not None:
            found[tool.name] = template
    return found


def _template(activity: str | None) -> ActionTemplate | None:
    try:
        return None if activity is None else ActionTemplate.parse(activity)
    except BadTemplate:
        return None


def moment(given: str | None, name: str, now: float) -> int | None:
    """Milliseconds since 1970 of a time such as 2026-01-31T12:00 (UTC), or of so long ago: 15m, 2h, 7d.

    A day that its month does not have counts on into the next one.
    """
    if given is None:
        return None
    found = _TIME.fullmatch(given)
    if found is None:
        detail = f"{name} must be a time: 2026-01-31, 2026-01-31T12:00, or 15m, 2h or 7d for so long ago."
        raise ApiProblem("api.malformed", detail)
    if found["number"]:
        return max(0, int((now - int(found["number"]) * _SECONDS[found["unit"]]) * 1000))
    year, month, day, hour, minute, second = (int(found[part] or 0) for part in _PARTS)
    first = datetime(year, month, 1, hour, minute, second, tzinfo=UTC)
    return int((first + timedelta(days=day - 1)).timestamp() * 1000)


def time_parameter(name: str, says: str) -> RouteParameter:
    """A parameter that is a time; its schema says exactly what is taken."""
    plain = re.sub(r"\?P<\w+>", "", _TIME.pattern)
    schema: Schema = {"type": "string", "pattern": f"^(?:{plain})$"}

    def read(given: str) -> str:
        moment(given, name, 0.0)
        return given

    says = f"{says}: 2026-01-31, 2026-01-31T12:00 (UTC), or how long ago: 15m, 2h, 7d."
    return RouteParameter(name, says, schema, read)


BEFORE = integer("before", "Only entries before this place: `next` of the page before.", 0, MOST_INDEX, 0)
FILTERS = (
    text("tool", "The tool; `*` stands for anything.", PATTERN),
    choice("tier", "What the tool does.", TIERS),
    choice("outcome", "What happened.", FEED_OUTCOMES),
    text("principal", "Who; `*` stands for anything.", r"[^\x00-\x1f]{1,256}"),
    text("upstream", "The server whose tool it is; `*` stands for anything.", PATTERN),
    choice("open_world", "Only calls that reach systems outside.", ("true", "false"), "false"),
    time_parameter("since", "From then on"),
    time_parameter("until", "Up to then"),
)

ROUTES = (
    Route(
        "GET",
        "/api/feed",
        "list_activity",
        "Read the activity feed, newest first.",
        "operators: all; people: their tenant's",
        list_activity,
        {
            "type": "object",
            "required": ["lines", "next"],
            "properties": {
                "lines": {"type": "array", "items": {"$ref": "#/components/schemas/ActivityLine"}},
                "next": {
                    "type": ["integer", "null"],
                    "description": "What `before` is for the next page; null when the log was read to its beginning.",
                },
            },
        },
        (*FILTERS, BEFORE, LIMIT),
        refusals=("api.not_entitled",),
    ),
)

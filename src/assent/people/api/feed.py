"""The activity feed: what happened, newest first, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, WithJsonSchema
from typing_extensions import TypedDict

from assent.audit.activity import ActivityFilter, ActivityLine, ActivityPage, ActivityReader
from assent.audit.sentences import OBSERVED, OUTCOMES
from assent.contract.tiers import Tier
from assent.core.action_template import ActionTemplate, BadTemplate
from assent.core.catalogue import Catalogue
from assent.core.record_scope import record_scope_of
from assent.people.api.fields import MOST_INDEX, Limit, OneOf, WholeNumber, closed
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem

TIERS = tuple(tier.value for tier in Tier)
FEED_OUTCOMES = (*OUTCOMES, OBSERVED)
_TIME = re.compile(
    r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])"
    r"|(?P<year>19[7-9][0-9]|20[0-9]{2})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"
    r"(T(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(:(?P<second>[0-5][0-9]))?Z?)?"
)
_PLAIN_TIME = re.sub(r"\?P<\w+>", "", _TIME.pattern)
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _check_moment(given: str) -> str:
    if _TIME.fullmatch(given) is None:
        raise ValueError("must be a time: 2026-01-31, 2026-01-31T12:00, or 15m, 2h or 7d for so long ago.")
    return given


Pattern = Annotated[str, StringConstraints(pattern="^[!-~]{1,256}$")]
Person = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]{1,256}$")]
Moment = Annotated[
    str, AfterValidator(_check_moment), WithJsonSchema({"type": "string", "pattern": f"^(?:{_PLAIN_TIME})$"})
]
_FORMS = "2026-01-31, 2026-01-31T12:00 (UTC), or how long ago: 15m, 2h, 7d."
Before = Annotated[int, WholeNumber(0, MOST_INDEX, 0), "Only entries before this place: `next` of the page before."]


@closed
class FeedFilter(TypedDict, total=False):
    tool: Annotated[Pattern, "The tool; `*` matches any text."]
    tier: Annotated[str, OneOf(TIERS), "What the tool does."]
    outcome: Annotated[str, OneOf(FEED_OUTCOMES), "What happened."]
    principal: Annotated[Person, "Who; `*` matches any text."]
    upstream: Annotated[Pattern, "The server whose tool it is; `*` matches any text."]
    open_world: Annotated[str, OneOf(("true", "false"), "false"), "Only calls that reach systems outside."]
    since: Annotated[Moment, f"From then on: {_FORMS}"]
    until: Annotated[Moment, f"Up to then: {_FORMS}"]
    before: Before
    limit: Limit


@get("/api/feed", "Feed", FeedFilter, who="operators: all; people: their tenant's", refusals=("api.not_entitled",))
async def list_activity(request: ApiRequest) -> dict[str, Any]:
    """Read the activity feed, newest first."""
    query = request.query
    wanted = ActivityFilter(
        **{name: query[name] for name in ("tool", "tier", "outcome", "principal", "upstream") if name in query},
        open_world=query.get("open_world") == "true",
        since=moment(query.get("since"), request.ports.now()),
        until=moment(query.get("until"), request.ports.now()),
    )
    page = await lines_of(request, wanted, int(query.get("limit", 100)), query.get("before"))
    return {"lines": [line_json(line) for line in page.lines], "next": page.next}


async def lines_of(request: ApiRequest, wanted: ActivityFilter, limit: int, before: int | None = None) -> ActivityPage:
    """Lines that this principal may see. However long the log is, a bounded part of it is read."""
    scope = record_scope_of(request.principal)
    if scope.principal is not None:
        raise ApiProblem("api.not_entitled", "The feed is for people, and for programs with the role operator.")
    wanted = wanted if scope.tenant is None else replace(wanted, tenant=scope.tenant)
    reader = ActivityReader(request.ports.store, wanted, templates_of(request.ports.catalogue()), limit)
    return await reader.page(before)


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


def moment(given: str | None, now: float) -> int | None:
    """Milliseconds since 1970 of a time such as 2026-01-31T12:00 (UTC), or of so long ago: 15m, 2h, 7d.

    A day that its month does not have counts on into the next one.
    """
    if given is None:
        return None
    found = _TIME.fullmatch(_check_moment(given))
    assert found is not None
    if found["number"]:
        return max(0, int((now - int(found["number"]) * _SECONDS[found["unit"]]) * 1000))
    year, month, day, hour, minute, second = (int(found[part] or 0) for part in _PARTS)
    first = datetime(year, month, 1, hour, minute, second, tzinfo=UTC)
    return int((first + timedelta(days=day - 1)).timestamp() * 1000)

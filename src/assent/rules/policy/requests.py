"""Concrete requests at the boundaries of policies, for comparing two sets of policies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from assent.core.call import Call
from assent.core.principal import KINDS, Principal
from assent.core.tool import Tool
from assent.rules.policy.argument_types import CedarType, argument_types
from assent.rules.policy.literals import ABSENT, OTHER, Place

Assignment = dict[Place, Any]
"""A value for each dimension; the first value of a dimension is its ordinary one."""
_NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)
_TIME = ("context", "time")
_ORDINARY: dict[str, Any] = {"String": "", "Long": 0, "Bool": False, "decimal": 0}


def dimensions(values: Mapping[Place, list[Any]], tool: Tool | None) -> dict[Place, list[Any]]:
    """What varies between requests, each with its values, the ordinary one first."""
    found: dict[Place, list[Any]] = {("kind",): list(KINDS), ("mode",): ["live", "test"], ("role",): [ABSENT]}
    found["role",] += [one for one in values.get(("principal", "roles"), ()) if one != ABSENT] or ["approver"]
    times: dict[Place, list[Any]] = {}
    for place, literals in values.items():
        if place[:2] == _TIME:
            times[place] = literals
        elif place[0] == "resource" or place in (("principal", "roles"), ("context", "mode"), ("action",)):
            continue
        elif place[:2] == ("context", "input"):
            found |= _argument(place, literals, tool)
        else:
            found[place] = [ABSENT, *(one for one in literals if one != ABSENT)]
    if times:
        found[_TIME] = list(dict.fromkeys([_NOON, *_moments(times)]))
    return found


def _argument(place: Place, literals: list[Any], tool: Tool | None) -> dict[Place, list[Any]]:
    kind: CedarType | None = argument_types(tool.definition.get("inputSchema")) if tool is not None else None
    required = True
    for name in place[2:]:
        member = kind.members.get(name) if kind is not None else None
        if member is None:
            return {}
        kind, required = member.type, required and member.required
    assert kind is not None
    ordinary = [] if kind.item is not None else _ORDINARY.get(kind.name, {})
    base = [ordinary] if required else [ABSENT, ordinary]
    chosen = [[one] if kind.item is not None else _as_json(one) for one in literals if one != ABSENT]
    if kind.name == "String":
        chosen.append(OTHER)
    return {place: [*base, *(one for one in chosen if one not in base)]}


def _as_json(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _moments(times: Mapping[Place, list[Any]]) -> Iterator[datetime]:
    """Moments for every combination of the hours, weekdays and dates that policies name."""
    days = [_NOON]
    for value in times.get((*_TIME, "weekday"), ()):
        days.append(_NOON + timedelta(days=(int(value) - _NOON.isoweekday()) % 7))
    for value in times.get((*_TIME, "date"), ()):
        days.append(datetime.fromisoformat(f"{value}T12:00:00+00:00"))
    hours = [12, *(int(value) % 24 for value in times.get((*_TIME, "hour"), ()))]
    yield from (day.replace(hour=hour) for day in days for hour in hours)
    for value in times.get((*_TIME, "now"), ()):
        if isinstance(value, datetime):
            yield from (value, value - timedelta(seconds=1), value + timedelta(seconds=1))


def assignments(found: Mapping[Place, Sequence[Any]], most: int) -> Iterator[Assignment]:
    """All combinations, if they are few; otherwise those that differ from the ordinary request in one to three
    dimensions, up to `most`.
    """
    places, count = list(found), 1
    for values in found.values():
        count *= len(values)
    if count <= most:
        yield from (dict(zip(places, values, strict=True)) for values in itertools.product(*found.values()))
        return
    base = {place: values[0] for place, values in found.items()}
    yield from itertools.islice(_varied(base, found), most)


def _varied(base: Assignment, found: Mapping[Place, Sequence[Any]]) -> Iterator[Assignment]:
    yield base
    for depth in (1, 2, 3):
        for chosen in itertools.combinations(found, depth):
            for values in itertools.product(*(found[place][1:] for place in chosen)):
                yield {**base, **dict(zip(chosen, values, strict=True))}


def used_percent_of(assignment: Assignment) -> int:
    used = assignment.get(("context", "budget", "used_percent"), ABSENT)
    return 0 if used == ABSENT else int(used)


def moment_of(assignment: Assignment) -> float:
    at: datetime = assignment.get(_TIME, _NOON)
    return at.timestamp()


def principal_of(assignment: Assignment) -> Principal:
    """The caller of a request."""

    def value(*place: str, default: Any) -> Any:
        found = assignment.get(place, ABSENT)
        return default if found == ABSENT else found

    def words(*place: str) -> frozenset[str]:
        found = value(*place, default=None)
        return frozenset() if found is None else frozenset({str(found)})

    agent = Principal("agent", "agent")
    age = value("context", "authentication", "age", default=None)
    claims = {place[2]: words(*place) for place in assignment if place[:2] == ("principal", "claims")}
    return Principal(
        id=str(value("principal", "id", default="caller")),
        kind=assignment["kind",],
        tenant=str(value("principal", "tenant", default=value("context", "tenant", default="local"))),
        scopes=words("principal", "scopes"),
        roles=words("role"),
        groups=words("principal", "groups"),
        acr=value("context", "authentication", "acr", default=None),
        auth_time=None if age is None else moment_of(assignment) - int(age),
        mode=assignment["mode",],
        actors=(agent,) if value("principal", "has_agent", default=False) and assignment["kind",] != "agent" else (),
        claims=tuple(sorted((name, values) for name, values in claims.items() if values)),
        method=str(value("context", "authentication", "method", default="")),
    )


def call_of(assignment: Assignment, tool: Tool) -> Call:
    """The call of a request: the arguments that vary, and ordinary values for others that are required."""
    arguments = _required(argument_types(tool.definition.get("inputSchema")))
    for place, value in assignment.items():
        if place[:2] == ("context", "input"):
            _put(arguments, place[2:], value)
    dry_run = assignment.get(("context", "dry_run"), ABSENT) is True
    return Call(principal_of(assignment), tool, arguments, b"{}", "", "", dry_run=dry_run)


def _required(kind: CedarType) -> dict[str, Any]:
    return {name: _ordinary(member.type) for name, member in kind.members.items() if member.required}


def _ordinary(kind: CedarType) -> Any:
    if kind.item is not None:
        return []
    return _required(kind) if kind.members else _ORDINARY[kind.name]


def _put(arguments: dict[str, Any], path: Place, value: Any) -> None:
    for name in path[:-1]:
        below = arguments.setdefault(name, {})
        if not isinstance(below, dict):
            return
        arguments = below
    if value == ABSENT:
        arguments.pop(path[-1], None)
    else:
        arguments[path[-1]] = value

"""Concrete requests at the boundaries of policies, for comparing two sets of policies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from cedarpy import pst

from assent.core.call import Call
from assent.core.principal import KINDS, Principal
from assent.core.tool import Tool
from assent.rules.policy.argument_types import CedarType, argument_types
from assent.rules.policy.references import children

Place = tuple[str, ...]
"""What a literal is compared with: the variable and the attributes, such as ("context", "input", "amount")."""
ABSENT = "(absent)"
OTHER = "other"
_COMPARED = frozenset({"eq", "not_eq", "less", "less_eq", "greater", "greater_eq", "contains", "contains_all"})
_DECIMALS = frozenset({"decimal_less_than", "decimal_less_eq", "decimal_greater", "decimal_greater_eq"})
_JOINTS = frozenset({"and", "or", "not"})
_STEP = Decimal("0.0001")


def boundary_values(nodes: Iterable[pst.Template]) -> dict[Place, list[Any]]:
    """For everything that policies compare: the values around each literal, in the order of their appearance."""
    found: dict[Place, list[Any]] = {}
    for node in nodes:
        for place, value in _of_policy(node):
            values = found.setdefault(place, [])
            if value not in values or type(value) is not type(values[values.index(value)]):
                values.append(value)
    return found


def _of_policy(node: pst.Template) -> Iterator[tuple[Place, Any]]:
    yield from _of_scope("principal", node.principal)
    yield from _of_scope("resource", node.resource)
    for clause in node.clauses:
        yield from _of(clause.expr)


def _of_scope(variable: str, scope: Any) -> Iterator[tuple[Place, Any]]:
    entity = getattr(scope, "entity", None)
    if isinstance(entity, pst.EntityUid):
        yield from _of_entity((variable,), entity)


def _of_entity(place: Place, entity: pst.EntityUid) -> Iterator[tuple[Place, Any]]:
    """A group or role that somebody is in, or the identity of somebody or something."""
    member = {"Group": "groups", "Role": "roles"}.get(entity.type.basename)
    yield (*place, member or "id"), entity.id


def _of(expression: Any) -> Iterator[tuple[Place, Any]]:
    if isinstance(expression, pst.BinaryOp):
        yield from _of_comparison(expression)
    elif isinstance(expression, pst.Like) and (place := place_of(expression.base)):
        yield from ((place, value) for value in _examples(expression.pattern))
    elif isinstance(expression, pst.HasAttr) and (place := place_of(expression.base)):
        yield (*place, *expression.attrs), ABSENT
    elif (place := place_of(expression)) and len(place) > 1:
        yield from ((place, value) for value in (True, False))  # A member that stands alone is true or false.
        return
    for child in children(expression):
        if place_of(child) is None or getattr(expression, "op", None) in _JOINTS:
            yield from _of(child)


def _of_comparison(expression: pst.BinaryOp) -> Iterator[tuple[Place, Any]]:
    for one, other in ((expression.left, expression.right), (expression.right, expression.left)):
        place = place_of(one)
        if place is None:
            continue
        if isinstance(other, pst.EntityLit):
            yield from _of_entity(place, other.value)
        elif expression.op in _COMPARED | _DECIMALS | {"contains_any"}:
            yield from ((place, value) for literal in _literals(other) for value in _around(literal))


def place_of(expression: Any) -> Place | None:
    """What an expression reads, if it is a variable, a member of one, or a claim."""
    if isinstance(expression, pst.Var):
        return (expression.name,)
    if isinstance(expression, pst.GetAttr):
        base = place_of(expression.base)
        return None if base is None else (*base, expression.attr)
    if isinstance(expression, pst.BinaryOp) and expression.op in ("get_tag", "has_tag"):
        base = place_of(expression.left)
        if base is not None and isinstance(expression.right, pst.StringLit):
            return (*base, "claims", expression.right.value)
    return None


def _literals(expression: Any) -> Iterator[Any]:
    if isinstance(expression, pst.Set):
        for element in expression.elements:
            yield from _literals(element)
    elif isinstance(expression, pst.BoolLit | pst.LongLit | pst.StringLit):
        yield expression.value
    elif isinstance(expression, pst.EntityLit):
        yield expression.value.id
    elif isinstance(expression, pst.UnaryOp) and isinstance(expression.arg, pst.StringLit):
        if expression.op == "decimal":
            yield Decimal(expression.arg.value)
        elif expression.op == "datetime":
            yield _moment(expression.arg.value)


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _around(value: Any) -> list[Any]:
    """A literal with its neighbours."""
    if isinstance(value, bool):
        return [value, not value]
    if isinstance(value, int):
        return [value, value - 1, value + 1]
    if isinstance(value, Decimal):
        return [value, value - _STEP, value + _STEP]
    return [value]


def _examples(pattern: tuple[Any, ...]) -> list[str]:
    """Texts that match a `like` pattern: each wildcard empty, and each wildcard a letter."""
    return list(dict.fromkeys("".join(getattr(one, "value", wild) for one in pattern) for wild in ("", "x")))


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
    yield from itertools.islice(_variants(base, found), most)


def _variants(base: Assignment, found: Mapping[Place, Sequence[Any]]) -> Iterator[Assignment]:
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

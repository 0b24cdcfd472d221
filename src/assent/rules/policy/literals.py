"""The values at which policies change their mind: every literal in a condition, with its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from cedarpy import pst

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

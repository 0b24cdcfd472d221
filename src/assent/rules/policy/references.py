"""Finds what the conditions of a policy read, so that a policy is evaluated only where and when it can decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from cedarpy import pst

Path = tuple[str, ...]
KNOWN_BEFORE_THE_CALL = frozenset(
    {("tenant",), ("mode",), ("authentication", "method"), ("authentication", "acr")},
)
"""What a policy may read of the context and still decide what is listed: it follows from the principal."""


@dataclass(frozen=True, slots=True)
class ConditionReferences:
    """The variables that a policy's conditions use, and the paths that they read of `context`."""

    variables: frozenset[str]
    context: frozenset[Path]

    @property
    def needs_call(self) -> bool:
        """Whether it can be decided only about a call: it reads arguments, the time or the age of a sign-in."""
        return any(path not in KNOWN_BEFORE_THE_CALL for path in self.context)

    @property
    def reads_input(self) -> bool:
        return any(path[:1] in ((), ("input",)) for path in self.context)

    def arguments(self) -> frozenset[str] | None:
        """The arguments that are read; None if all of them are compared at once."""
        if any(path in ((), ("input",)) for path in self.context):
            return None
        return frozenset(path[1] for path in self.context if path[0] == "input")


def references_of(node: pst.Template) -> ConditionReferences:
    variables: set[str] = set()
    paths: set[Path] = set()
    for clause in node.clauses:
        _collect(clause.expr, variables, paths)
    return ConditionReferences(frozenset(variables), frozenset(paths))


def scope_type(scope: Any) -> pst.EntityType | None:
    """The entity type that a scope demands, if it demands one."""
    found: pst.EntityType | None = getattr(scope, "entity_type", None)
    if found is None and isinstance(scope, pst.ScopeEq):
        found = getattr(scope.entity, "type", None)
    return found


def variables_in(expression: pst.Expr) -> frozenset[str]:
    variables: set[str] = set()
    _collect(expression, variables, set())
    return frozenset(variables)


def _collect(expression: Any, variables: set[str], paths: set[Path]) -> None:
    path = context_path(expression)
    if path is not None:
        variables.add("context")
        paths.update(path)
        return
    if isinstance(expression, pst.Var):
        variables.add(expression.name)
    for child in children(expression):
        _collect(child, variables, paths)


def context_path(expression: Any) -> set[Path] | None:
    """What an expression reads of the context, if it is `context`, a member of it, or a `has` of one."""
    if isinstance(expression, pst.HasAttr):
        base = _member(expression.base)
        return None if base is None else {(*base, *expression.attrs)}
    member = _member(expression)
    return None if member is None else {member}


def _member(expression: Any) -> Path | None:
    names: list[str] = []
    while isinstance(expression, pst.GetAttr):
        names.append(expression.attr)
        expression = expression.base
    if not isinstance(expression, pst.Var) or expression.name != "context":
        return None
    return tuple(reversed(names))


def children(node: Any) -> Iterator[Any]:
    """The expressions directly below one."""
    for field in fields(node) if is_dataclass(node) else ():
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            yield from (one for one in value if is_dataclass(one))
        elif isinstance(value, dict):
            yield from value.values()
        elif is_dataclass(value):
            yield value


def conditions(node: pst.Template) -> Iterator[pst.Expr]:
    """Expressions that must all hold for a policy to match: the parts of `when`, and the negated ones of `unless`."""
    for clause in node.clauses:
        joint = "and" if isinstance(clause, pst.When) else "or"
        for part in _parts(clause.expr, joint):
            yield part if joint == "and" else pst.UnaryOp("not", part)


def _parts(expression: pst.Expr, joint: str) -> Iterator[pst.Expr]:
    if isinstance(expression, pst.BinaryOp) and expression.op == joint:
        yield from _parts(expression.left, joint)
        yield from _parts(expression.right, joint)
    else:
        yield expression

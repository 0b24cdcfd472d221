"""Conditions on the arguments of a call.

The language is a small part of Python's: argument names, dots, literals, comparisons, `in`, `and`, `or`, `not`,
`len(...)` and `+ - * /` on numbers. A condition that cannot be evaluated (a missing argument, a wrong type) counts
as true: it decides whether *more* is required of the caller, so doubt requires it. The cost is bounded: the source
is short, and arithmetic on texts or lists, which could grow without end, is an error.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

Evaluate = Callable[[Mapping[str, Any]], Any]

MOST_SOURCE = 500

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIZES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_WORDS = {"true": True, "false": False, "null": None}


class Condition:
    """A compiled expression on arguments."""

    __slots__ = ("_evaluate", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        if len(source) > MOST_SOURCE:
            raise ValueError(f"a condition has at most {MOST_SOURCE} characters")
        try:
            self._evaluate = _compile(_parse(source.strip()))
        except (RecursionError, MemoryError):
            raise ValueError(f"{source[:60]!r} is nested too deeply") from None

    @property
    def names(self) -> frozenset[str]:
        """The arguments that it reads."""
        nodes = list(ast.walk(_parse(self.source.strip())))
        functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in functions)

    @property
    def sized(self) -> frozenset[str]:
        """The arguments that it compares in size with a number."""
        compared = [node for node in ast.walk(_parse(self.source.strip())) if isinstance(node, ast.Compare)]
        pairs = [
            (left, right)
            for node in compared
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
            if isinstance(op, _SIZES)
        ]
        both = [*pairs, *((right, left) for left, right in pairs)]
        return frozenset(one.id for one, other in both if isinstance(one, ast.Name) and _is_number(other))

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        try:
            return bool(self._evaluate(arguments))
        except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
            return True


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _parse(source: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Code that Python only warns about is not an expression here.
            return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, Warning):
        raise ValueError(f"{source[:60]!r} is not an expression") from None


def _compile(node: ast.expr) -> Evaluate:
    match node:
        case ast.Constant(value=value) if isinstance(value, str | int | float | bool) or value is None:
            return lambda _: value
        case ast.Name(id=name):
            return (lambda _: _WORDS[name]) if name in _WORDS else (lambda arguments: arguments[name])
        case ast.Attribute(value=inner, attr=attr):
            outer = _compile(inner)
            return lambda arguments: outer(arguments)[attr]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            parts = [_compile(item) for item in items]
            return lambda arguments: [part(arguments) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            negated = _compile(operand)
            return lambda arguments: not negated(arguments)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            positive = _compile(operand)
            return lambda arguments: -_number(positive(arguments))
        case ast.BoolOp(op=op, values=values):
            terms = [_compile(value) for value in values]
            join = all if isinstance(op, ast.And) else any
            return lambda arguments: join(term(arguments) for term in terms)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _binary(_ARITHMETIC[type(op)], _compile(left), _compile(right))
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
            return _chain(
                _compile(left),
                [(_COMPARE[type(o)], _compile(c)) for o, c in zip(ops, comparators, strict=True)],
            )
        case ast.Call(func=ast.Name(id="len"), args=[argument], keywords=[]):
            measured = _compile(argument)
            return lambda arguments: len(measured(arguments))
    raise ValueError(f"{ast.unparse(node)[:60]!r} is not allowed in a condition")


def _binary(apply: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda arguments: apply(_number(left(arguments)), _number(right(arguments)))


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise TypeError("arithmetic is for numbers")


def _chain(first: Evaluate, rest: list[tuple[Callable[[Any, Any], Any], Evaluate]]) -> Evaluate:
    def evaluate(arguments: Mapping[str, Any]) -> bool:
        here = first(arguments)
        for compare, part in rest:
            following = part(arguments)
            if not compare(here, following):
                return False
            here = following
        return True

    return evaluate

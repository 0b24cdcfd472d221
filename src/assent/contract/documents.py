"""Plain JSON documents, and JSON Schema validators whose checks are bounded."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Protocol

import jsonschema_rs
import orjson

from assent.contract.digest import NotCanonicalError, canonical
from assent.contract.patterns import LINEAR, MOST_SECONDS, PatternTimeBudget, pattern_keyword
from assent.contract.pointers import pointer_to
from assent.contract.schema_cost import SchemaCost, cost_of, size_of
from assent.errors import ContractError, Fault


class Validate(Protocol):
    """Returns the errors of a value with their places. `text` is short JSON that has the value in it, if known."""

    def __call__(self, value: Any, text: bytes | None = None, /) -> list[tuple[str, str]]: ...


def plain_copy(value: Any) -> dict[str, Any]:
    """Return a private copy of a JSON object; ValueError says what in it is not plain JSON."""
    if not isinstance(value, Mapping):
        raise ValueError(f"an object is expected, not {repr(value)[:40]}")
    try:
        canonical(value)
    except NotCanonicalError as error:
        raise ValueError(f"it is not plain JSON: {error}") from None
    copied: dict[str, Any] = _copy(value)
    return copied


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list | tuple) else value


MOST_CHECKS_IN_ALL = 5_000_000
"""The maximum number of checks for a whole value; one check takes 10 to 50 nanoseconds."""
_MOST_CHECKS_WITH_ERRORS = 20_000
_MOST_ERRORS = 20
_UNLOCATED = "it does not match its schema; it has too many values to say where"
_TOO_LARGE = "it has too many values to be checked against its schema; send fewer at once"


SHORT = 2_000
"""The length of a short JSON text: it has fewer values than characters, whatever they are."""


class SchemaValidator:
    """A JSON Schema whose checks are bounded in time and memory for any schema and value.

    It is compiled when it is made, so that faults are found, and again at its first use: most tools of a large
    catalogue are never called, and a compiled schema takes about as much memory as the rest of a tool.
    """

    def __init__(self, schema: Any) -> None:
        self._cost: SchemaCost = cost_of(schema)
        short = SHORT * (self._cost.checks[-1] + self._cost.per_name_character)
        self._short_levels = self._cost.deepest if short <= MOST_CHECKS_IN_ALL else 0
        """How many levels a short value may have so that it need not be measured."""
        self._schema, self._budget = schema, PatternTimeBudget()
        self._compiled: Any = None
        self._compile()

    def _compile(self) -> Any:
        return _compile(self._schema, pattern_keyword(self._budget))

    @property
    def _validator(self) -> Any:
        if self._compiled is None:
            self._compiled = self._compile()
        return self._compiled

    def is_valid(self, value: Any) -> bool:
        """Whether a value matches; one that is too large to be checked does not."""
        return self.accepts_short(value) or (self.measure(value)[1] is None and self.fits(value))

    def accepts_short(self, value: Any, text: bytes | None = None) -> bool:
        """Whether a value matches and is so short that its checks are surely within the bounds.

        It surely has fewer levels than brackets are in its text, or in a longer one that has it in it.
        """
        text = short_json(value) if text is None else text
        if text is None or text.count(b"{") + text.count(b"[") >= self._short_levels:
            return False
        return self.fits(value)

    def measure(self, value: Any, most: int = MOST_CHECKS_IN_ALL) -> tuple[int, str | None]:
        """The maximum number of checks that a value can need, and the reason if that exceeds the limit, or None."""
        size = size_of(value, most)
        if size is None:
            return most, _TOO_LARGE
        if len(size.levels) > self._cost.deepest:
            return most, f"it is nested more than {self._cost.deepest} deep, which is too deep for its schema"
        checks = self._cost.of(size)
        return checks, _TOO_LARGE if checks > MOST_CHECKS_IN_ALL else None

    def fits(self, value: Any) -> bool:
        """Whether a measured value matches."""
        self._budget.left = MOST_SECONDS
        fits: bool = (self._compiled or self._validator).is_valid(value)
        return fits

    def first_errors(self, value: Any, checks: int, most: int) -> list[Any]:
        """The first errors of a value that does not match; for a large value only the first, or none.

        The library collects all errors before it returns the first. An error of `anyOf` contains those of its
        branches.
        """
        self._budget.left = MOST_SECONDS
        if checks <= _MOST_CHECKS_WITH_ERRORS:
            return list(islice(self._validator.iter_errors(value), most))
        if self._cost.branches:
            return []
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


def schema_validator(schema: Any) -> SchemaValidator:
    """A validator for a JSON Schema (2020-12 unless it names another draft); ValueError says why the schema is not
    usable.

    References resolve only inside the document: nothing is fetched. A schema without a bound on its checks, because
    of doubling references or exploding patterns, is refused.
    """
    return SchemaValidator(schema)


def _compile(schema: Any, pattern: Any) -> Any:
    outside: list[str] = []

    def refuse(uri: str) -> Any:
        outside.append(uri)
        raise ValueError(uri)

    try:
        return jsonschema_rs.validator_for(
            schema, retriever=refuse, keywords={"pattern": pattern}, pattern_options=LINEAR
        )
    except (ValueError, TypeError, RecursionError) as error:
        if outside:
            raise ValueError(
                f"it refers to {outside[0][:100]}, which is outside the document; references are not fetched"
            ) from None
        raise ValueError(f"it is not a JSON Schema: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    path = getattr(error, "instance_path", None)
    return f"{reason} at /{'/'.join(map(str, path))}" if path else reason


def is_large(value: Any) -> bool:
    """Whether checking a value may take so long that others would wait."""
    if short_json(value) is not None:
        return False
    size = size_of(value, 2_000)
    return size is None or size.names + size.texts > 20_000


def short_json(value: Any) -> bytes | None:
    """The value as JSON if that is short, which nearly every value is.

    Writing it is several times faster than counting its parts.
    """
    try:
        text = orjson.dumps(value)
    except TypeError:  # Not plain JSON, or an unsafe integer.
        return None
    return text if len(text) <= SHORT else None


def checker(name: str, which: str, schema: Any, most: int = MOST_CHECKS_IN_ALL) -> Validate:
    """A function that returns the errors of a value with their places. Raises ContractError for an invalid schema."""
    try:
        validator = schema_validator(schema)
    except ValueError as error:
        raise ContractError(Fault(str(error), "Correct the schema", f"{name}.{which}")) from None
    accepts_short, measure = validator.accepts_short, validator.measure
    fits, first_errors = validator.fits, validator.first_errors

    def check(instance: Any, text: bytes | None = None, /) -> list[tuple[str, str]]:
        if accepts_short(instance, text):
            return []
        checks, too_large = measure(instance, most)
        if too_large is not None:
            return [("", too_large)]
        if fits(instance):
            return []
        found = first_errors(instance, checks, _MOST_ERRORS)
        return [(pointer_to(error.instance_path), sentence(error)) for error in found] or [("", _UNLOCATED)]

    return check


def sentence(error: Any) -> str:
    """Describe an error with the schema's words only, because the rejected values belong to the caller."""
    kind = error.kind
    match kind.name:
        case "required":
            return f"{kind.property!r} is required"
        case "additionalProperties" | "unevaluatedProperties":
            return "there are unknown fields: " + ", ".join(repr(name)[:80] for name in kind.unexpected[:10])
        case "type":
            return f"it must be of type {_types(kind.types)}"
        case "enum":
            return f"it must be one of {_show_options(kind.options)}"
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Custom):
        return str(kind.message)
    limit = getattr(kind, "limit", None)
    return f"it does not match `{kind.name}`" + (f" of {limit}" if limit is not None else "")


def _show_options(options: Any) -> str:
    text = ", ".join(map(repr, options)) if isinstance(options, list | tuple) else str(options)
    return text if len(text) <= 300 else text[:297] + "..."


def _types(types: Any) -> str:
    return " or ".join(map(str, types)) if isinstance(types, list | tuple | set | frozenset) else str(types)

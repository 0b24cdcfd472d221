"""Cedar types of arguments, from the JSON Schema of a tool, and the conversion of values to them.

| JSON Schema | Cedar |
|---|---|
| `string`, or an enum of texts | `String` |
| `integer` | `Long` |
| `number`, or a text with `format: decimal` | `decimal`: at most four decimals |
| `boolean` | `Bool` |
| `array` of one of these | `Set`: order and repetitions are lost |
| `object` with `properties` | a record of those that have a type here |
| optional, or may be null | optional: null counts as absent |

Anything else (free-form objects, unions of several types, untyped values) has no type. Policies cannot read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from assent.contract.pointers import local_target

MOST_DEPTH = 8
MOST_MEMBERS = 1_000
_DECIMAL_TEXT = re.compile(r"[+-]?\d{1,15}(\.\d{1,4}0*)?")
_LARGEST = Decimal("922337203685477.5807")
_RESERVED = frozenset({"__entity", "__extn", "__expr"})
"""Names with a meaning in Cedar's JSON: an argument of such a name could pose as another kind of value."""


class NotConvertible(ValueError):
    """A value that its Cedar type cannot express exactly."""


@dataclass(frozen=True, slots=True)
class CedarType:
    """A type in Cedar's schema syntax, with the conversion of a JSON value to Cedar's JSON."""

    name: str
    convert: Callable[[Any], Any]
    members: Mapping[str, ArgumentMember] = field(default_factory=dict)
    item: CedarType | None = None


@dataclass(frozen=True, slots=True)
class ArgumentMember:
    """A member of a record."""

    type: CedarType
    required: bool


def argument_types(schema: Any) -> CedarType:
    """The record type of a tool's arguments."""
    return _record(schema if isinstance(schema, Mapping) else {}, _Document(schema), 0)


def convert_members(members: Mapping[str, ArgumentMember], values: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a record as Cedar reads them; raises NotConvertible with the path of the member at fault."""
    converted: dict[str, Any] = {}
    for name, member in members.items():
        value = values.get(name)
        if value is None:
            if member.required:
                raise NotConvertible(f"{name} is missing")
            continue
        try:
            converted[name] = member.type.convert(value)
        except NotConvertible as error:
            raise NotConvertible(f"{name} {error}") from None
    return converted


class _Document:
    """A schema in which references point to other parts of it."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def resolved(self, schema: Any, depth: int = 0) -> Mapping[str, Any]:
        """A schema without `$ref`, with the parts of a single `allOf`, and without its null alternative."""
        while isinstance(schema, Mapping) and depth < MOST_DEPTH:
            depth += 1
            if isinstance(schema.get("$ref"), str):
                schema = local_target(schema["$ref"], self._root)
            elif isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1 and "properties" not in schema:
                schema = schema["allOf"][0]
            elif (one := _only_alternative(schema)) is not None:
                schema = one
            else:
                return schema
        return {}


def _only_alternative(schema: Mapping[str, Any]) -> Any:
    """The alternative beside null, or the number of a number that may be written as a decimal text."""
    for joint in ("anyOf", "oneOf"):
        if isinstance(schema.get(joint), list):
            others = [one for one in schema[joint] if not (isinstance(one, Mapping) and one.get("type") == "null")]
            if len(others) == 1:
                return others[0]
            if len(others) == 2 and _is_decimal_pair(others):
                return {"type": "string", "format": "decimal"}
    return None


def _is_decimal_pair(schemas: list[Any]) -> bool:
    kinds = {one.get("type"): one for one in schemas if isinstance(one, Mapping)}
    return kinds.keys() == {"number", "string"} and ("pattern" in kinds["string"] or _is_decimal(kinds["string"]))


def _is_decimal(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "decimal"


def _may_be_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        return True
    return any(
        isinstance(one, Mapping) and one.get("type") == "null"
        for joint in ("anyOf", "oneOf")
        for one in schema.get(joint) or ()
    )


def _type(schema: Any, document: _Document, depth: int) -> CedarType | None:
    if depth > MOST_DEPTH:
        return None
    schema = document.resolved(schema)
    kinds = _kinds(schema)
    if kinds == {"string"}:
        return DECIMAL if _is_decimal(schema) else STRING
    if kinds == {"boolean"}:
        return BOOL
    if kinds == {"integer"}:
        return LONG
    if kinds in ({"number"}, {"number", "integer"}):
        return DECIMAL
    if kinds == {"array"}:
        item = _type(schema.get("items"), document, depth + 1)
        return None if item is None else _set_of(item)
    if kinds == {"object"} and isinstance(schema.get("properties"), Mapping):
        record = _record(schema, document, depth + 1)
        return record if record.members else None
    return None


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types of a value other than null."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return {str(one) for one in kinds} - {"null"}
    if isinstance(kinds, str):
        return {kinds}
    options = schema["enum"] if isinstance(schema.get("enum"), list) else [schema["const"]] if "const" in schema else []
    names = {str: "string", bool: "boolean", int: "integer"}
    return {names.get(type(one), "other") for one in options if one is not None}


def _record(schema: Mapping[str, Any], document: _Document, depth: int) -> CedarType:
    members: dict[str, ArgumentMember] = {}
    given = schema.get("properties")
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    for name, below in list(given.items())[:MOST_MEMBERS] if isinstance(given, Mapping) else ():
        found = None if name in _RESERVED else _type(below, document, depth)
        if found is not None:
            members[name] = ArgumentMember(found, name in (required or ()) and not _may_be_null(below))

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise NotConvertible("is not an object")
        return convert_members(members, value)

    return CedarType(record_text(members), convert, members)


def record_text(members: Mapping[str, ArgumentMember]) -> str:
    """A record type in Cedar's schema syntax."""
    parts = (f"{quoted(name)}{'' if one.required else '?'}: {one.type.name}" for name, one in members.items())
    return "{" + ", ".join(parts) + "}"


def quoted(name: str) -> str:
    """A text as a Cedar literal."""
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\u{{{ord(one):x}}}" for one in plain) + '"'


def _set_of(item: CedarType) -> CedarType:
    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise NotConvertible("is not a list")
        return [item.convert(one) for one in value]

    return CedarType(f"Set<{item.name}>", convert, item=item)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise NotConvertible("is not a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NotConvertible("is not true or false")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise NotConvertible("is not a whole number")
    return value


def _exact(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise NotConvertible("is not a number")
    if isinstance(value, str) and not _DECIMAL_TEXT.fullmatch(value):
        raise NotConvertible("is not a number with at most four decimals")
    number = Decimal(value if isinstance(value, str) else repr(value))
    if not number.is_finite() or abs(number) > _LARGEST or number != round(number, 4):
        raise NotConvertible("has more than four decimals, or is too large")
    return {"__extn": {"fn": "decimal", "arg": f"{number:.4f}"}}


STRING, BOOL, LONG, DECIMAL = (
    CedarType("String", _text),
    CedarType("Bool", _flag),
    CedarType("Long", _whole),
    CedarType("decimal", _exact),
)

"""Generates arguments that fit a schema: a subset of JSON Schema as Hypothesis strategies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from assent.contract.documents import schema_validator
from assent.contract.pointers import local_target
from assent.errors import AssentError
from assent.features import load_package

_LONGEST_TEXT = 40
_MOST_ITEMS = 4
_DEEPEST = 5
_BIG = 10_000
_FAR = 10**300  # larger numbers are not floats
_MOST_FIELDS = 400
_MOST_OPTIONAL = 20
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.@/äß"

Strategy = Any


@cache
def _st() -> Any:
    """The strategies of Hypothesis, which only a verification needs."""
    return load_package("hypothesis.strategies")


class NoExampleError(AssentError):
    """No fitting arguments were found for a schema."""


def examples_of(schema: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return up to `count` different arguments that fit a schema, the same on every run."""
    load_package("hypothesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import InvalidArgument, Unsatisfiable

    try:
        fits = schema_validator(dict(schema)).is_valid
    except ValueError as error:
        raise NoExampleError(f"its input schema is not valid: {error}") from None
    if _fields(schema, 0) > _MOST_FIELDS:
        schema = _prune(schema, _MOST_OPTIONAL)
    found: list[dict[str, Any]] = []

    @settings(
        max_examples=count * 4,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_object(schema, schema, 0))
    def collect(value: dict[str, Any]) -> None:
        if fits(value) and value not in found:
            found.append(value)

    with suppress(Unsatisfiable, InvalidArgument):
        collect()
    if not found:
        raise NoExampleError("no generated arguments fit its input schema")
    return _choose_evenly(found, count)


def _choose_evenly(found: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Choose evenly from the smallest to the largest, because some faults appear only with long input."""
    ordered = sorted(found, key=lambda value: len(json.dumps(value, default=str)))
    if len(ordered) <= count:
        return ordered
    steps = [round(step * (len(ordered) - 1) / max(1, count - 1)) for step in range(count)]
    return [ordered[step] for step in steps]


def _fields(schema: Any, depth: int) -> int:
    """Return the number of fields of a schema, up to the depth that is generated."""
    if isinstance(schema, list):
        return sum(_fields(part, depth) for part in schema)
    if not isinstance(schema, Mapping) or depth > 2 * _DEEPEST:
        return 0
    properties = schema.get("properties")
    own = len(properties) if isinstance(properties, Mapping) else 0
    return own + sum(_fields(inner, depth + 1) for inner in schema.values() if isinstance(inner, Mapping | list))


def _prune(schema: Any, optional: int = 0) -> Any:
    """Return the schema with few optional fields, because generating a very large one takes minutes."""
    if isinstance(schema, list):
        return [_prune(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    plain = {key: _prune(value) for key, value in schema.items() if key != "properties"}
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, Mapping):
        wanted = required if isinstance(required, list) else []
        spare = [name for name in properties if name not in wanted][:optional]
        plain["properties"] = {name: _prune(properties[name]) for name in properties if name in {*wanted, *spare}}
    return plain


def _any(schema: Any, root: Mapping[str, Any], depth: int) -> Strategy:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return _st().none() | _st().booleans() | _st().integers(0, 9) | _st().text(_ALPHABET, max_size=5)
    schema = _merge_schema(schema, root)
    if "const" in schema:
        return _st().just(schema["const"])
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return _st().sampled_from(schema["enum"])
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and parts:
            rest = {name: value for name, value in schema.items() if name != key}
            return _st().one_of([_any({**rest, **_merge_schema(part, root)}, root, depth + 1) for part in parts])
    kinds = schema.get("type")
    names = kinds if isinstance(kinds, list) else [kinds or _implied_type(schema)]
    return _st().one_of([_KINDS.get(str(name), _anything)(schema, root, depth) for name in names])


def _implied_type(schema: Mapping[str, Any]) -> str:
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _merge_schema(schema: Any, root: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the schema with its local reference resolved and `allOf` merged."""
    whole: dict[str, Any] = dict(schema) if isinstance(schema, Mapping) else {}
    for _ in range(_DEEPEST):
        reference = whole.pop("$ref", None)
        if reference is None:
            break
        target = local_target(reference, root)
        whole = {**(target if isinstance(target, Mapping) else {}), **whole}
    for part in (whole.pop("allOf", None) or ()) if depth < _DEEPEST else ():
        inner = _merge_schema(part, root, depth + 1)
        properties = {**whole.get("properties", {}), **inner.get("properties", {})}
        required = [*whole.get("required", []), *inner.get("required", [])]
        whole = {**inner, **whole}
        if properties:
            whole["properties"] = properties
        if required:
            whole["required"] = required
    return whole


def _integer(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Strategy:
    least, most = _bounds(schema)
    step = schema.get("multipleOf")
    if isinstance(step, int) and step > 1:
        return _st().integers(-(-int(least) // step), int(most) // step).map(lambda value: value * step)
    return _st().integers(int(least), int(most))


def _number(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Strategy:
    least, most = _bounds(schema)
    return _st().integers(int(least), max(int(least), int(most))) | _st().floats(
        float(least), float(most), allow_nan=False, width=64
    )


def _bounds(schema: Mapping[str, Any]) -> tuple[float, float]:
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    low = least if isinstance(least, int | float) else (min(0, most - 1) if isinstance(most, int | float) else 0)
    high = most if isinstance(most, int | float) else max(low, 0) + _BIG
    low += 1 if "exclusiveMinimum" in schema and "minimum" not in schema else 0
    high -= 1 if "exclusiveMaximum" in schema and "maximum" not in schema else 0
    low, high = sorted(max(-_FAR, min(one, _FAR)) for one in (low, high))
    return low, high


def _string(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Strategy:
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and _is_regex(pattern):
        return _st().from_regex(pattern, fullmatch=pattern.startswith("^") and pattern.endswith("$"))
    formats = _FORMATS.get(str(schema.get("format")))
    if formats is not None:
        return formats()
    least = schema.get("minLength", 0)
    least = least if isinstance(least, int) else 0
    most = schema.get("maxLength", max(_LONGEST_TEXT, least))
    longest = min(most, least + _LONGEST_TEXT)
    some = _st().text(_ALPHABET, min_size=least, max_size=longest)
    # By default Hypothesis generates short texts.
    return some | _st().text(_ALPHABET, min_size=longest // 2, max_size=longest) if longest > 2 * least + 8 else some


def _is_regex(pattern: str) -> bool:
    """Whether Python can compile the pattern, which is in another dialect."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Strategy:
    least = schema.get("minItems", 0)
    most = max(least, min(schema.get("maxItems", _MOST_ITEMS), least + _MOST_ITEMS))
    unique = repr if schema.get("uniqueItems") else None
    items = _any(schema.get("items", {"type": "string"}), root, depth + 1)
    return _st().lists(items, min_size=least, max_size=most, unique_by=unique)


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Strategy:
    schema = _merge_schema(schema, root)
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    wanted = [name for name in schema.get("required") or () if isinstance(name, str)]
    required = {name: _any(known.get(name, {}), root, depth + 1) for name in wanted}
    optional = {name: _any(inner, root, depth + 1) for name, inner in known.items() if name not in required}
    return _st().fixed_dictionaries(required, optional=optional if depth <= _DEEPEST else {})


def _anything(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Strategy:
    return _any(None, root, depth)


_KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any], int], Strategy]] = {
    "null": lambda *_: _st().none(),
    "boolean": lambda *_: _st().booleans(),
    "integer": _integer,
    "number": _number,
    "string": _string,
    "array": _array,
    "object": _object,
}


def _word(shape: str) -> Strategy:
    return _st().text("abcdefghij", min_size=1, max_size=8).map(shape.format)


_FORMATS: dict[str, Callable[[], Strategy]] = {
    "date": lambda: _st().dates().map(lambda value: value.isoformat()),
    "date-time": lambda: _st().datetimes().map(lambda value: value.isoformat() + "Z"),
    "time": lambda: _st().times().map(lambda value: value.isoformat() + "Z"),
    "uuid": lambda: _st().uuids().map(str),
    "email": lambda: _word("{}@example.com"),
    "uri": lambda: _word("https://example.com/{}"),
    "hostname": lambda: _word("{}.example.com"),
    "ipv4": lambda: _st().integers().map(lambda value: f"192.0.2.{abs(value) % 256}"),
}

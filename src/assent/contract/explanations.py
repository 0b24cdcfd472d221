"""Explains validation errors of the configuration in the terms of its author.

The value itself is never repeated: it may come from the environment, and these messages reach logs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

_NUMBER = ("a number is expected", "Write one, such as 20 or 12.50")
_WHOLE = ("a whole number is expected", "Write one, such as 20")
_LIST = ("a list is expected", "Write it in brackets, such as [one, two]")
_KEYS = ("a set of keys is expected", "Write it as {{key: value}}")
_TRUTH = ("true or false is expected", "Write one of them")

_KINDS: dict[str, tuple[str, str]] = {
    "missing": ("it is required", "Add it"),
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _KEYS,
    "model_type": _KEYS,
    "model_attributes_type": _KEYS,
    "string_type": ("text is expected", 'Write it in quotes, such as "text"'),
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "decimal_type": _NUMBER,
    "decimal_parsing": _NUMBER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "greater_than": ("it is too small", "Write a number greater than {gt}"),
    "greater_than_equal": ("it is too small", "Write a number of {ge} or more"),
    "less_than": ("it is too large", "Write a number less than {lt}"),
    "less_than_equal": ("it is too large", "Write a number of {le} or less"),
    "string_too_short": ("it is too short", "Write at least {min_length} characters"),
    "string_too_long": ("it is too long", "Write at most {max_length} characters"),
    "too_short": ("it has too few entries", "Write at least {min_length}"),
    "literal_error": ("this value is not allowed", "Write {expected}"),
    "enum": ("this value is not allowed", "Write {expected}"),
}
_ADDRESS = ("this is not an address", "Write one that begins with http:// or https://")
_FORMS: dict[str, tuple[str, str]] = {
    "url": _ADDRESS,
    "base_url": _ADDRESS,
    "public_url": _ADDRESS,
    "jwks_url": _ADDRESS,
    "currency": ("this is not a currency", "Write its code, such as EUR"),
}
_NAME = ("this is not a valid name", "Use 1 to 40 letters, digits, underscores and hyphens")


def explain(one: Any, keys: Iterable[str] = ()) -> tuple[str, str]:
    """What is wrong and what to do, for one validation error; `keys` are the valid keys at its position."""
    kind, ctx, loc = one["type"], one.get("ctx", {}), one["loc"]
    if kind == "extra_forbidden":
        return "there is no such key", nearest(str(loc[-1]), list(keys))
    if kind == "string_pattern_mismatch":
        return _NAME if loc[-1] == "[key]" else _FORMS.get(str(loc[-1]), ("this value is not allowed", "Correct it"))
    if kind == "value_error":
        return str(ctx["error"]), ""
    message, remedy = _KINDS.get(kind, (one["msg"][:1].lower() + one["msg"][1:], "Correct it"))
    return message, remedy.format(**ctx)


def nearest(key: str, names: list[str]) -> str:
    """The valid key that was probably meant, or all valid keys."""
    close = difflib.get_close_matches(key[:100], names, n=1)
    return f"Did you mean {close[0]}?" if close else "The keys here are " + ", ".join(names)

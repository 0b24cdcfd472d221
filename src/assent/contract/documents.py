"""Is this plain JSON, and is it a JSON Schema?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from assent.contract.digest import NotCanonicalError, canonical


def plain_copy(value: Any) -> dict[str, Any]:
    """A JSON object of one's own, which nobody else can change; ValueError says what is not plain JSON in it."""
    if not isinstance(value, Mapping):
        raise ValueError(f"an object is expected, not {repr(value)[:40]}")
    try:
        canonical(value)
    except NotCanonicalError as error:
        raise ValueError(f"it is not plain JSON: {error}") from None
    copied: dict[str, Any] = _copied(value)
    return copied


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value


def schema_validator(schema: Any) -> Any:
    """A validator for a JSON Schema (2020-12 unless it names another draft); ValueError says why it is none.

    References lead nowhere but into the document: nothing is ever fetched.
    """
    outside: list[str] = []

    def refuse(uri: str) -> Any:
        outside.append(uri)
        raise ValueError(uri)

    try:
        return jsonschema_rs.validator_for(schema, retriever=refuse)
    except (ValueError, TypeError, RecursionError) as error:
        if outside:
            raise ValueError(f"it refers to {outside[0][:100]}, outside the document, and nothing is fetched") from None
        raise ValueError(f"it is not a JSON Schema: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    path = getattr(error, "instance_path", None)
    return f"{said} at /{'/'.join(map(str, path))}" if path else said

"""Checks the arguments that a model wrote against the tool's schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assent.contract.documents import schema_validator
from assent.core.outcome import Refusal

_MOST_ERRORS = 5
_LONGEST = 300


def read_arguments(written: Any) -> dict[str, Any]:
    """Return the arguments that a model wrote as text or object; raise Refusal if they are neither."""
    if isinstance(written, str | bytes):
        written = _parse_json(written)
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        raise Refusal("validate.malformed", "The arguments must be an object of named values.")
    return dict(written)


def _parse_json(text: str | bytes) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refusal("validate.malformed", "The arguments are not JSON.") from None


class Checks:
    """Checks arguments against schemas; each schema is compiled once."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[Mapping[str, Any], Any]] = {}

    def check(self, tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        """Raise Refusal with the argument that does not fit. An invalid schema is left to the server."""
        validator = self._validator(tool, schema)
        if validator is None or validator.is_valid(arguments):
            return
        checks, too_large = validator.measure(arguments)
        found = [] if too_large else validator.first_errors(arguments, checks, _MOST_ERRORS)
        errors = [_describe_error(error) for error in found] or [("", too_large or "they do not fit the schema")]
        listed = [{"field": field, "reason": reason} for field, reason in errors]
        detail = "; ".join(f"{field}: {reason}" if field else reason for field, reason in errors)
        raise Refusal("validate.arguments_invalid", f"{detail}.", errors=listed)

    def _validator(self, tool: str, schema: Mapping[str, Any]) -> Any:
        known = self._compiled.get(tool)
        if known is None or known[0] != schema:
            try:
                known = (schema, schema_validator(dict(schema)))
            except ValueError:
                known = (schema, None)
            self._compiled[tool] = known
        return known[1]


def _describe_error(error: Any) -> tuple[str, str]:
    field = "".join(f"/{part}" for part in error.instance_path)
    return field, str(error.message)[:_LONGEST]

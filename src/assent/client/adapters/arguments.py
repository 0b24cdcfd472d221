"""Are these the arguments of a call: an object that fits the schema the model was shown?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assent.contract.documents import schema_validator
from assent.core.outcome import Refusal

_MOST_ERRORS = 5
_LONGEST = 300


def read_arguments(said: Any) -> dict[str, Any]:
    """The arguments as a model wrote them, text or object; raises Refusal where they are neither."""
    if isinstance(said, str | bytes):
        said = _parsed(said)
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise Refusal("validate.malformed", "The arguments must be an object of named values.")
    return dict(said)


def _parsed(text: str | bytes) -> Any:
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
        """Raises Refusal that names what does not fit. A schema that is none is left to the server."""
        validator = self._validator(tool, schema)
        if validator is None or validator.is_valid(arguments):
            return
        checks, too_large = validator.measure(arguments)
        found = [] if too_large else validator.first_errors(arguments, checks, _MOST_ERRORS)
        errors = [_told(error) for error in found] or [("", too_large or "they do not fit the schema")]
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


def _told(error: Any) -> tuple[str, str]:
    field = "".join(f"/{part}" for part in error.instance_path)
    return field, str(error.message)[:_LONGEST]

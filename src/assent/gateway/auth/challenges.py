"""`WWW-Authenticate` challenges for callers who must bring more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.web.asgi import Headers


def challenge(
    refusal: Refusal, principal: Principal | None, metadata_url: str | None, scopes: Sequence[str] = ()
) -> tuple[int, str] | None:
    """(status, WWW-Authenticate) where HTTP itself must answer; None where a problem in a tool result does.

    Nobody yet: 401, with the scopes to ask for first. An OAuth caller who lacks scopes: 403 naming all of them. One who
    must log in again: 401 with what is asked for (RFC 9470). Callers with API keys get the same as problems.
    """
    if refusal.code.startswith("authenticate."):
        error = {"error": "invalid_token"} if refusal.code == "authenticate.invalid" else {}
        return 401, _bearer(**error, scope=" ".join(scopes) or None, resource_metadata=metadata_url)
    if principal is None or not principal.bearer:
        return None
    if refusal.code == "authorize.missing_permissions":
        scope = " ".join(refusal.facts["required_permissions"])
        return 403, _bearer(
            error="insufficient_scope",
            error_description=refusal.detail,
            scope=scope,
            resource_metadata=metadata_url,
        )
    if refusal.code == "step_up.required":
        age = refusal.facts.get("max_age")
        return 401, _bearer(
            error="insufficient_user_authentication",
            error_description=refusal.detail,
            acr_values=" ".join(refusal.facts.get("acr_values", [])) or None,
            max_age=str(age) if age else None,
            resource_metadata=metadata_url,
        )
    return None


def _bearer(**parameters: str | None) -> str:
    said = [f'{name}="{_quoted(value)}"' for name, value in parameters.items() if value is not None]
    return "Bearer " + ", ".join(said) if said else "Bearer"


def _quoted(value: str) -> str:
    """The inside of a quoted string: printable ASCII, nothing that could end it."""
    plain = "".join(character if " " <= character <= "~" else "?" for character in value)
    return plain.replace("\\", "\\\\").replace('"', '\\"')


class Challenge(Exception):
    """The caller must prove more before anything is read: 401 or 403, with a problem and headers."""

    def __init__(self, status: int, problem: dict[str, Any], fields: Headers) -> None:
        super().__init__(problem.get("title"))
        self.status = status
        self.problem = problem
        self.fields = fields

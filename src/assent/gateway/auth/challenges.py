"""`WWW-Authenticate` challenges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.web.asgi import Headers


def challenge(
    refusal: Refusal, principal: Principal | None, metadata_url: str | None, scopes: Sequence[str] = ()
) -> tuple[int, str] | None:
    """(status, WWW-Authenticate) if HTTP must answer; None if the problem belongs in a tool result.

    No credentials: 401 with the scopes to request first. An OAuth caller without the needed scopes: 403 that names
    all of them. A caller who must sign in again: 401 with the requirements (RFC 9470). Callers with API keys get
    the last two as problems.
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
    fields = [f'{name}="{_quoted(value)}"' for name, value in parameters.items() if value is not None]
    return "Bearer " + ", ".join(fields) if fields else "Bearer"


def _quoted(value: str) -> str:
    """Escapes a value for a quoted string; characters other than printable ASCII become `?`."""
    printable = "".join(character if " " <= character <= "~" else "?" for character in value)
    return printable.replace("\\", "\\\\").replace('"', '\\"')


class Challenge(Exception):
    """The caller must authenticate or needs more rights: 401 or 403, with a problem and headers."""

    def __init__(self, status: int, problem: dict[str, Any], fields: Headers) -> None:
        super().__init__(problem.get("title"))
        self.status = status
        self.problem = problem
        self.fields = fields

"""Problems of requests to `/api/`, in the form of RFC 9457."""

from __future__ import annotations

from typing import Any

from assent.core.problems import ProblemKind, problem_of
from assent.web.asgi import Headers

FAULTS: dict[str, ProblemKind] = {
    "api.malformed": ProblemKind(400, "The request cannot be read.", "Correct what the detail names."),
    "api.not_entitled": ProblemKind(
        403, "Your roles do not allow this.", "Use a key with the role that the detail names.", "person"
    ),
    "api.sign_in_again": ProblemKind(
        403, "Your sign-in is too old for this.", "Sign in again, then repeat the request.", "person"
    ),
    "api.foreign_origin": ProblemKind(
        403, "The request comes from a page of another origin.", "Use the gateway's own address."
    ),
    "api.not_found": ProblemKind(404, "No operation has this path.", "All paths are in /api/openapi.json."),
    "api.unknown": ProblemKind(404, "Not found.", "List the collection to see its ids."),
    "api.method_not_allowed": ProblemKind(
        405, "This path does not support this method.", "Use a method that Allow names."
    ),
    "api.conflict": ProblemKind(409, "The record changed since you loaded it.", "Reload it and decide again."),
    "api.too_large": ProblemKind(413, "The body is too large.", "Send less."),
    "api.not_json": ProblemKind(415, "The body must be JSON.", "Send it as Content-Type: application/json."),
    "api.wrong_host": ProblemKind(
        421, "This gateway does not have that host name.", "Use a name of its machine, or its public_url."
    ),
    "api.invalid": ProblemKind(422, "The body does not have the declared form.", "Correct what the detail names."),
    "api.failed": ProblemKind(500, "The gateway failed to answer.", "Read the gateway's log.", "operator"),
    "api.unavailable": ProblemKind(503, "The store does not answer.", "Try again later.", "operator", retryable=True),
}


class ApiProblem(Exception):
    """A request that is not answered, and why."""

    def __init__(self, code: str, detail: str = "", fields: Headers | None = None) -> None:
        super().__init__(detail or code)
        self.code, self.detail, self.fields = code, detail, fields or []

    @property
    def status(self) -> int:
        return FAULTS[self.code].status

    def problem(self) -> dict[str, Any]:
        return problem_of(self.code, FAULTS[self.code], self.detail)

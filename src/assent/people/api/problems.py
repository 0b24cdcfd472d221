"""Problems of requests to `/api/`, in the form of RFC 9457."""

from __future__ import annotations

from typing import Any

from assent.core.problems import Kind, problem_of
from assent.web.asgi import Headers

FAULTS: dict[str, Kind] = {
    "api.malformed": Kind(400, "The request cannot be read.", "Correct what the detail names."),
    "api.not_entitled": Kind(
        403, "Your roles do not allow this.", "Use a key with the role that the detail names.", "person"
    ),
    "api.sign_in_again": Kind(
        403, "Your sign-in is too old for this.", "Sign in again, then repeat the request.", "person"
    ),
    "api.foreign_origin": Kind(
        403, "The request comes from a page of another origin.", "Use the gateway's own address."
    ),
    "api.not_found": Kind(404, "No operation has this path.", "All paths are in /api/openapi.json."),
    "api.unknown": Kind(404, "Not found.", "List the collection to see its ids."),
    "api.method_not_allowed": Kind(405, "This path does not support this method.", "Use a method that Allow names."),
    "api.conflict": Kind(409, "The record changed since you loaded it.", "Reload it and decide again."),
    "api.too_large": Kind(413, "The body is too large.", "Send less."),
    "api.not_json": Kind(415, "The body must be JSON.", "Send it as Content-Type: application/json."),
    "api.wrong_host": Kind(
        421, "This gateway does not have that host name.", "Use a name of its machine, or its public_url."
    ),
    "api.invalid": Kind(422, "The body does not have the declared form.", "Correct what the detail names."),
    "api.failed": Kind(500, "The gateway failed to answer.", "Read the gateway's log.", "operator"),
    "api.unavailable": Kind(503, "The store does not answer.", "Try again later.", "operator", retryable=True),
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

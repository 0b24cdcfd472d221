"""Problems of requests to `/api/`, in the form of RFC 9457."""

from __future__ import annotations

from typing import Any

import orjson

from assent.core.refusals import Kind
from assent.web.asgi import Headers, Send

FAULTS: dict[str, Kind] = {
    "api.malformed": Kind(400, "The request cannot be read.", "Correct what is named."),
    "api.not_entitled": Kind(403, "You may not see this.", "Use a key with the role that is named.", "person"),
    "api.sign_in_again": Kind(403, "Your sign-in is too old for this.", "Sign in again, then repeat it.", "person"),
    "api.foreign_origin": Kind(403, "The request comes from a foreign page.", "Use the gateway's own address."),
    "api.not_found": Kind(404, "There is nothing here.", "All paths are in /api/openapi.json."),
    "api.unknown": Kind(404, "There is no such thing.", "List what there is."),
    "api.method_not_allowed": Kind(405, "This path does not take this method.", "Use a method that Allow names."),
    "api.conflict": Kind(409, "What you saw is no longer so.", "Look again, then decide."),
    "api.too_large": Kind(413, "The body is too large.", "Send less."),
    "api.not_json": Kind(415, "The body must be JSON.", "Send it as Content-Type: application/json."),
    "api.wrong_host": Kind(
        421, "This server does not have that name.", "Use a name of its machine, or its public_url."
    ),
    "api.invalid": Kind(422, "The body does not fit.", "Correct what is named."),
    "api.failed": Kind(500, "The request could not be answered.", "Look into the gateway's log.", "operator"),
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
        kind = FAULTS[self.code]
        return {
            "type": f"https://assent.dev/refusals#{self.code}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail or kind.title,
            "code": self.code,
            "remedy": kind.remedy,
            "retryable": kind.retryable,
        }


async def answer(send: Send, status: int, value: Any, fields: Headers | None = None) -> None:
    """One JSON answer that no cache keeps and no browser takes for anything else."""
    body = orjson.dumps(value)
    kind = b"application/problem+json" if status >= 400 else b"application/json"
    own: Headers = [
        (b"content-type", kind),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": own + (fields or [])})
    await send({"type": "http.response.body", "body": body})

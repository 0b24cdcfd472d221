"""Parameters that a caller must never set.

Credentials come from the upstream's configuration, framing from HTTP, the idempotency key from the contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assent.upstreams.openapi.operations import ApiParameter
from assent.upstreams.openapi.references import DocumentSet, Unresolved

IDEMPOTENCY = "idempotency-key"
_SET_BY_HTTP = frozenset(
    [
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        # With these a server handles another request than the one that the contract covers.
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-url",
        "x-rewrite-url",
    ]
)
_CREDENTIAL = re.compile(
    r"(?:.*[-_])?(?:authorization|authentication|auth|cookie|set-cookie|api[-_]?key|secret|secret[-_]key|password"
    r"|credentials?|(?:access|auth|bearer|id|security|session|csrf|xsrf)[-_]?token|api[-_]?token|jwt)\Z"
)
_TOKEN = re.compile(
    r"(?:.*[-_])?(?:api[-_]?key|(?:access|api|auth|bearer|id|security|session)[-_]?token|client[-_]secret|jwt)\Z"
)
_SESSION = re.compile(r".*(?:session|sess|sid)(?:[-_]?id)?\Z")

Names = frozenset[tuple[str, str]]


def credential_names(library: DocumentSet) -> Names:
    """Location and lower-case name of every credential in the document's security schemes."""
    schemes = _mapping(_mapping(library.root.get("components")).get("securitySchemes"))
    found = set()
    for name in schemes:
        try:
            scheme = library.follow(library.start().at("components", "securitySchemes", name)).value
        except Unresolved:
            continue
        if isinstance(scheme, dict) and scheme.get("type") == "apiKey" and isinstance(scheme.get("name"), str):
            found.add((str(scheme.get("in")), scheme["name"].lower()))
    return frozenset(found)


def withheld_because(parameter: ApiParameter, credentials: Names) -> str | None:
    """Why a parameter is not an argument, or None."""
    name = parameter.name.lower()
    if (parameter.location, name) in credentials:
        return "it contains a credential"
    if parameter.location == "query" and _TOKEN.match(name):
        return "it contains a credential"
    if parameter.location == "cookie" and (_CREDENTIAL.match(name) or _SESSION.match(name)):
        return "it contains a credential"
    if parameter.location != "header":
        return None
    if name == IDEMPOTENCY:
        return "the idempotency key is sent as the contract says"
    if _CREDENTIAL.match(name):
        return "it contains a credential"
    if name in _SET_BY_HTTP or name.startswith(("x-forwarded-", "proxy-", "sec-")):
        return "HTTP itself sets it"
    return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""One-time sign-in links for the operator of this machine.

`assent console` and `assent demo` print a link. Opening it shows a page with one button; only the button signs in, so a
link preview cannot use the link up.
"""

from __future__ import annotations

import secrets

import orjson

from assent.core.document import Document
from assent.core.principal import Principal
from assent.gateway.auth.api_keys import digest_secret
from assent.ports import Store

KIND = "console_link"
LASTS = 600.0


async def make_link_token(store: Store, principal: Principal, now: float) -> str:
    """A token that signs this person in, once, within ten minutes."""
    token = secrets.token_urlsafe(32)
    body = {"id": principal.id, "scopes": sorted(principal.scopes), "roles": sorted(principal.roles)}
    document = Document(KIND, digest_secret(token), orjson.dumps(body), principal.tenant, expires_at=now + LASTS)
    await store.put_document(document, now)
    return token


async def redeem_link_token(store: Store, token: str, now: float) -> Principal | None:
    """The person whom a token signs in; None for one that is unknown, expired or used."""
    used = await store.delete_document(KIND, digest_secret(token), now) if token and len(token) <= 128 else None
    if used is None:
        return None
    body = orjson.loads(used.body)
    return Principal(
        body["id"], "human", used.tenant, frozenset(body["scopes"]), frozenset(body["roles"]), auth_time=now
    )

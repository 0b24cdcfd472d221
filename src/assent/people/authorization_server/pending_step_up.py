"""Sign-ins that calls of a person's agents have asked for, so that the next authorization requires them.

Clients that know RFC 9470 send `max_age` and `acr_values` themselves. Others only start the sign-in again; without this
note the person's old sign-in would be used, and the call refused again.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import orjson

from assent.core.document import Document
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.ports import Store

_KIND = "oauth_step_up"
_LASTS = 600.0


class NeededSignIn(NamedTuple):
    """The age and the classes of the sign-in that a call needs."""

    max_age: int | None
    acr: tuple[str, ...]


async def note_step_up(store: Store, caller: Principal, refusal: Refusal, now: float) -> None:
    """Remember for ten minutes what a call of this caller needs."""
    body = {"max_age": refusal.facts.get("max_age"), "acr": refusal.facts.get("acr_values", [])}
    draft = Document(_KIND, _id(caller), orjson.dumps(body), caller.tenant, expires_at=now + _LASTS)
    await store.put_document(draft, now)


async def pending_step_up(store: Store, person: Principal, now: float) -> NeededSignIn | None:
    """What the last refused call of this person's agents needs, if that is not long ago."""
    document = await store.document(_KIND, _id(person), now)
    if document is None:
        return None
    body = orjson.loads(document.body)
    return NeededSignIn(body["max_age"], tuple(body["acr"]))


def _id(person: Principal) -> str:
    return hashlib.sha256(orjson.dumps([person.tenant, person.id])).hexdigest()

"""A limit on sign-ins from one address."""

from __future__ import annotations

import hashlib

import orjson

from assent.core.document import Document
from assent.people.console.page import PageError
from assent.ports import Store

KIND = "console_attempts"
WINDOW = 900.0
MOST = 100
_TRIES = 5


async def count_attempt(store: Store, address: str, now: float) -> None:
    """Count a sign-in before it is looked at; raises once there were too many."""
    if not await _counted(store, f"address.{hashlib.sha256(address.encode()).hexdigest()}", now):
        detail = f"Wait {int(WINDOW // 60)} minutes, then try again. An administrator can make a new enrolment link."
        raise PageError(429, "There were too many sign-ins from your address.", detail)


async def _counted(store: Store, id: str, now: float) -> bool:
    for _ in range(_TRIES):
        kept = await store.document(KIND, id, now)
        count = 0 if kept is None else int(orjson.loads(kept.body)["count"])
        if count >= MOST:
            return False
        until = now + WINDOW if kept is None else kept.expires_at
        draft = Document(KIND, id, orjson.dumps({"count": count + 1}), expires_at=until)
        if await store.put_document(draft, now, expected=kept.version if kept else 0) is not None:
            return True
    return False

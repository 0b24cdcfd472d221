"""Limits on failed sign-ins: for one account from one address, for an account, and for an address.

The limit of the pair is small, so that guessing is slow.
That of the account is large, so that a stranger cannot lock somebody out easily.
"""

from __future__ import annotations

import hashlib

import orjson

from assent.console.page import PageError
from assent.core.document import Document
from assent.ports import Store

KIND = "console_attempts"
WINDOW = 900.0
MOST = {"address": 100, "pair": 5, "account": 50}
"""The address is counted first: one that tries many names then leaves no more counters behind."""
_TRIES = 5


async def count_attempt(
    store: Store, account: str, address: str, now: float, scopes: tuple[str, ...] = tuple(MOST)
) -> None:
    """Count a sign-in before it is looked at; raises once there were too many."""
    names = _names(account, address)
    for scope in scopes:
        id = names[scope]
        if not await _counted(store, id, MOST[scope], now):
            minutes = int(WINDOW // 60)
            detail = f"Wait {minutes} minutes, then try again. An administrator can make a new enrolment link."
            raise PageError(429, "There were too many failed sign-ins.", detail)


async def forget_attempts(store: Store, account: str, address: str, now: float) -> None:
    """Start anew after a sign-in that was right. The address keeps its count: others may be guessing from there."""
    names = _names(account, address)
    for scope in ("pair", "account"):
        await store.delete_document(KIND, names[scope], now)


async def _counted(store: Store, id: str, most: int, now: float) -> bool:
    for _ in range(_TRIES):
        kept = await store.document(KIND, id, now)
        count = 0 if kept is None else int(orjson.loads(kept.body)["count"])
        if count >= most:
            return False
        until = now + WINDOW if kept is None else kept.expires_at
        draft = Document(KIND, id, orjson.dumps({"count": count + 1}), expires_at=until)
        if await store.put_document(draft, now, expected=kept.version if kept else 0) is not None:
            return True
    return False


def _names(account: str, address: str) -> dict[str, str]:
    parts = {"pair": [account, address], "account": [account], "address": [address]}
    return {scope: f"{scope}.{hashlib.sha256(orjson.dumps(said)).hexdigest()}" for scope, said in parts.items()}

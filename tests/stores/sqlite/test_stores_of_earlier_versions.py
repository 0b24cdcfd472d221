"""A store of 0.2.0 opens: what it lacks is filled in by migrations."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from assent.core.approval import ApprovalState
from assent.stores.open import open_store
from support.stores.earlier_versions import make_store_of_0_2_0


async def test_keys_of_0_2_0_are_good_and_count_by_their_name(tmp_path: Path) -> None:
    file = tmp_path / "assent.db"
    make_store_of_0_2_0(file)
    store = await open_store(f"sqlite:///{file}")
    try:
        (record,) = await store.keys()
        assert record.is_good(2.0) and (record.made_by, record.made_in) == ("", "")
        assert (record.caller.id, record.caller.maker, record.caller.key) == ("carol", "", "assent_1a2b3c4d")
    finally:
        await store.close()


async def test_a_question_of_0_2_0_that_can_let_nothing_run_has_expired(tmp_path: Path) -> None:
    file, now = tmp_path / "assent.db", time.time()
    make_store_of_0_2_0(file)
    until = dict.fromkeys(("expires_at", "answers_until", "pending_until"), now + 900)
    asked = {"id": "old", "binding": "b", "tenant": "local", "requester": "bot", "tool": "send", "given_by": "approver",
             "quorum": 1, "text": "Send?", "facts": b"{}", "asked_at": now - 60, "lasts": 900.0, "uses": 1, "used": 0,
             "decisions": b"[]", **until}  # fmt: skip
    with closing(sqlite3.connect(file)) as connection, connection:
        values = ", ".join(f":{name}" for name in asked)
        connection.execute(f"INSERT INTO approvals ({', '.join(asked)}) VALUES ({values})", asked)
    store = await open_store(f"sqlite:///{file}")
    try:
        found = await store.approval("old")
        assert found is not None and found.state_at(time.time()) is ApprovalState.EXPIRED
        assert await store.approvals(pending_at=time.time()) == []
        assert await store.approval_for("b", time.time()) is None
    finally:
        await store.close()

"""Failed authentication is counted, and written down as one entry an interval at most."""

from __future__ import annotations

import asyncio

from assent.core.audit import Entry
from assent.errors import StoreError
from assent.gateway.auth.failed_auth import MOST_ADDRESSES, FailedAuthCounter
from assent.testing import Clock


async def test_ten_thousand_failures_are_one_entry() -> None:
    log, clock = list[Entry](), Clock()
    failed_auth = FailedAuthCounter(log.append, clock)
    for number in range(10_000):
        code = "authenticate.missing" if number % 4 == 0 else "authenticate.invalid"
        failed_auth.count_failure(code, {"client": (f"10.0.{number % 100}.1", 1)})
    assert log == []
    clock.advance(60)
    failed_auth.write()
    (entry,) = log
    assert entry.kind == "authentication"
    assert entry.at == clock.at
    since = int((clock.at - 60) * 1000)
    assert entry.facts == {"event": "authentication.failed", "count": 10_000, "since": since}
    assert entry.values["codes"] == {"authenticate.missing": 2500, "authenticate.invalid": 7500}
    assert len(entry.values["addresses"]) == MOST_ADDRESSES
    failed_auth.write()
    assert len(log) == 1, "nothing happened since"


async def test_the_entry_is_written_when_the_interval_ends() -> None:
    log, written = list[Entry](), asyncio.Event()

    def note(entry: Entry) -> None:
        log.append(entry)
        written.set()

    failed_auth = FailedAuthCounter(note, Clock(), interval=0)
    for _ in range(3):
        failed_auth.count_failure("authenticate.invalid", {})
    await written.wait()
    assert [entry.values["codes"] for entry in log] == [{"authenticate.invalid": 3}]
    assert log[0].values["addresses"] == {"unknown": 3}


async def test_what_could_not_be_written_is_in_the_next_summary() -> None:
    log, broken = list[Entry](), [True]

    def note(entry: Entry) -> None:
        if broken[0]:
            raise StoreError("full")
        log.append(entry)

    failed_auth = FailedAuthCounter(note, Clock())
    failed_auth.count_failure("authenticate.invalid", {"client": None})
    failed_auth._on_timer()
    broken[0] = False
    failed_auth.count_failure("authenticate.invalid", {"client": None})
    failed_auth.write()
    assert [entry.values["codes"] for entry in log] == [{"authenticate.invalid": 2}]

"""What a client that lost a stream can still hear."""

import asyncio

from assent.mcp.event_log import EventLogs


async def test_the_rest_of_a_stream_is_heard_after_any_of_its_events() -> None:
    logs = EventLogs()
    log = logs.open()
    written = [log.add(b"data: %d\r\n\r\n" % number) for number in range(3)]
    log.end()
    assert written[1] == b"id: assent.1.2\r\ndata: 1\r\n\r\n"
    for heard in range(3):
        found = logs.find(f"assent.1.{heard}")
        assert found is not None
        assert [event async for event in found[0].after(found[1])] == written[heard:]


async def test_a_listener_that_comes_early_hears_what_is_said_later() -> None:
    log = EventLogs().open()
    rest = asyncio.ensure_future(_collect(log.after(0)))
    await asyncio.sleep(0)
    log.add(b"data: late\r\n\r\n")
    await asyncio.sleep(0)
    log.end()
    assert await rest == [b"id: assent.1.1\r\ndata: late\r\n\r\n"]


async def _collect(events):  # type: ignore[no-untyped-def]
    return [event async for event in events]


async def test_what_is_kept_is_bounded_in_streams_and_in_size() -> None:
    logs = EventLogs(streams=2, size=100)
    first, _, third = logs.open(), logs.open(), logs.open()
    assert logs.find("assent.1.0") is None
    for _ in range(100):
        third.add(b"x" * 40)
    third.end()
    assert len(await _collect(third.after(0))) == 1
    first.end()


def test_large_answers_of_many_streams_are_bounded_together() -> None:
    logs = EventLogs(streams=3, size=100)
    small, large, last = logs.open(), logs.open(), logs.open()
    small.add(b"x" * 20)
    large.add(b"x" * 200)
    assert logs.find("assent.1.0") is not None
    last.add(b"x" * 250)
    assert logs.find("assent.1.0") is None and logs.find("assent.2.0") is None
    assert logs.find("assent.3.0") == (last, 0)


async def test_an_answer_that_is_larger_than_what_is_kept_arrives() -> None:
    log = EventLogs(size=100).open()
    log.add(b"data: \r\n\r\n")
    answer = log.add(b"data: %b\r\n\r\n" % (b"x" * 200))
    log.end()
    async with asyncio.timeout(5):
        assert await _collect(log.after(1)) == [answer]


async def test_a_slow_reader_hears_the_answer_that_another_reader_took_first() -> None:
    log, reads_on = EventLogs().open(), asyncio.Event()
    log.add(b"data: 1\r\n\r\n")

    async def read_slowly() -> list[bytes]:
        found = []
        async for event in log.after(0):
            found.append(event)
            await reads_on.wait()
        return found

    slow, quick = asyncio.ensure_future(read_slowly()), asyncio.ensure_future(_collect(log.after(0)))
    await asyncio.sleep(0)
    log.add(b"data: 2\r\n\r\n")
    log.end()
    assert len(await quick) == 2
    reads_on.set()
    async with asyncio.timeout(5):
        assert await slow == await quick


def test_ids_that_are_not_ours_or_make_no_sense_are_not_found() -> None:
    logs = EventLogs()
    assert not EventLogs.owns("7")
    assert all(
        logs.find(name) is None for name in ("assent.", "assent.x.y", "assent.1", "assent.9.9", "assent.²." + "9" * 99)
    )

"""What the event reader makes of a stream, however it is cut into pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.mcp.sse import Event, EventReader, EventTooLarge, render


def read(*pieces: bytes, limit: int = 1000) -> list[Event]:
    reader = EventReader(limit)
    return [event for piece in pieces for event in reader.feed(piece)]


def test_fields_of_an_event_are_read() -> None:
    assert read(b"event: message\r\nid: 7\r\nretry: 100\r\ndata: {}\r\n\r\n") == [Event(b"{}", b"message", b"7", 100)]


def test_several_data_lines_are_joined_by_line_breaks() -> None:
    assert read(b"data: a\ndata:b\ndata\n\n") == [Event(b"a\nb\n")]


def test_comments_and_unknown_fields_are_no_events() -> None:
    assert read(b": ping\n\nfoo: bar\n\n") == []


def test_a_priming_event_has_an_id_and_no_data() -> None:
    assert read(b"id: 1\ndata: \n\n") == [Event(b"", b"message", b"1")]


def test_an_unfinished_event_is_not_given() -> None:
    assert read(b"data: half\n") == []


@pytest.mark.parametrize("flood", [b"data: " + b"x" * 2000, b"data: y\n" * 1000, b": " + b"z" * 2000])
def test_an_event_without_end_is_refused(flood: bytes) -> None:
    with pytest.raises(EventTooLarge):
        read(flood)


stream = b"".join(
    [
        b": ping\r\n\r\n",
        render(b'{"a":1}'),
        b"id: 2\rdata: b\r\r",
        b"event: x\ndata: c\ndata: d\n\n",
        b"retry: 5\n\n",
    ]
)


@given(st.lists(st.integers(0, len(stream)), max_size=12))
def test_pieces_may_be_cut_anywhere(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges)]
    assert read(*pieces) == read(stream)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_event_of_the_largest_size_may_be_cut_anywhere(end: bytes) -> None:
    text = b"data: abcd" + end + end
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:], limit=10) == [Event(b"abcd")], cut


def test_an_event_does_not_wait_for_the_line_feed_of_the_next_one() -> None:
    reader = EventReader(1000)
    assert list(reader.feed(b"data: a\r\r")) == [Event(b"a")]
    assert [list(reader.feed(piece)) for piece in (b"", b"\ndata: b\r", b"\n\r")] == [[], [], [Event(b"b")]]


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(noise: bytes) -> None:
    read(noise)

"""A limited dict keeps what was set last."""

from __future__ import annotations

from assent.core.limited_dict import LimitedDict


def test_one_too_many_drops_the_entry_that_was_set_longest_ago() -> None:
    kept = LimitedDict[str, int](2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3  # Set again, so `b` is the oldest now.
    kept.setdefault("c", 4)
    assert dict(kept) == {"a": 3, "c": 4}


def test_an_entry_that_is_used_can_be_kept_longer() -> None:
    kept = LimitedDict[str, int](2)
    kept["a"], kept["b"] = 1, 2
    kept.move_to_end("a")
    kept["c"] = 3
    assert dict(kept) == {"a": 1, "c": 3}

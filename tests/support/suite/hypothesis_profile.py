"""How are properties tried? The same examples on every machine and every run."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support.suite.soak import TORTURE, rounds

steady = settings(
    derandomize=True, deadline=None, database=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)

thorough = settings(steady, max_examples=rounds(300, 20_000))
"""For approvals, claims, redaction and the stores; where they are machines, with so many steps each."""
machines = settings(thorough, stateful_step_count=100 if TORTURE else 50)

# Text as hostile as it comes: anything but lone surrogates, with the troublesome characters made frequent.
HOSTILE = (
    "\\\"'{}[]:,\n\r\t\x00\x1b\x7f\x85\u00a0\u00ad\u200b\u200d\u202e\u2028\u2066\u3164\ufe0f\ufeff\U000e0041\U000e0101"
)
texts = st.text(
    st.one_of(st.sampled_from(HOSTILE), st.characters(exclude_categories=["Cs"]), st.sampled_from("abc u{}")),
    max_size=30,
)
numbers = st.one_of(
    st.integers(-(2**53 - 1), 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, -0.0])
)


def json_values(
    keys: st.SearchStrategy[str] = texts, leaves: int = 20, text: st.SearchStrategy[str] = texts
) -> st.SearchStrategy[Any]:
    """Arbitrary JSON documents."""
    scalars = st.one_of(st.none(), st.booleans(), numbers, text)
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
        max_leaves=leaves,
    )

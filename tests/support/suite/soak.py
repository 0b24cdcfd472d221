"""How much of the soak suites runs: the short form, the long one, or a part of the long one?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise

TORTURE = "--torture" in sys.argv
Told = Callable[[str], None]
"""Says a line at the end of the run, however many workers it has."""


def part(arguments: list[str]) -> int:
    """`--part N`: one round of every N."""
    given = [one.partition("=")[2] for one in arguments if one.startswith("--part=")]
    given += [after for one, after in pairwise(arguments) if one == "--part"]
    return max(1, int(given[-1])) if given else 1


def rounds(short: int, long: int) -> int:
    """Never less than the short form."""
    return max(short, long // part(sys.argv)) if TORTURE else short

"""A caller cannot fill the memory with values of a schema that refers to itself."""

from __future__ import annotations

import time
import tracemalloc
from itertools import product
from typing import Any

from assent.contract.member_names import Spelling

NAMES = [f"p{number}" for number in range(8)]
TREE = {"$ref": "#/$defs/tree"}
SCHEMA = {
    "properties": {"tree": TREE},
    "$defs": {"tree": {"properties": dict.fromkeys(NAMES, TREE) | {"list": {"items": TREE}}}},
}


def tree(depth: int) -> dict[str, Any]:
    return {name: tree(depth - 1) for name in NAMES} if depth else {}


def test_every_path_through_a_recursive_schema_takes_no_memory_of_its_own() -> None:
    spelling, arguments = Spelling([SCHEMA]), {"tree": tree(5)}  # 37,449 objects, each on a path of its own
    started = time.process_time()
    tracemalloc.start()
    try:
        assert list(spelling.find(arguments)) == []
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000
    assert time.process_time() - started < 2.0


def test_other_spellings_are_found_on_every_path() -> None:
    spelling = Spelling([SCHEMA])
    for first, second in product(NAMES, NAMES):
        (found,) = spelling.find({"tree": {first: {"list": [{second: {"P1": 1}}]}}})
        assert found.pointer == f"/tree/{first}/list/0/{second}" and found.meant == "p1"

"""Is what the page on adapters shows what there is?"""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adapters.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
ROWS = re.findall(r"^\| [^|]+ \| `assent\[(.+?)\]` \| `(.+?)`.*? \| `python -m (.+?)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_runs(block: str) -> None:
    exec(compile(block, "adapters.md", "exec"), {"__name__": "page"})


def test_every_row_names_an_extra_an_adapter_and_an_example_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert len(ROWS) == 5
    for extra, adapter, example in ROWS:
        assert extra in extras
        module, _, name = adapter.rpartition(".")
        assert hasattr(importlib.import_module(module), name)
        assert (ROOT / (example.replace(".", "/") + ".py")).is_file()

"""Is what the page on the client shows what the client does?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from assent.client import Question
from assent.client.sender import may_repeat
from assent.client.tool_policy import ASKED, ToolPolicy
from assent.contract.tiers import DEFAULT_RISK, Tier

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_runs(block: str) -> None:
    exec(compile(block, "client.md", "exec"), {"__name__": "page"})


async def test_the_asker_shown_remembers_within_its_bounds() -> None:
    shown: dict[str, Any] = {}
    exec(compile(BLOCKS[1], "client.md", "exec"), shown)
    answer = await shown["ask"](Question("shop", "top_up", "Top up", None))
    assert answer.remember.covers({"amount": 20, "currency": "EUR"})
    assert not answer.remember.covers({"amount": 21, "currency": "EUR"})
    assert (await shown["ask"](Question("shop", "delete", "Delete", None))).action == "decline"


@pytest.mark.parametrize("tier", list(Tier))
def test_the_table_says_what_is_asked_about_and_repeated(tier: Tier) -> None:
    asked, _, repeated = (cell.strip() for cell in ROWS[tier.value].split("|"))
    assert (asked == "yes") is (tier in ASKED)
    bare = ToolPolicy(tier, DEFAULT_RISK[tier], tier in ASKED, "tier", True)
    assert may_repeat(bare, keyed=False) is (repeated == "yes")
    assert may_repeat(bare, keyed=True) is (repeated != "never")
    hinted = ToolPolicy(tier, DEFAULT_RISK[tier], tier in ASKED, "tier", True, idempotent=True)
    assert may_repeat(hinted, keyed=False) is (repeated == "yes" or repeated.startswith("idempotent"))
    natural = ToolPolicy(tier, DEFAULT_RISK[tier], tier in ASKED, "contract", True, idempotent=True)
    assert may_repeat(natural, keyed=False) is (repeated != "never")

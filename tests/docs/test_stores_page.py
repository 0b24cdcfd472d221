"""Is what the page on stores shows what the program takes?"""

import re
from pathlib import Path
from textwrap import dedent

from assent.cli import COMMANDS
from assent.config.load import parse_settings

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text("utf-8")
BLOCKS = [dedent(block) for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)]


def test_the_settings_shown_are_settings() -> None:
    shown = parse_settings(next(block for block in BLOCKS if block.startswith("limits:")))
    assert [limit.calls for limit in shown.limits] == [60, 5]
    assert [(str(budget.amount), budget.currency) for budget in shown.budgets] == [("500", "EUR"), ("20", None)]
    assert shown.approvals.cooldown == 60


def test_the_commands_shown_are_commands() -> None:
    shown = {line.split()[1] for block in BLOCKS for line in block.splitlines() if line.startswith("assent ")}
    assert shown == {"claims", "store"}
    assert shown <= set(COMMANDS)

"""The recipes of docs/guards.md, run as written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from assent.config.load import parse_settings
from assent.core.outcome import Answer, Outcome
from assent.testing.world import World

PAGE = (Path(__file__).parents[2] / "docs" / "guards.md").read_text("utf-8")
RECIPES = PAGE.split("\n## Recipes\n")[1].split("\n## Reference\n")[0]
TOOLS = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", RECIPES, re.DOTALL)[0])["tools"]
SECTIONS = dict(part.split("\n", 1) for part in RECIPES.split("\n### ")[1:])
NAMES = {
    "Read-only mailbox",
    "Internal recipients only",
    "Protected branches and paths",
    "Spending cap",
    "No personal data out",
}


def rows_of(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def ending(outcome: Outcome) -> str:
    return "runs" if isinstance(outcome, Answer) else outcome.code


def test_the_recipes_are_there() -> None:
    assert set(SECTIONS) == NAMES


@pytest.mark.parametrize("name", SECTIONS)
async def test_a_recipe_does_what_its_table_says(name: str) -> None:
    settings = parse_settings(re.findall(r"```yaml\n(.*?)```", SECTIONS[name], re.DOTALL)[0])
    returned: list[Any] = []
    world = World(TOOLS, {tool: lambda _: returned[-1] for tool in TOOLS}, guards=settings.rules())
    world.but(budgets=settings.budgets)
    rows = rows_of(SECTIONS[name])
    assert len(rows) >= 4
    for row in rows:
        tool, _, arguments = row[0].partition(" ")
        returned.append(json.loads(row[1]) if len(row) == 3 and row[1] != "–" else {"ok": True})
        outcome = await world.call(tool, json.loads(arguments))
        if row[-1].startswith("{"):
            assert isinstance(outcome, Answer) and outcome.result["structuredContent"] == json.loads(row[-1])
        else:
            assert ending(outcome) == row[-1], row

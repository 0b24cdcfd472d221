"""The page of concepts, the pictures and the sizes are what the code says."""

from __future__ import annotations

import re
import runpy
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

from assent import Assent, contract
from assent.contract.decorator import contract_of
from assent.contract.tiers import DEFAULT_RISK, Tier
from assent.core.problems import CATALOGUE
from assent.pipeline.plan import STAGES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONCEPTS = (DOCS / "concepts.md").read_text("utf-8")
LINES = (ROOT / "src" / "assent" / "pipeline" / "govern.py").read_text("utf-8").partition("async def run_stages")[2]


def rows(mark: str) -> list[list[str]]:
    table = CONCEPTS.split(f"<!-- {mark} -->\n")[1].split(f"<!-- /{mark} -->")[0]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_table_of_tiers_has_every_tier_with_its_risk() -> None:
    risks = [(tier.value, DEFAULT_RISK[tier].name.lower()) for tier in Tier]
    assert [(row[0], row[2]) for row in rows("tiers")] == risks


def test_a_question_is_asked_where_the_table_says() -> None:
    for tier, _, _, before in rows("tiers"):
        declared = contract_of(contract(side_effect=Tier(tier))(lambda: None), "tool")
        assert declared is not None
        assert (declared.confirmation.by != "none") == (before != "nothing"), tier


def test_the_table_of_stages_has_the_order_of_the_pipeline() -> None:
    stages = [row[0] for row in rows("stages")]
    called = [name for name in re.findall(r"\b(\w+)\(", LINES) if name in stages]
    assert stages == list(STAGES)
    assert list(dict.fromkeys(called)) in (stages[1:], [*stages[1:-2], "execute", "claim"])
    # The refusals of `afford` are older than the stage, and keep their codes.
    assert {code.split(".")[0] for code in CATALOGUE} >= {*stages} - {"afford"}


def test_each_cell_of_the_table_of_doors_is_yes_or_leads_to_a_reason() -> None:
    table, below = rows("doors"), CONCEPTS.split("<!-- /doors -->")[1]
    assert {len(row) for row in table} == {8}
    without = {cell for row in table for cell in row[1:] if cell != "yes"}
    assert without == {f"– {number}" for number in re.findall(r"^(\d+)\. \w", below, re.MULTILINE)}


def test_the_picture_of_a_call_shows_every_stage_in_order() -> None:
    picture = (DOCS / "images" / "call-path.svg").read_text("utf-8")
    shown = [text for text in re.findall(r">([a-z_]+)</text>", picture) if text in {row[0] for row in rows("stages")}]
    assert shown == [row[0] for row in rows("stages")]


def test_the_picture_of_packages_is_current() -> None:
    pictures = runpy.run_path(str(DOCS / "site" / "pictures.py"))
    drawn = (DOCS / "images" / "packages.svg").read_text("utf-8")
    assert drawn == pictures["packages_picture"](), "run: make docs-reference"


@pytest.mark.parametrize(("tier", "kilobytes"), [("write", 3), ("read", 2)])
async def test_a_call_takes_no_more_disk_than_the_page_says(tmp_path: Path, tier: Any, kilobytes: int) -> None:
    assert f"under {kilobytes} kB" in (DOCS / "operations.md").read_text("utf-8")
    database = tmp_path / "calls.db"
    assent = Assent(store=f"sqlite:///{database}")
    server = MCPServer("notes", extensions=[assent.extension()])

    @server.tool()
    @contract(side_effect=tier)
    def note(text: str) -> dict[str, str]:
        return {"id": text}

    assent.apply(server)
    calls = 300
    async with Client(server) as client:
        for number in range(calls):
            assert not (await client.call_tool("note", {"text": f"order {number} of the day"})).is_error
    sqlite3.connect(database).execute("pragma wal_checkpoint(truncate)")
    assert database.stat().st_size < calls * kilobytes * 1000

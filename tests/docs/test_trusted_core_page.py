"""The page of the trusted core names its files, and they stay under 5,000 lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assent.pipeline.plan import STAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "trusted-core.md").read_text("utf-8")
MOST = 5000
CORE, DATABASES = PAGE.split("And one of the databases:")
ROW = re.compile(r"^\| (\w+) \| (`stores/.*)\|$", re.MULTILINE)


def files_in(text: str) -> list[Path]:
    return [ROOT / "src" / "assent" / name for name in re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", text)]


def lines_of(files: list[Path]) -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


@pytest.mark.parametrize(("database", "files"), ROW.findall(DATABASES))
def test_the_trusted_core_with_one_database_stays_small_and_the_page_says_how_small(database: str, files: str) -> None:
    named = [*files_in(CORE), *files_in(files)]
    assert len(named) == len(set(named)) > 30
    counted, stated = lines_of(named), re.search(r"about ([\d,]+) now", PAGE)
    assert counted < MOST, f"{database}: {counted} lines"
    assert stated is not None and abs(int(stated[1].replace(",", "")) - counted) <= 100, counted


def test_every_stage_is_part_of_the_trusted_core() -> None:
    named = {file.stem for file in files_in(CORE) if file.parent.name == "pipeline"}
    assert STAGES.keys() - {"authenticate"} <= named
    assert {"govern", "plan", "record", "approve"} <= named

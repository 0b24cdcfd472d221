"""The tutorial, walked as it is written: in an empty folder, with the real command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.page_walk import PageWalk

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PageWalk]:
    walk = PageWalk(tmp_path)
    yield walk
    walk.close()


@pytest.mark.parametrize("page", sorted(TUTORIAL.glob("*.md")), ids=lambda page: page.stem)
def test_a_reader_who_follows_the_page_sees_what_it_shows(reader: PageWalk, page: Path) -> None:
    assert reader.walk(page.read_text("utf-8")) >= 4

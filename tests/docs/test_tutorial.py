"""The tutorial, walked as it is written: in an empty folder, with the real command, and in a browser."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.console.browser import CHROMIUM
from support.console.chromium import chromium_page
from support.documents.page_walk import PageWalk

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial"
FIRST, *OTHERS = sorted(TUTORIAL.glob("*.md"))
DECLINED = """```console
$ python call.py delete_order '{"order_id": "o-2"}'
A person declined this call. …"Wait for Ann."…
```
"""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PageWalk]:
    walk = PageWalk(tmp_path)
    yield walk
    walk.close()


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.stem)
def test_a_reader_who_follows_the_page_sees_what_it_shows(reader: PageWalk, page: Path) -> None:
    if page.stem == "3-your-team" and shutil.which("curl") is None:
        pytest.skip("there is no curl")
    assert reader.walk(page.read_text("utf-8")) >= 4


def test_there_are_three_parts() -> None:
    assert [page.stem for page in (FIRST, *OTHERS)] == ["1-first-call", "2-your-server", "3-your-team"]


async def deny_in_the_browser(reader: PageWalk) -> None:
    """Step 7: open the link of the page, choose the call in the inbox, and say no with a reason."""
    [link] = [real for shown, real in reader.known.items() if shown.startswith("link=")]
    async with chromium_page() as page:
        await page.goto(f"http://127.0.0.1:{reader.port}/console/signin?{link}")
        await page.wait_for_url("**/console/approvals")
        await page.locator("a[href*='/console/approvals/']").first.click()
        await page.get_by_label("Reason").fill("Wait for Ann.")
        await page.get_by_role("button", name="Deny").click()
        await page.get_by_text("Wait for Ann.").first.wait_for()


async def test_a_reader_of_the_first_part_sees_what_it_shows_and_decides_in_the_browser(reader: PageWalk) -> None:
    assert await asyncio.to_thread(reader.walk, FIRST.read_text("utf-8")) >= 10
    if CHROMIUM is not None:
        await deny_in_the_browser(reader)
        await asyncio.to_thread(reader.walk, DECLINED)

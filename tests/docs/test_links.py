"""Every link between pages leads to a file and to a heading in it; no site generator is needed to know."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]


@cache
def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)


@cache
def anchors(page: Path) -> set[str]:
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", prose(page), re.M)]
    made = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
    return made | set(re.findall(r'(?:id|name)="([^"]+)"', prose(page)))


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or target.suffix != ".md" or heading in anchors(target))


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page)))
        if "://" not in link and not link.startswith("mailto:")
    ]
    assert len(links) > 500
    assert [(page.name, link) for page, link in links if not leads_somewhere(page, link)] == []

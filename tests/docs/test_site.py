"""The documentation site builds without a warning, is complete, and loads nothing from elsewhere."""

from __future__ import annotations

import functools
import html.parser
import importlib.util
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from assent.core.outcome import Refusal
from assent.core.problems import CATALOGUE, Failure
from assent.people.api.problems import FAULTS
from support.console.chromium import chromium_page, needs_chromium

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMING = {"flow.md"}  # pages that other changes add
WEB = ("http://", "https://", "//")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None, reason="there is no site generator: make docs"
)


def load_builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_build", DOCS / "site" / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILDER = load_builder()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path = BUILDER.build(tmp_path_factory.mktemp("site"))
    return built


class PageParser(html.parser.HTMLParser):
    """Links, loaded assets and anchors of one page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.assets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("next", "prev", "canonical"):
            self.assets += [found["href"]] if "href" in found else []
        elif "src" in found:
            self.assets.append(found["src"])


@pytest.fixture(scope="module")
def parsed(site: Path) -> dict[Path, PageParser]:
    return {page: PageParser(page) for page in site.rglob("*.html")}


def test_every_page_is_in_the_navigation_and_every_entry_has_a_page() -> None:
    named = BUILDER.pages_of(yaml.safe_load((DOCS / "site" / "navigation.yaml").read_text("utf-8")))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert {page for page in pages if not page.startswith("adr/0")} - set(named) == set()
    assert {page for page in named if not (DOCS / page).is_file()} <= COMING
    assert len(named) == len(set(named))


def test_every_decision_is_in_its_index() -> None:
    index = (DOCS / "adr" / "README.md").read_text("utf-8")
    assert [page.name for page in (DOCS / "adr").glob("0*.md") if f"({page.name})" not in index] == []


def test_no_page_loads_anything_from_elsewhere(parsed: dict[Path, PageParser]) -> None:
    assert len(parsed) > 100
    assert {asset for page in parsed.values() for asset in page.assets if asset.startswith(WEB)} == set()


def leads_somewhere(site: Path, parsed: dict[Path, PageParser], page: Path, link: str) -> bool:
    place = urlsplit(link)
    if place.scheme or place.netloc or place.fragment.startswith("__"):
        return True
    folder = site if page.name == "404.html" else page.parent
    target = (folder / unquote(place.path).lstrip("/")).resolve() if place.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    return not place.fragment or target not in parsed or unquote(place.fragment) in parsed[target].anchors


def test_every_link_and_image_leads_somewhere(site: Path, parsed: dict[Path, PageParser]) -> None:
    links = ((page, link) for page, found in parsed.items() for link in found.links + found.assets)
    assert [(page.name, link) for page, link in links if not leads_somewhere(site, parsed, page, link)] == []


@contextmanager
def served(site: Path) -> Iterator[str]:
    """A plain web server."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@needs_chromium
async def test_search_works_from_a_plain_web_server_and_nothing_else_is_asked(site: Path) -> None:
    with served(site) as url:
        async with chromium_page(viewport={"width": 390, "height": 844}) as page:
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            await page.goto(url + "gateway.html")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            await page.set_viewport_size({"width": 1280, "height": 900})
            box = page.get_by_placeholder("Search")
            for _ in range(100):  # the page listens to keys only once its script has run
                await page.keyboard.press("Control+k")
                if await box.is_visible():
                    break
                await page.wait_for_timeout(100)
            await box.fill("idempotency key")
            await page.locator("a[href*='gateway.html']", has_text="Keys and retries").first.wait_for()
    assert [address for address in asked if not address.startswith((url, "blob:", "data:"))] == []


@needs_chromium
async def test_the_copy_button_copies_the_commands_alone(site: Path) -> None:
    with served(site) as url:
        async with chromium_page(permissions=["clipboard-read", "clipboard-write"]) as page:
            await page.goto(url + "tutorial/1-first-call.html")
            block = page.locator(".highlight", has_text="assent approvals list")
            await block.hover()
            await block.locator("button").first.click()
            assert await page.evaluate("navigator.clipboard.readText()") == "assent approvals list"


def test_the_type_of_every_problem_leads_to_its_row(site: Path) -> None:
    anchors = PageParser(site / "refusals.html").anchors
    assert {*CATALOGUE, *FAULTS} <= anchors


def test_the_types_of_problems_are_pages_of_the_site(site: Path) -> None:
    refusal = Refusal("confirm.declined").problem()["type"]
    failure = Failure("card_declined", 402, "The card was declined.").problem()["type"]
    for address in (refusal, failure):
        assert (site / f"{urlsplit(address).path.strip('/')}.html").is_file(), address


def test_the_page_of_failures_shows_a_problem_as_tools_answer_it() -> None:
    [shown] = re.findall(r"```json\n(.*?)```", (DOCS / "failures.md").read_text("utf-8"), re.DOTALL)
    assert json.loads(shown) == Failure("card_declined", 402, "The card was declined.").problem()

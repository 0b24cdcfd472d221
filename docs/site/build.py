"""Builds the documentation site: `python docs/site/build.py [FOLDER]` writes FOLDER/site (default: build/docs).

The pages are copied together with the files of the repository that they link to. So every link works in the site and
in the source. A warning of the generator ends the build. The generator, Zensical, is an alpha, so its version is
pinned; MkDocs has had no release for two years, and Sphinx reads another dialect of Markdown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomlkit
import yaml

SITE = Path(__file__).resolve().parent
DOCS = SITE.parent
ROOT = DOCS.parent
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
PLAIN_COMMANDS = re.compile(r"^```console(?=\n(?!\$ ))", re.MULTILINE)
"""A block of commands without prompts: as `console` it would be shown as output."""
LANGUAGES = {".py": "python", ".yaml": "yaml", ".json": "json", ".service": "ini"}


def build(folder: Path) -> Path:
    """Build the site in `folder` and return the folder of its pages."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    navigation = existing(yaml.safe_load((SITE / "navigation.yaml").read_text("utf-8")))
    sources = [path for path in DOCS.rglob("*") if path.is_file() and SITE not in path.parents]
    stage(pages, [*sources, *((DOCS / page).resolve() for page in pages_of(navigation))])
    # The `type` of a problem is https://assent.dev/refusals#CODE.
    refusals = (DOCS / "reference" / "refusals.md").read_text("utf-8")
    (pages / "refusals.md").write_text(refusals.replace("](../", "]("), "utf-8")
    for asset in ("site.css", "site.js", "logo.svg"):
        shutil.copy(SITE / asset, pages / asset)
    settings = tomlkit.parse((SITE / "zensical.toml").read_text("utf-8")).unwrap()
    settings["project"]["nav"] = placed(navigation)
    (folder / "zensical.toml").write_text(tomlkit.dumps(settings), "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if ran.returncode or "Warning" in ran.stderr:
        raise SystemExit(f"The site has faults:\n{ran.stdout}{ran.stderr}")
    return folder / "site"


def existing(entry: Any) -> Any:
    """The navigation without the pages that do not exist."""
    if isinstance(entry, list):
        return [kept for kept in map(existing, entry) if kept]
    if isinstance(entry, dict):
        return {title: kept for title, value in entry.items() if (kept := existing(value))}
    return entry if (DOCS / entry).is_file() else None


def pages_of(entry: Any) -> list[str]:
    """Every page that the navigation names, in its order."""
    if isinstance(entry, str):
        return [entry]
    return [page for value in (entry.values() if isinstance(entry, dict) else entry) for page in pages_of(value)]


def placed(entry: Any) -> Any:
    """The navigation with the places that the pages have in the site."""
    if isinstance(entry, list):
        return [placed(value) for value in entry]
    if isinstance(entry, dict):
        return {title: placed(value) for title, value in entry.items()}
    return str(place_of((DOCS / entry).resolve()))


def stage(pages: Path, sources: list[Path]) -> None:
    """Copy the files, and each file of the repository that a page links to."""
    staged: set[Path] = set()
    while sources:
        source = sources.pop()
        if source in staged:
            continue
        staged.add(source)
        to = pages / place_of(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        if to.suffix != ".md":
            shutil.copy(source, to)
        elif source.suffix == ".md":
            text, linked = with_placed_links(source)
            to.write_text(text, "utf-8")
            sources += linked
        else:
            to.write_text(source_page(source), "utf-8")


def place_of(source: Path) -> Path:
    """Where a file is in the site. Outside `docs`, a file that is not a page becomes one."""
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS)
    place = "source" / source.relative_to(ROOT)
    return place if place.suffix == ".md" else place.with_name(place.name + ".md")


def with_placed_links(source: Path) -> tuple[str, list[Path]]:
    """The text of a page with links to where files are in the site, and the files that it links to."""
    linked: list[Path] = []

    def placed_link(match: re.Match[str]) -> str:
        target = (source.parent / match[0]).resolve()
        if not target.is_file():
            return match[0]
        linked.append(target)
        return os.path.relpath(place_of(target), place_of(source).parent)

    return PLAIN_COMMANDS.sub("```bash", LINK.sub(placed_link, source.read_text("utf-8"))), linked


def source_page(source: Path) -> str:
    """A page that shows a file of the repository."""
    head = f"# {source.name}\n\n`{source.relative_to(ROOT)}`\n\n"
    return f"{head}````{LANGUAGES.get(source.suffix, 'text')}\n{source.read_text('utf-8')}````\n"


if __name__ == "__main__":
    site = build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs").resolve())
    sys.stderr.write(f"Wrote {site}. Look at it: python -m http.server --directory {os.path.relpath(site)}\n")

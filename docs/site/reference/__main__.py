"""Writes the reference pages, or checks that they are current: `python -m docs.site.reference [--check] FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from docs.site.reference.pages import PAGES


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("docs/reference"))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a page is not current.")
def main(folder: Path, check: bool) -> None:
    """Write every reference page into FOLDER."""
    stale = [name for name, page in PAGES.items() if _text_of(folder / name) != page()]
    for name in stale:
        if check:
            click.echo(f"{folder / name} is not current. Run: python -m docs.site.reference {folder}", err=True)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(PAGES[name](), encoding="utf-8")
            click.echo(f"wrote {folder / name}", err=True)
    sys.exit(1 if check and stale else 0)


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    main()

"""Draws the picture of the packages from the layers in pyproject.toml: `python docs/site/pictures.py` writes it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "packages.svg"
ROWS = {
    "cli": "Commands",
    "verify": "Checks",
    "fastmcp": "Edges",
    "hosts": "Advice",
    "config": "Set-up",
    "pipeline": "Decisions",
    "stores": "Storage, protocol",
    "ports": "Core",
}
"""The first package of each row, and the row's title."""
WIDTH, LEFT, HEIGHT, GAP = 900, 150, 40, 16
STYLE = (
    'text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:13px;fill:#171a1f}'
    ".ground{fill:#fff}.box{fill:#e8eefc;stroke:#2450b8}.line{stroke:#565d69;fill:none;marker-end:url(#a)}"
    ".title{font-weight:600}"
    "@media (prefers-color-scheme: dark){text{fill:#e9ebef}.ground{fill:#14161b}.box{fill:#1c2745;stroke:#8fb0ff}"
    ".line{stroke:#a4acb9}}"
)
MARKER = (
    '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#777f8c"/></marker></defs>'
)


def packages_picture() -> str:
    """The picture: one row for each group of layers; imports point down."""
    rows = grouped_packages()
    parts = [part for number, (title, names) in enumerate(rows) for part in _row(number, title, names)]
    arrows = [
        f'<path class="line" d="M60 {_top(number) + HEIGHT - 6}L60 {_top(number + 1) + 8}"/>'
        for number in range(len(rows) - 1)
    ]
    height = _top(len(rows)) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Packages and import direction"><style>{STYLE}</style>{MARKER}'
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>{"".join(parts + arrows)}</svg>\n'
    )


def grouped_packages() -> list[tuple[str, list[str]]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rows: list[tuple[str, list[str]]] = []
    for name in (name.strip() for layer in layers for name in layer.split("|")):
        if name in ROWS or not rows:
            rows.append((ROWS.get(name, ""), []))
        rows[-1][1].append(name)
    return rows


def _top(number: int) -> int:
    return 16 + number * (HEIGHT + GAP)


def _row(number: int, title: str, names: list[str]) -> list[str]:
    top, width = _top(number), (WIDTH - LEFT - 16) / len(names)
    parts = [f'<text x="16" y="{top + 25}" class="title">{title}</text>']
    for place, name in enumerate(names):
        left = LEFT + place * width
        parts.append(f'<rect x="{left:.1f}" y="{top}" width="{width - 8:.1f}" height="{HEIGHT}" rx="7" class="box"/>')
        parts.append(f'<text x="{left + width / 2 - 4:.1f}" y="{top + 25}" text-anchor="middle">{name}</text>')
    return parts


if __name__ == "__main__":
    PICTURE.write_text(packages_picture(), "utf-8")
    sys.stderr.write(f"wrote {PICTURE.relative_to(ROOT)}\n")

"""Charts as SVG files that follow the reader's light or dark colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:13px;fill:#171a1f}
.soft{fill:#565d69;font-size:12px}.title{font-weight:600;font-size:15px}.number{font-variant-numeric:tabular-nums}
.ours{fill:#2450b8}.other{fill:#9aa4b2}.floor{fill:#14663a}.grid{stroke:#d5d9e0}.axis{stroke:#9aa4b2}
.line{fill:none;stroke:#2450b8;stroke-width:1.6;stroke-linejoin:round}.second{fill:none;stroke:#b06a00;stroke-width:1.2}
.page{fill:#fff}
@media (prefers-color-scheme: dark){text{fill:#e9ebef}.soft{fill:#a4acb9}.ours{fill:#8fb0ff}.other{fill:#586070}
.floor{fill:#6fd39b}.grid{stroke:#2c313a}.axis{stroke:#586070}.line{stroke:#8fb0ff}.second{stroke:#ffc56e}.page{fill:#14161a}}
"""
_LABELS, _BARS, _FIGURES, _ROW = 318, 420, 222, 26
_PANEL_WIDTH, _PANEL_HEIGHT, _MARGIN = 440, 150, 54


@dataclass(frozen=True)
class Bar:
    label: str
    value: float | None
    """None draws no bar: the figures say why."""
    figures: str
    kind: str = "other"
    """ours, other or floor."""


@dataclass(frozen=True)
class Panel:
    """One line chart; a second line has the same scale."""

    title: str
    points: Sequence[tuple[float, float]]
    second: Sequence[tuple[float, float]] = ()


def bar_chart(title: str, note: str, bars: Sequence[Bar]) -> str:
    """Bars on a logarithmic scale, with the figures beside them."""
    values = [bar.value for bar in bars if bar.value]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    width, height = _LABELS + _BARS + _FIGURES, 96 + _ROW * len(bars)
    parts = [f'<text x="16" y="28" class="title">{escape(title)}</text>']
    for power in range(low, high + 1):
        x = _LABELS + _BARS * (power - low) / (high - low)
        parts.append(f'<line x1="{x:.1f}" y1="50" x2="{x:.1f}" y2="{height - 34}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="46" text-anchor="middle" class="soft">{10.0**power:,.15g}×</text>')
    for at, bar in enumerate(bars):
        y = 58 + _ROW * at
        parts.append(f'<text x="{_LABELS - 10}" y="{y + 14}" text-anchor="end">{escape(bar.label)}</text>')
        length = 0.0
        if bar.value:
            length = max(2.0, _BARS * (math.log10(bar.value) - low) / (high - low))
            parts.append(
                f'<rect x="{_LABELS}" y="{y + 2}" width="{length:.1f}" height="17" rx="3" class="{bar.kind}"/>'
            )
        x = _LABELS + (_BARS + 12 if bar.value else 8)
        parts.append(f'<text x="{x}" y="{y + 15}" class="soft number">{escape(bar.figures)}</text>')
    parts.append(f'<text x="16" y="{height - 12}" class="soft">{escape(note)}</text>')
    return _page(width, height, title, parts)


def line_charts(title: str, note: str, panels: Sequence[Panel], unit: str = "min") -> str:
    """Line charts in two columns, each from zero, so that a slope looks as steep as it is."""
    rows = (len(panels) + 1) // 2
    width, height = 2 * _PANEL_WIDTH + 20, 76 + rows * (_PANEL_HEIGHT + 50)
    parts = [f'<text x="16" y="28" class="title">{escape(title)}</text>']
    for at, panel in enumerate(panels):
        parts += _panel(panel, 10 + at % 2 * _PANEL_WIDTH, 54 + at // 2 * (_PANEL_HEIGHT + 50), unit)
    parts.append(f'<text x="16" y="{height - 10}" class="soft">{escape(note)}</text>')
    return _page(width, height, title, parts)


def _panel(panel: Panel, left: float, top: float, unit: str) -> list[str]:
    every = [*panel.points, *panel.second]
    end, most = max(x for x, _ in every) or 1.0, _round_up(max(y for _, y in every))
    inner, bottom = _PANEL_WIDTH - _MARGIN - 24, top + _PANEL_HEIGHT
    parts = [f'<text x="{left + _MARGIN}" y="{top - 6}">{escape(panel.title)}</text>']
    for part in (0.0, 0.5, 1.0):
        y = bottom - part * (_PANEL_HEIGHT - 10)
        parts.append(
            f'<line x1="{left + _MARGIN}" y1="{y:.1f}" x2="{left + _MARGIN + inner}" y2="{y:.1f}" class="grid"/>'
        )
        parts.append(
            f'<text x="{left + _MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end" class="soft">{most * part:,.6g}</text>'
        )
        x = left + _MARGIN + part * inner
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" class="soft">{end * part:,.3g} {unit}</text>'
        )
    for points, kind in ((panel.second, "second"), (panel.points, "line")):
        if points:
            at = " ".join(
                f"{left + _MARGIN + x / end * inner:.1f},{bottom - y / most * (_PANEL_HEIGHT - 10):.1f}"
                for x, y in points
            )
            parts.append(f'<polyline points="{at}" class="{kind}"/>')
    return parts


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5 and 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if value <= step * power)


def _page(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
    page = f'<rect width="{width}" height="{height}" rx="8" class="page"/>'
    return f'{head} aria-label="{escape(title)}"><style>{STYLE}</style>{page}{"".join(parts)}</svg>\n'

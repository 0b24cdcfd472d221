"""Merges the metrics pages of several workers into one."""

from __future__ import annotations

from collections.abc import Mapping


def merge_metrics(pages: Mapping[int, bytes]) -> bytes:
    """One page: each family once, its samples with the label `worker`.

    Sums would be wrong for gauges, and Prometheus sums counters over a label by itself.
    """
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, page in sorted(pages.items()):
        family = ""
        for line in page.decode().split("\n"):  # A name in a label may hold characters that others take for line ends.
            if line.startswith("# "):
                family = line.split(" ", 3)[2]
                head = heads.setdefault(family, [])
                if line not in head:
                    head.append(line)
            elif line:
                samples.setdefault(family, []).append(_labelled(line, number))
    lines = [line for family, head in heads.items() for line in (*head, *samples.get(family, ()))]
    return ("\n".join(lines) + "\n").encode()


def _labelled(sample: str, number: int) -> str:
    """`name{a="b"} 1` with the label `worker` in front; the value follows the last brace or the first space."""
    name, brace, rest = sample.partition("{")
    if brace:
        return f'{name}{{worker="{number}",{rest}'
    name, _, value = sample.partition(" ")
    return f'{name}{{worker="{number}"}} {value}'

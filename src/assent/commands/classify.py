"""`assent classify`: what do these tools probably do?"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

import click

from assent.errors import Fault, FaultsError
from assent.infer import classify_lines


@click.command()
@click.argument("file", type=click.File(encoding="utf-8-sig"), default="-")
@click.option("--trust-annotations", is_flag=True, help="Believe declared hints instead of ignoring them.")
def classify(file: TextIO, trust_annotations: bool) -> None:
    """Infer the effect of tools from their definitions.

    FILE (or standard input) has one tool definition or one page of a tools/list result per line, or is such a result
    over several lines. One JSON object is written for each tool, in the same order: name, tier, risk, read_only,
    destructive, overwrites, open_world, confidence, reasons and labels.
    """
    try:
        _write(classify_lines(file, trust_annotations=trust_annotations), at_once=not file.seekable())
    except UnicodeDecodeError:
        raise FaultsError(Fault("the input is not UTF-8 text", "Convert it to UTF-8")) from None


def _write(lines: Iterable[str], *, at_once: bool) -> None:
    """Whoever sends definitions one by one may wait for each answer; a file is answered as the output takes it."""
    output = sys.stdout
    try:
        for line in lines:
            output.write(line + "\n")
            if at_once:
                output.flush()
    finally:
        output.flush()

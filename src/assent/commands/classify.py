"""`assent classify`: what do these tools probably do?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

import click

from assent.commands.shares import count_cores, judge_shares, read_shares
from assent.errors import Fault, FaultsError
from assent.infer import classify_lines, is_document


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--trust-annotations", is_flag=True, help="Believe declared hints instead of ignoring them.")
def classify(file: BinaryIO, trust_annotations: bool) -> None:
    """Infer the effect of tools from their definitions.

    FILE (or standard input) has one tool definition or one page of a tools/list result per line, or is such a result
    over several lines. One JSON object is written for each tool, in the same order: name, tier, risk, read_only,
    destructive, overwrites, open_world, confidence, reasons and labels.
    """
    try:
        for answers in _judge(file, trust_annotations):
            sys.stdout.writelines(f"{answer}\n" for answer in answers)
            sys.stdout.flush()
    except UnicodeDecodeError:
        raise FaultsError(Fault("the input is not UTF-8 text", "Convert it to UTF-8")) from None


def _judge(file: BinaryIO, trust_annotations: bool) -> Iterator[list[str]]:
    """The answers as they are ready: whoever sends definitions one by one may wait for each."""
    shares = read_shares(file)
    first = next((share for share in shares if share), [])
    shares = chain([first], shares)
    if first and is_document(first[0][1]):
        lines = (f"{line}\n" for share in shares for _, line in share)
        yield list(classify_lines(lines, trust_annotations=trust_annotations))
    else:
        yield from judge_shares(shares, trust_annotations=trust_annotations, cores=count_cores())

"""`assent classify`: infers what tools do from their definitions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import click

from assent.cli.classify_parallel import classify_shares, count_cores, read_shares
from assent.cli.shared.targets import TargetCommand, chosen, names_nothing
from assent.core.render import visible
from assent.errors import Fault, FaultsError, SettingsError
from assent.infer import classify_lines, is_document
from assent.lint.sources import kind_of


@click.command(cls=TargetCommand)
@click.argument("target", required=False)
@click.option("--trust-annotations", is_flag=True, help="Believe declared hints instead of ignoring them.")
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a URL.")
@click.pass_context
def classify(ctx: click.Context, target: str | None, trust_annotations: bool, headers: tuple[str, ...]) -> None:
    """Infer the effect of tools from their definitions.

    TARGET (or standard input) has one tool definition or one page of a tools/list result per line, or is such a result
    over several lines; or it is any other target of `assent lint`: a URL, an OpenAPI document, a client's
    configuration, package.module:server, a configured upstream, or a command after `--`. One JSON object is written
    for each tool, in the same order: name, tier, risk, read_only, destructive, overwrites, open_world, confidence,
    reasons and labels.
    """
    if target is None and names_nothing(ctx, target):
        target = "-"
    try:
        for answers in _answers(ctx, target, trust_annotations, headers):
            sys.stdout.writelines(f"{answer}\n" for answer in answers)
            sys.stdout.flush()
    except UnicodeDecodeError:
        raise FaultsError(Fault("the input is not UTF-8 text", "Convert it to UTF-8")) from None


def _answers(
    ctx: click.Context, target: str | None, trust_annotations: bool, headers: tuple[str, ...]
) -> Iterator[list[str]]:
    """The answers about a stream of definitions as they come; about any other target all at once."""
    if target is not None and _is_stream(target):
        with click.open_file(target, "rb") as file:
            yield from _judge(cast("BinaryIO", file), trust_annotations)
        return
    reads = chosen(ctx, target, "spec", (), headers).read_all()
    for read in reads:
        if read.unchecked:
            click.echo(f"{visible(read.target.name)}: not classified: {visible(read.unchecked)}", err=True)
    subjects = [one for read in reads for one in read.target.subjects]
    if any(one.partial for one in subjects) or not subjects:
        remedy = "Name a server, or a file with definitions"
        raise SettingsError(Fault("there are no tool definitions in it", remedy, file=target or ""))
    lines = (json.dumps(one.definition) for one in subjects)
    yield list(classify_lines(lines, trust_annotations=trust_annotations))
    if any(read.unchecked for read in reads):
        ctx.exit(1)


def _is_stream(target: str) -> bool:
    """Whether the target is read line by line: standard input, a pipe, or a file that holds definitions."""
    path = Path(target)
    if target == "-" or (path.exists() and not path.is_file()):
        return True
    if not path.is_file():
        return False
    try:
        return kind_of(path.read_text(encoding="utf-8-sig"), target)[0] == "definitions"
    except (FaultsError, UnicodeDecodeError, OSError):
        return True  # reading it says what is wrong, and in which line


def _judge(file: BinaryIO, trust_annotations: bool) -> Iterator[list[str]]:
    """The answers as they are ready: whoever sends definitions one by one may wait for each."""
    shares = read_shares(file)
    first = next((share for share in shares if share), [])
    shares = chain([first], shares)
    if first and is_document(first[0][1]):
        lines = (f"{line}\n" for share in shares for _, line in share)
        yield list(classify_lines(lines, trust_annotations=trust_annotations))
    else:
        yield from classify_shares(shares, trust_annotations=trust_annotations, cores=count_cores())

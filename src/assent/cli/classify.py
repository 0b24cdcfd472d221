"""`assent classify`: infers what tools do from their definitions."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import click

from assent.cli.shared.options import TargetCommand
from assent.core.question import visible
from assent.errors import Fault, FaultsError, SettingsError


@click.command(cls=TargetCommand)
@click.argument("target", required=False)
@click.option("--trust-annotations", is_flag=True, help="Trust the declared hints.")
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header to send to a URL.")
@click.pass_context
def classify(ctx: click.Context, target: str | None, trust_annotations: bool, headers: tuple[str, ...]) -> None:
    """Infer the effect of tools from their definitions.

    TARGET (or standard input) is a file of tool definitions: one definition or one page of a tools/list result per
    line, or one result over several lines. It can also be any target of `assent lint`: a URL, an OpenAPI document, a
    client's configuration, package.module:server, a configured upstream, or a command after `--`. The output is one
    JSON object per tool, in the same order: name, tier, risk, read_only, destructive, overwrites, open_world,
    confidence, reasons and labels.

    Example: assent classify https://example.com/mcp
    """
    from assent.cli.shared.targets import names_nothing

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
    """The answers for a stream of definitions as they arrive; for any other target all at once."""
    from assent.cli.shared.targets import chosen
    from assent.contract.infer import classify_lines

    if target is not None and _is_stream(target):
        with click.open_file(target, "rb") as file:
            yield from _classify_stream(cast("BinaryIO", file), trust_annotations)
        return
    reads = chosen(ctx, target, "spec", (), headers).read_all()
    for read in reads:
        if read.unchecked:
            click.echo(f"{visible(read.target.name)}: not classified: {visible(read.unchecked)}", err=True)
    subjects = [one for read in reads for one in read.target.subjects]
    if any(one.partial for one in subjects) or not subjects:
        remedy = "Name a server, or a file with tool definitions"
        raise SettingsError(Fault("it contains no tool definitions", remedy, file=target or ""))
    lines = (json.dumps(one.definition) for one in subjects)
    yield list(classify_lines(lines, trust_annotations=trust_annotations))
    if any(read.unchecked for read in reads):
        ctx.exit(1)


def _is_stream(target: str) -> bool:
    """Whether the target is read line by line: standard input, a pipe, or a file of definitions."""
    from assent.checks.lint.sources import kind_of

    path = Path(target)
    if target == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        return True
    if not path.is_file():
        return False
    try:
        return kind_of(path.read_text(encoding="utf-8-sig"), target)[0] == "definitions"
    except (FaultsError, UnicodeDecodeError, OSError):
        return True  # Reading it reports the error and its line.


def _classify_stream(file: BinaryIO, trust_annotations: bool) -> Iterator[list[str]]:
    """The answers as soon as they are ready, because a sender may wait for each."""
    from assent.contract.infer import classify_lines

    text = io.TextIOWrapper(file, encoding="utf-8-sig")
    try:
        for answer in classify_lines(text, trust_annotations=trust_annotations):
            yield [answer]
    finally:
        text.detach()

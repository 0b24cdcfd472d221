"""The reference page of commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from assent.cli import cli


def commands_page() -> str:
    """Every command with its help and its options."""
    head = (
        "# Commands\n\n"
        "Exit codes: 0 clean, 1 findings or refusals, 2 wrong usage or configuration. Findings go to standard output, "
        "everything else to standard error. `assent COMMAND --help` prints the same text.\n"
    )
    return head + "".join(_section(path, command) for path, command in all_commands(cli, ("assent",)))


def all_commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        here = (*path, name)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield here, command
            yield from all_commands(command, here)
        else:
            yield here, command


def _section(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path))
    usage = " ".join(command.collect_usage_pieces(context))
    lines = ["", f"## {' '.join(path)}", "", "```", f"{' '.join(path)} {usage}", "```", ""]
    lines += [_help(inspect.cleandoc(command.help or "").replace("\b\n", "")), ""]
    options = [one for one in command.get_params(context) if "--help" not in one.opts]
    rows = [record for one in options if (record := one.get_help_record(context)) and record[1]]
    if rows:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in rows]
    return "\n".join([*lines, ""])


def _help(text: str) -> str:
    """The help with its examples as commands that can be copied."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        title, found, commands = paragraph.partition(":")
        if found and title in ("Example", "Examples"):
            shown = re.sub(r"\s*(?:;|\n)\s*(?=assent )", "\n", commands.strip())
            shown = re.sub(r"(?<!\\)\n\s*(?!assent )", " ", shown)
            paragraphs.append(f"```console\n{shown}\n```")
        else:
            paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

"""`assent trust`: uses the configuration found in a folder from now on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
def trust(folder: Path) -> None:
    """Let commands use the assent.yaml of DIR (default: this folder) without -c.

    Such a file can start programs and read variables of your shell, so commands ask once for each folder. Trust only
    folders whose content you know. Files that Assent itself wrote are trusted.

    Example: assent trust ~/projects/shop
    """
    from assent.config.trust import trust as remember

    known = "" if remember(folder) else " already"
    none = "" if (folder / "assent.yaml").exists() else ", once it has one"
    click.echo(f"{folder.resolve()} is trusted{known}: commands use its assent.yaml{none}.", err=True)


def agrees_to(file: Path) -> bool:
    """Shows what a found configuration would do, and asks the person at the terminal whether to use it."""
    click.echo(f"{file.resolve()} was found, and you have not used it before.", err=True)
    for line in _effects_of(file):
        click.echo(f"  {line}", err=True)
    return click.confirm("Use it, now and from now on?", err=True)


def _effects_of(file: Path) -> list[str]:
    """What a configuration starts and reads, as far as it can be seen without using it."""
    from assent.config.references import variables_in
    from assent.contract.yaml_document import YamlDocument
    from assent.core.question import visible
    from assent.errors import FaultsError

    try:
        value = YamlDocument(file.read_text(encoding="utf-8")).value
    except (OSError, UnicodeDecodeError, FaultsError):
        return ["It cannot be read."]
    tables = [value.get(key) for key in ("upstreams", "mcpServers")] if isinstance(value, dict) else []
    entries = [one for table in tables if isinstance(table, dict) for one in table.values() if isinstance(one, dict)]
    programs = [visible(_words(one))[:100] for one in entries if "command" in one]
    names = [visible(name)[:60] for name in variables_in(value)]
    lines = [f"It starts: {program}" for program in programs[:10]]
    if len(programs) > 10:
        lines.append(f"It starts {len(programs) - 10} more programs.")
    return [*lines, f"It reads the variables: {', '.join(names[:20])}"] if names else lines


def _words(entry: dict[str, Any]) -> str:
    command, arguments = entry["command"], entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return shlex.join(map(str, words))

"""`assent init`: puts `assent wrap` before the servers of a desktop client's configuration."""

from __future__ import annotations

import json
import shutil
import sys
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import click

from assent.errors import Fault, SettingsError
from assent.files import draft


@click.command()
@click.option("--client", "file", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="The client's configuration: a JSON file with `mcpServers` (or `servers`).")  # fmt: skip
@click.option("--write", is_flag=True, help="Change the file; a copy of the old file is kept beside it.")
def init(file: Path, write: bool) -> None:
    """Print a desktop client's configuration with `assent wrap` before every command, or write it.

    A server that is already wrapped stays unchanged. A server with a URL is reported and stays unchanged.

    Example: assent init --client claude_desktop_config.json --write
    """
    text = _text_of(file)
    document = _document(text, file)
    changed = {name: wrapped(server) for name, server in _servers(document, file).items() if is_plain(server)}
    for name, server in _servers(document, file).items():
        if "url" in server:
            click.echo(f"{name} has a URL: govern it with `assent serve`.", err=True)
        elif not isinstance(server.get("args") or [], list):
            click.echo(f"{name} is not changed: its `args` are not a list.", err=True)
    document[_key(document)] = {**_servers(document, file), **changed}
    written = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if not write:
        click.echo(written, nl=False)
        return
    if not changed:
        click.echo("No change is needed: every server is already wrapped.", err=True)
        return
    many = "1 server is" if len(changed) == 1 else f"{len(changed)} servers are"
    click.echo(f"{many} wrapped now; the old file is {_replace(file, written)}.", err=True)


def wrapped(server: dict[str, Any]) -> dict[str, Any]:
    """A server's entry with `assent wrap --` before its command."""
    command, arguments = str(server["command"]), [str(one) for one in server.get("args") or []]
    return {**server, "command": assent_command(), "args": ["wrap", "--", command, *arguments]}


def is_plain(server: dict[str, Any]) -> bool:
    """Whether an entry starts a command that is not wrapped yet."""
    command, arguments = server.get("command"), server.get("args") or []
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    words = [command, *map(str, arguments)]
    return not any(PurePath(one).stem == "assent" and other == "wrap" for one, other in pairwise(words))


def assent_command() -> str:
    """The full path of this command, because clients start servers with their own environment."""
    beside = Path(sys.executable).with_name("assent")
    return str(beside) if beside.exists() else shutil.which("assent") or "assent"


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(Fault(f"cannot be read: {reason}", "Name the client's file", file=str(file))) from None


def _document(text: str, file: Path) -> dict[str, Any]:
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise SettingsError(Fault(f"not JSON: {error}", "Correct it first", file=str(file))) from None
    if not isinstance(document, dict):
        raise SettingsError(Fault("not a client's configuration", "It has `mcpServers` at the top", file=str(file)))
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise ValueError(f"{twice!r} occurs twice in one object")
    return found


def _key(document: dict[str, Any]) -> str:
    return "servers" if "mcpServers" not in document and "servers" in document else "mcpServers"


def _servers(document: dict[str, Any], file: Path) -> dict[str, dict[str, Any]]:
    servers = document.get(_key(document))
    if not isinstance(servers, dict) or not all(isinstance(server, dict) for server in servers.values()):
        raise SettingsError(Fault("it lists no servers", "It has `mcpServers` at the top", "mcpServers", str(file)))
    return servers


def _replace(link: Path, new: str) -> Path:
    """Writes the new text and keeps the old file under a free name, with the same permissions."""
    file = link.resolve()  # A symbolic link stays a link.
    made: list[Path] = []
    try:
        made.append(draft(file, file.read_bytes()))
        made.append(draft(file, new.encode()))
        kept = _free_name(file.with_name(f"{file.name}.before-assent"))
        made[0].rename(kept)
        made[0] = kept
        made[1].replace(file)
        made.clear()
    except OSError as error:
        remedy = "Nothing was changed; check that you may write to this folder"
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", remedy, file=str(link))) from None
    finally:
        for one in made:
            one.unlink(missing_ok=True)
    return kept


def _free_name(wanted: Path) -> Path:
    path, number = wanted, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path

"""`assent init`: what must change in a desktop client's configuration, so that its servers are governed?"""

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
@click.option("--write", is_flag=True, help="Change the file; the old one is kept beside it.")
def init(file: Path, write: bool) -> None:
    """Show a desktop client's configuration with `assent wrap` before every command, or write it.

    A server that is wrapped already stays as it is; one behind a URL is named and left alone.
    """
    text = _text_of(file)
    document = _document(text, file)
    changed = {name: wrapped(server) for name, server in _servers(document, file).items() if is_plain(server)}
    for name, server in _servers(document, file).items():
        if "url" in server:
            click.echo(f"{name} is behind a URL: serve it with `assent serve`.", err=True)
        elif not isinstance(server.get("args") or [], list):
            click.echo(f"{name} is left alone: its `args` are not a list.", err=True)
    document[_key(document)] = {**_servers(document, file), **changed}
    written = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if not write:
        click.echo(written, nl=False)
        return
    if not changed:
        click.echo("Nothing to change: every server is wrapped already.", err=True)
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
    """The whole path of this very command: clients start servers with an environment of their own."""
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
        raise ValueError(f"{twice!r} stands twice in one object")
    return found


def _key(document: dict[str, Any]) -> str:
    return "servers" if "mcpServers" not in document and "servers" in document else "mcpServers"


def _servers(document: dict[str, Any], file: Path) -> dict[str, dict[str, Any]]:
    servers = document.get(_key(document))
    if not isinstance(servers, dict) or not all(isinstance(server, dict) for server in servers.values()):
        raise SettingsError(Fault("it names no servers", "It has `mcpServers` at the top", "mcpServers", str(file)))
    return servers


def _replace(link: Path, new: str) -> Path:
    """Write the new text; the old file stays beside it under a name that is not taken, as readable as it was."""
    file = link.resolve()  # a link stays one
    made: list[Path] = []
    try:
        made.append(draft(file, file.read_bytes()))
        made.append(draft(file, new.encode()))
        kept = _free(file.with_name(f"{file.name}.before-assent"))
        made[0].rename(kept)
        made[0] = kept
        made[1].replace(file)
        made.clear()
    except OSError as error:
        remedy = "Nothing was changed; run it where you may write"
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", remedy, file=str(link))) from None
    finally:
        for one in made:
            one.unlink(missing_ok=True)
    return kept


def _free(wanted: Path) -> Path:
    path, number = wanted, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path

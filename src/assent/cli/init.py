"""`assent init`: puts Assent before the servers in an MCP client's configuration, and takes it away again."""

from __future__ import annotations

import shutil
import sys
from difflib import get_close_matches
from pathlib import Path

import click

from assent.cli.client_files.backup import backups_of, keep_and_write, require_writable, restore
from assent.cli.client_files.clients import CLIENTS
from assent.cli.client_files.servers import (
    Changes,
    ClientFile,
    entries_in,
    has_servers,
    move_servers,
    open_file,
    unwrap_servers,
    wrap_servers,
)
from assent.cli.shared.platform import require_posix
from assent.errors import Fault, SettingsError

GATEWAY = "http://127.0.0.1:8420/mcp"


@click.command()
@click.option("--client", "client", required=True, metavar="NAME|FILE",
              help=f"The client ({', '.join(CLIENTS)}), or the path of its file.")  # fmt: skip
@click.option("--write", is_flag=True, help="Change the file; a copy of the old file is kept beside it.")
@click.option("--undo", is_flag=True, help="Restore the file as it was before --write.")
@click.option("-c", "--config", type=click.Path(path_type=Path, dir_okay=False),
              help="The configuration that servers with a URL move to. Default: the user's own.")  # fmt: skip
def init(client: str, write: bool, undo: bool, config: Path | None) -> None:
    """Put `assent wrap` before every server of a client, or print how the file would look.

    Servers with a URL move into your Assent configuration; the client then reaches them through the gateway
    (`assent serve`). Comments and order of the file stay as they are.

    \b
    Examples:
      assent init --client cursor              shows the changed file
      assent init --client cursor --write      changes it
      assent init --client cursor --undo       restores it
    """
    from assent.cli.shared.upstream_entries import add_upstreams
    from assent.config.load import user_file

    if write and undo:
        raise click.UsageError("Use either --write or --undo.")
    if write:
        require_posix("assent wrap, which --write would put into the file,")
    path = _client_file(client)
    if undo:
        _undo(path)
        return
    text = _text_of(path)
    file = _parsed(text, path)
    changes = changed(file, assent_command())
    for name, reason in changes.left.items():
        click.echo(f"{name} is not changed: {reason}.", err=True)
    if not write:
        click.echo(file.text(), nl=False)
        return
    if not (changes.wrapped or changes.moved):
        click.echo("No change is needed: every server is already governed.", err=True)
        return
    require_writable(path)
    if changes.moved:
        place = add_upstreams(config or user_file(), changes.moved)
    kept = keep_and_write(path, file.text())
    click.echo(f"{path} is changed; the old file is {kept}.", err=True)
    if changes.wrapped:
        click.echo(f"Wrapped: {', '.join(changes.wrapped)}.", err=True)
    if changes.moved:
        click.echo(f"Moved behind the gateway: {', '.join(changes.moved)} (now in {place}).", err=True)
        click.echo("Start the gateway: assent serve. If one of them needs a sign-in: assent login NAME.", err=True)
    click.echo("Restart the client. To undo: the same command with --undo.", err=True)


def changed(file: ClientFile, assent: str) -> Changes:
    """Wrap the commands of a file and move its URLs behind the gateway."""
    wrapped, moved = wrap_servers(file, assent), move_servers(file, GATEWAY)
    return Changes(wrapped.wrapped, moved.moved, wrapped.left | moved.left)


def assent_command() -> str:
    """The full path of this command, because clients start servers with their own environment."""
    beside = Path(sys.executable).with_name("assent")
    return str(beside) if beside.exists() else shutil.which("assent") or "assent"


def _client_file(client: str) -> Path:
    """The file that a client's name or a path means."""
    if client in CLIENTS:
        known = CLIENTS[client]
        path = known.path()
        if not path.exists():
            remedy = "Start the client once, or name the file: --client FILE"
            raise SettingsError(Fault(f"{known.title} has no file {path}", remedy, "--client"))
        return path
    path = Path(client)
    if not path.exists():
        close = get_close_matches(client, CLIENTS, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Clients: {', '.join(CLIENTS)}"
        raise SettingsError(Fault(f"{client} is neither a client nor a file", remedy, "--client"))
    return path


def _undo(path: Path) -> None:
    text = _text_of(path)
    restored = restore(path, text, lambda old: _rewritten(old, path, text))
    if restored is not None:
        click.echo(f"{path} is restored as it was before.", err=True)
        return
    file = _parsed(text, path)
    names = unwrap_servers(file)
    if not names:
        click.echo("Nothing to undo: no server of this file is wrapped.", err=True)
        return
    kept = keep_and_write(path, file.text())
    click.echo(f"No longer wrapped: {', '.join(names)}. The file was changed since, so your changes are kept;"
               f" the file before this undo is {kept}.", err=True)  # fmt: skip
    if older := [one for one in backups_of(path) if one != kept]:
        click.echo(f"Servers that moved behind the gateway are in {older[0]}.", err=True)


def _rewritten(old: str, path: Path, current: str) -> str | None:
    """What `--write` makes of an old file, with the command path that the current file uses."""
    try:
        words = [entry.words[0] for entry in entries_in(open_file(current, path.name).data) if entry.command_key]
        assent = next((word for word in words if Path(word).stem == "assent"), assent_command())
        file = open_file(old, path.name)
        changed(file, assent)
        return file.text()
    except ValueError:
        return None


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(Fault(f"cannot be read: {reason}", "Name the client's file", file=str(file))) from None


def _parsed(text: str, path: Path) -> ClientFile:
    try:
        file = open_file(text, path.name)
    except ValueError as error:
        raise SettingsError(Fault(f"cannot be read: {error}", "Correct it first", file=str(path))) from None
    if not has_servers(file.data):
        remedy = "A client's file has `mcpServers`, `servers`, `mcp_servers`, `context_servers` or `extensions`"
        raise SettingsError(Fault("it lists no servers", remedy, file=str(path)))
    return file

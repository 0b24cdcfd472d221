"""`assent init`: puts Assent before the servers in an MCP client's configuration, and takes it away again."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Collection
from difflib import get_close_matches, unified_diff
from importlib import resources
from pathlib import Path
from typing import Any

import click

from assent.cli.client_files.backup import backups_of, keep_and_write, require_writable, restore
from assent.cli.client_files.clients import CLIENTS, ClientFormat
from assent.cli.client_files.gateways import ClientGateway, gateway_of, made_by_init
from assent.cli.client_files.servers import (
    Changes,
    ClientFile,
    entries_in,
    has_servers,
    move_servers,
    open_file,
    put_back,
    unwrap_servers,
    wrap_servers,
)
from assent.cli.shared.options import FILE, require_posix
from assent.config.trust import trust_written
from assent.errors import AssentError, Fault, SettingsError
from assent.features import load_feature
from assent.files import Disk, read_text


@click.command()
@click.option("--team", is_flag=True, help="Write a commented assent.yaml for a team, with preset: recommended.")
@click.option("--client", "client", metavar="NAME|FILE",
              help=f"The client ({', '.join(CLIENTS)}), or the path of its file.")  # fmt: skip
@click.option("--write", is_flag=True, help="Change the file; a copy of the old file is kept beside it.")
@click.option("--undo", is_flag=True, help="Restore the file as it was before --write.")
@click.option("--hooks", is_flag=True, help="Govern the client's built-in tools (shell, edits) instead of its servers.")
@click.option("-c", "--config", type=FILE,
              help="The configuration that servers with a URL move to, or that hooks use. Default: one for this client;"
              " for hooks the user's own. With --team, the file to write.")  # fmt: skip
def init(team: bool, client: str | None, write: bool, undo: bool, hooks: bool, config: Path | None) -> None:
    """Put `assent wrap` before every server of a client, or print what would change.

    Servers with a URL move into a configuration for this client alone; the client then reaches them through a gateway
    (`assent serve`). Comments and order of the file stay as they are. With --team, write a configuration for a team
    instead.

    \b
    Examples:
      assent init --client cursor              shows what would change
      assent init --client cursor --write      changes it
      assent init --client cursor --undo       takes it back
      assent init --client claude-code --hooks --write   governs its shell and edits too
      assent init --team                       writes assent.yaml
    """
    from assent.cli.shared.upstream_entries import add_upstreams

    if team == (client is not None) or (team and (write or undo or hooks)):
        raise click.UsageError(f"Use --client NAME, also with --write or --undo, or --team alone. {_found_clients()}")
    if client is None:
        write_team(config or Path("assent.yaml"))
        return
    if write and undo:
        raise click.UsageError("Use either --write or --undo.")
    if write:
        require_posix("assent wrap, which --write would put into the file,")
    if hooks:
        _init_hooks(client, write, undo, config)
        return
    path = _client_file(client)
    places = TableGateways(client if client in CLIENTS else str(path.resolve()), config, make_key=write)
    if undo:
        _undo(path, places)
        return
    from assent.cli.shared.store_access import own_gateways

    text = _text_of(path)
    file = _parsed(text, path)
    places.avoided = {int(port) for entry in entries_in(file.data) for port in re.findall(r":(\d{1,5})\b", entry.url)}
    changes = changed(file, assent_command(), places, own_gateways(config))
    for name, url in changes.governed.items():
        click.echo(f"{name} is not changed: {url} is a gateway of yours.", err=True)
    for name, reason in changes.left.items():
        click.echo(f"{name} is not changed: {reason}.", err=True)
    if not (changes.wrapped or changes.moved):
        rest = "every other server" if changes.left else "every server"
        alone = len(list(entries_in(file.data))) == len(changes.left) > 0
        click.echo("Nothing is changed." if alone else f"No change is needed: {rest} is already governed.", err=True)
        return
    if not write:
        _show(path, text, file.text(), changes)
        return
    require_writable(path)
    for gateway, upstreams in changes.moved.items():
        add_upstreams(gateway.file, upstreams, gateway.new_file() if gateway.key else "")
        gateway.make_folder()
    kept = keep_and_write(path, file.text())
    click.echo(f"{path} is changed; the old file is {kept}.", err=True)
    if changes.wrapped and (own := write_own()) is not None:
        click.echo(f"{own} is written: calls are recorded, nothing is refused yet (mode: observe).", err=True)
    if changes.wrapped:
        click.echo(f"Wrapped: {', '.join(changes.wrapped)}.", err=True)
    for gateway, upstreams in changes.moved.items():
        click.echo(f"Moved behind the gateway: {', '.join(upstreams)} (now in {gateway.file}).", err=True)
        sign_in = f"If one of them needs a sign-in: assent login NAME -c {gateway.file}"
        click.echo(f"Start this gateway: {gateway.command}. {sign_in}.", err=True)
    click.echo("Restart the client. To undo: the same command with --undo.", err=True)


def _init_hooks(client: str, write: bool, undo: bool, config: Path | None) -> None:
    """Put hooks into the user's own settings of a coding agent, take them out, or show the difference."""
    from assent.cli.client_files.hook_files import HOOK_FILES, hook_words, preview_hooks, undo_hooks, write_hooks
    from assent.config.load import user_file

    if client not in HOOK_FILES:
        remedy = f"Clients with hooks: {', '.join(HOOK_FILES)}"
        raise SettingsError(Fault(f"{client} has no hooks that Assent knows", remedy, "--client"))
    if undo:
        path, done = undo_hooks(client)
        click.echo(f"{path} {done}.", err=True)
        return
    words = hook_words(assent_command(), client, config)
    if not write:
        _print_difference(*preview_hooks(client, words))
        click.echo("Nothing is changed yet. To change it: the same command with --write.", err=True)
        return
    path, kept = write_hooks(client, words)
    click.echo(f"{path} has Assent's hooks{f'; the old file is {kept}' if kept else ''}.", err=True)
    judged = f"only observed until {config or user_file()} says `mode: enforce`"
    try:
        judged = "enforced" if load_feature("hooks").hook_settings(config).mode == "enforce" else judged
    except AssentError as error:
        judged = f"denied until this is correct: {error}"
    click.echo(f"Restart the client. Calls are {judged.rstrip('.')}.", err=True)
    if HOOK_FILES[client].note:
        click.echo(HOOK_FILES[client].note, err=True)


class TableGateways:
    """The gateways of a client's tables: those of its own, or one with the configuration that the user named."""

    def __init__(self, client: str, config: Path | None, *, make_key: bool) -> None:
        self._client, self._config, self._make_key = client, config, make_key
        self._found: dict[tuple[Any, ...], ClientGateway] = {}
        self.avoided: set[int] = set()
        """The ports of the file's own servers: no new gateway gets one of them."""

    def __call__(self, table: tuple[Any, ...]) -> ClientGateway:
        if table not in self._found:
            named = ClientGateway(self._config, "named") if self._config is not None else None
            taken = self.avoided | {one.port for one in self._found.values()}
            self._found[table] = named or gateway_of(self._client, table, make_key=self._make_key, taken=taken)
        return self._found[table]


def changed(file: ClientFile, assent: str, places: TableGateways, gateways: Collection[str]) -> Changes:
    """Wrap the commands of a file and move its URLs, but for those of the user's gateways, behind gateways."""
    wrapped, moved = wrap_servers(file, assent), move_servers(file, places, gateways)
    return Changes(wrapped.wrapped, moved.moved, wrapped.left | moved.left, moved.governed)


def _show(path: Path, before: str, after: str, changes: Changes) -> None:
    """Print what would change as a difference, in the client's file and in the configurations."""
    from assent.cli.shared.upstream_entries import with_upstreams

    _print_difference(path, before, after)
    if changes.wrapped and (own := missing_own()) is not None:
        _print_difference(own, "", template("own"))
    for gateway, upstreams in changes.moved.items():
        old = _text_of(gateway.file) if gateway.file.exists() else ""
        new = with_upstreams(gateway.file, upstreams, gateway.new_file() if gateway.key else "")
        _print_difference(gateway.file, old, new)
    click.echo("Nothing is changed yet. To change it: the same command with --write.", err=True)


def _print_difference(path: Path, before: str, after: str) -> None:
    lines = unified_diff(before.splitlines(), after.splitlines(), str(path), f"{path} (changed)", lineterm="")
    click.echo("\n".join(lines))


def assent_command() -> str:
    """The full path of this command, because clients start servers with their own environment."""
    beside = Path(sys.executable).with_name("assent")
    return str(beside) if beside.exists() else shutil.which("assent") or "assent"


def _found_clients() -> str:
    found = [name for name, one in CLIENTS.items() if one.path().exists()]
    return f"Clients of this machine: {', '.join(found)}." if found else f"Clients: {', '.join(CLIENTS)}."


def _client_file(client: str) -> Path:
    """The file that a client's name or a path means."""
    if client in CLIENTS:
        known = CLIENTS[client]
        path = known.path()
        if not path.exists():
            remedy = "Start the client once, or name the file: --client FILE. For its hooks: add --hooks"
            raise SettingsError(Fault(f"{known.title} has no file {path}", remedy, "--client"))
        return path
    path = Path(client)
    if not path.exists():
        close = get_close_matches(client, CLIENTS, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Clients: {', '.join(CLIENTS)}"
        raise SettingsError(Fault(f"{client} is neither a client nor a file", remedy, "--client"))
    return path


def _undo(path: Path, places: TableGateways) -> None:
    text = _text_of(path)
    before = next((_text_of(one) for one in backups_of(path)), text)
    restored = restore(path, text, lambda old: _rewritten(old, path, text, places))
    if restored is not None:
        click.echo(f"{path} is restored as it was before.", err=True)
        _remove_added(before, text, path, places)
        return
    file = _parsed(text, path)
    names = unwrap_servers(file)
    names += put_back(file, _parsed(before, path), places)
    if not names:
        click.echo("Nothing to undo: no server of this file is wrapped.", err=True)
        return
    kept = keep_and_write(path, file.text())
    click.echo(f"As before: {', '.join(names)}. The file was changed since, so your changes are kept;"
               f" the file before this undo is {kept}.", err=True)  # fmt: skip
    _remove_added(before, text, path, places)


def _remove_added(before: str, after: str, path: Path, places: TableGateways) -> None:
    """Remove the upstreams that moved, and the configurations that were made for this client alone."""
    from assent.cli.shared.upstream_entries import has_upstreams, remove_upstreams

    stayed = [entry.url for entry in entries_in(_parsed(after, path).data) if entry.url]
    for gateway, upstreams in move_servers(_parsed(before, path), places, stayed).moved.items():
        if not gateway.file.exists():
            continue
        gone = remove_upstreams(gateway.file, upstreams)
        if gone and made_by_init(gateway.file) and not has_upstreams(gateway.file):
            gateway.file.unlink()
            click.echo(f"{gateway.file} is removed. If its gateway runs, stop it.", err=True)
        elif gone:
            click.echo(f"Removed from {gateway.file}: {', '.join(gone)}.", err=True)
    if not any(map(_has_wrapped, CLIENTS.values())) and (own := remove_own()) is not None:
        click.echo(f"{own} is removed.", err=True)


def _has_wrapped(client: ClientFormat) -> bool:
    """Whether a server of a client's file is still wrapped."""
    try:
        return bool(unwrap_servers(open_file(_text_of(client.path()), client.path().name)))
    except (ValueError, SettingsError):
        return False


def _rewritten(old: str, path: Path, current: str, places: TableGateways) -> str | None:
    """What `--write` makes of an old file, with the command path that the current file uses."""
    try:
        entries = list(entries_in(open_file(current, path.name).data))
        words = [entry.words[0] for entry in entries if entry.command_key]
        assent = next((word for word in words if Path(word).stem == "assent"), assent_command())
        file = open_file(old, path.name)
        changed(file, assent, places, [entry.url for entry in entries if entry.url])  # What stayed was a gateway.
        return file.text()
    except ValueError:
        return None


def _text_of(file: Path) -> str:
    return read_text(file, "Name the client's file")


def _parsed(text: str, path: Path) -> ClientFile:
    try:
        file = open_file(text, path.name)
    except ValueError as error:
        raise SettingsError(Fault(f"cannot be read: {error}", "Correct it first", file=str(path))) from None
    if not has_servers(file.data):
        remedy = "A client's file has `mcpServers`, `servers`, `mcp_servers`, `context_servers` or `extensions`"
        raise SettingsError(Fault("it lists no servers", remedy, file=str(path)))
    return file


def template(name: str) -> str:
    """A configuration to begin with: `own` for a person's clients, `team` for a gateway."""
    return resources.files("assent.cli").joinpath(f"templates/{name}.yaml").read_text(encoding="utf-8")


def write_team(path: Path) -> None:
    """Write the configuration for a team; an existing file is not changed."""
    from assent.config.load import check_structure

    text = template("team")
    check_structure(text, str(path))
    try:
        Disk().create(path, text.encode(), mode=0o600)
    except FileExistsError:
        remedy = "Add `preset: recommended` to it, or name another file with -c"
        raise SettingsError(Fault("it exists, so it was not changed", remedy, file=str(path))) from None
    except OSError as error:
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", "Name another file with -c", "-c")) from None
    trust_written(path)
    click.echo(f"{path} is written, with preset: recommended. Next:", err=True)
    chosen = "" if path == Path("assent.yaml") else f" -c {path}"
    for line in (
        f"  assent add NAME -- COMMAND{chosen}     add your servers (or: assent add NAME URL{chosen})",
        f"  assent drill{chosen}                   which known attacks it stops",
        f"  assent serve{chosen}                   start the gateway",
    ):
        click.echo(line, err=True)


def missing_own() -> Path | None:
    """The place of the user's own configuration if there is none yet."""
    from assent.config.load import user_file

    path = user_file()
    return None if path.exists() else path


def write_own() -> Path | None:
    """Write the user's own configuration if there is none; returns its place if it was written."""
    path = missing_own()
    if path is None:
        return None
    try:
        Disk().create(path, template("own").encode(), mode=0o600)
    except OSError as error:
        raise SettingsError(Fault(f"{path} cannot be written: {error.strerror}", "Correct its permissions")) from None
    return path


def remove_own() -> Path | None:
    """Remove the user's own configuration if it is as `assent init` wrote it; returns its place if it was removed."""
    from assent.config.load import user_file

    path = user_file()
    try:
        if path.read_bytes() != template("own").encode():
            return None
        path.unlink()
    except OSError:
        return None
    return path

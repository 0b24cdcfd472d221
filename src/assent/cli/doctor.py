"""`assent doctor`: checks the installation step by step and says how to fix what is wrong."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from assent.cli.client_files.clients import CLIENTS
from assent.cli.client_files.servers import entries_in, open_file
from assent.cli.shared.options import config_option
from assent.core.render import counted, visible
from assent.errors import AssentError, FaultsError

if TYPE_CHECKING:
    from assent.config.model import Settings, UpstreamSettings


_MARKS = {"ok": "ok     ", "warn": "warning", "fail": "problem"}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: what was checked, what was found, and what to do about it."""

    verdict: Literal["ok", "warn", "fail"]
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{_MARKS[self.verdict]}  {self.what}" + (f"\n         Fix: {self.fix}" if self.fix else "")


@click.command()
@config_option
@click.option("--offline", is_flag=True, help="Do not connect to the upstreams.")
def doctor(config: Path | None, offline: bool) -> None:
    """Check the installation in the order in which things are needed, and say how to fix what is wrong.

    Exits with 1 if there is a problem. Nothing is changed.

    Example: assent doctor
    """
    failed = False
    for check in checks(config, offline):
        click.echo(str(check))
        failed = failed or check.verdict == "fail"
    click.echo("Some checks failed. Fix the first problem, then run `assent doctor` again." if failed
               else "No problem was found.", err=True)  # fmt: skip
    if failed:
        raise click.exceptions.Exit(1)


def checks(config: Path | None, offline: bool) -> Iterator[Check]:
    """Yield one check after the other; the later ones need the configuration."""
    yield _command()
    settings = None
    for found in _configuration(config):
        if isinstance(found, Check):
            yield found
        else:
            settings = found
    if settings is not None:
        yield _store(settings)
        yield _keys(settings)
        for name, upstream in settings.upstreams.items():
            missing = _programs(name, upstream)
            yield from _upstream(name, upstream, offline) if missing is None else [missing]
        yield _gateway(settings)
    yield from _clients()


def _command() -> Check:
    from assent.cli.init import assent_command

    path = assent_command()
    if not Path(path).is_absolute():
        return Check("fail", "the command `assent` is not on the PATH", "install it with `pipx install assent`")
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("ok", f"assent is {path}, on Python {version}")


def _configuration(config: Path | None) -> Iterator[Check | Settings]:
    from assent.config.load import find_file, find_settings, user_file

    try:
        path = find_file(config)
    except AssentError:
        fix = "`assent add NAME -- COMMAND` makes one; `assent init --client NAME` needs none"
        yield Check("warn", f"there is no configuration: neither ./assent.yaml nor {user_file()}", fix)
        return
    try:
        settings = find_settings(config)
    except FaultsError as error:
        yield from _faults(error, path)
        return
    named = list(_named_files(settings, path))
    yield from named or [Check("ok", f"the configuration {path} is valid (mode: {settings.mode})")]
    if not settings.upstreams:
        yield Check(
            "warn", "the configuration has no upstreams", "`assent add NAME -- COMMAND` or `assent add NAME URL`"
        )
    yield settings


def _named_files(settings: Settings, path: Path) -> Iterator[Check]:
    """The faults of the contract files and policies that the configuration names."""
    from assent.config.policies import policies_of
    from assent.gateway.catalogue import contracts_of

    for load in (contracts_of, policies_of):
        try:
            load(settings)
        except FaultsError as error:
            yield from _faults(error, path)


def _faults(error: FaultsError, path: Path) -> Iterator[Check]:
    for fault in error.faults:
        yield Check("fail", str(fault), f"correct {fault.file or path}")


def _store(settings: Settings) -> Check:
    from assent.stores.inspect import check_store

    try:
        asyncio.run(check_store(settings.store))
    except (AssentError, OSError) as error:
        return Check("fail", f"the store cannot be used: {error}", "check `store:`, then run `assent store check`")
    return Check("ok", f"the store {settings.store.split('@')[-1]} can be used")


def _keys(settings: Settings) -> Check:
    directory = Path(settings.secrets.directory)
    if not directory.exists():
        return Check("ok", f"the keys will be made in {directory} at the first start")
    if sys.platform != "win32" and stat.S_IMODE(directory.stat().st_mode) & 0o077:
        return Check("fail", f"others can read the keys in {directory}", f"chmod -R go= {directory}")
    if not os.access(directory, os.R_OK | os.X_OK):
        return Check("fail", f"the keys in {directory} cannot be read", f"run as their owner, or chown {directory}")
    return Check("ok", f"the keys are in {directory}; only you can read them")


def _programs(name: str, upstream: UpstreamSettings) -> Check | None:
    if upstream.command is None or shutil.which(upstream.command[0], path=upstream.env.get("PATH")):
        return None
    program = upstream.command[0]
    return Check(
        "fail", f"upstream {name}: the program {program} is not installed", f"install {program}, or give its full path"
    )


def _upstream(name: str, upstream: UpstreamSettings, offline: bool) -> Iterator[Check]:
    if offline or upstream.openapi is not None:
        yield Check("ok", f"upstream {name}: not contacted")
        return
    from assent.cli.shared.servers import list_tools
    from assent.probe.list_tools import NotListedError

    try:
        definitions = list_tools(name, upstream)
    except NotListedError as error:
        fix = f"`assent login {name}`" if "401" in str(error) else "start the server, or correct its entry"
        yield Check("fail", f"upstream {error}", fix)
        return
    yield Check("ok", f"upstream {name}: {counted(len(definitions), 'tool')}")
    for definition in definitions:
        yield from _texts(f"upstream {name}: {visible(str(definition.get('name')))}", definition)


def _texts(tool: str, definition: dict[str, Any]) -> Iterator[Check]:
    """What a person does not see in a tool's definition, and what looks like an order to the model."""
    from assent.core.shown_definition import shown_tool
    from assent.lint.attacks import orders_in

    shown = shown_tool(definition)
    if shown.unusable:
        fix = "have its author remove them; a contract with `input` of your own replaces the server's schema"
        yield Check("warn", f"{tool} is withheld: {shown.unusable}", fix)
    elif shown.removed:
        found = "; ".join(shown.removed[:3])
        fix = "ask its author why they are there; agents get the text without them"
        yield Check("warn", f"{tool} has hidden characters: {found}", fix)
    if orders := orders_in(shown.definition):
        fix = "read the text; a contract's `description` replaces the server's, and `assent pin --write` accepts it"
        yield Check("warn", f"{tool}: {visible(orders[0])}", fix)


def _gateway(settings: Settings) -> Check:
    address = settings.public_url.rstrip("/") + "/healthz"
    try:
        with urllib.request.urlopen(address, timeout=3) as response:
            if response.status == 200:
                return Check("ok", f"the gateway answers at {settings.public_url}")
    except (urllib.error.URLError, OSError, ValueError):
        pass
    return Check(
        "warn", f"no gateway answers at {settings.public_url}", "start it with `assent serve` (`wrap` needs none)"
    )


def _clients() -> Iterator[Check]:
    for name, client in CLIENTS.items():
        path = client.path()
        if path.exists():
            yield _client(name, client.title, path)


def _client(name: str, title: str, path: Path) -> Check:
    try:
        entries = list(entries_in(open_file(path.read_text(encoding="utf-8"), path.name).data))
    except (OSError, ValueError) as error:
        return Check("warn", f"{title}: {path} cannot be read: {error}", "correct the file")
    bare = [entry.name for entry in entries if entry.command_key and entry.wrapped_at is None]
    lost = [
        entry for entry in entries if entry.command_key and entry.wrapped_at is not None and not _exists(entry.words[0])
    ]
    if lost:
        fix = f"`assent init --client {name} --undo`, then --write"
        return Check("fail", f"{title}: {lost[0].words[0]} in {path} does not exist", fix)
    if bare:
        return Check("warn", f"{title}: not governed: {', '.join(bare)}", f"`assent init --client {name} --write`")
    return Check("ok", f"{title}: {counted(len(entries), 'server')}, all governed")


_exists: Callable[[str], object] = shutil.which

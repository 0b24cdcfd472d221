"""What does a TARGET on the command line mean?

A URL, a file (tool definitions, contracts, an API description, a configuration; `-` is the standard input), a Python
object `package.module:server`, or a command after `--`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import iscoroutine
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from assent.contract.files import contract_paths, load_contracts, load_declared
from assent.contract.model import Contract
from assent.contract.profiles import Profile, profile_names
from assent.contract.profiles import profile as named_profile
from assent.contract.reading import read_contract
from assent.contract.wire import CONTRACT_KEY, dropped_hints
from assent.core.render import counted, visible
from assent.errors import ContractError, Fault, SettingsError
from assent.infer import classify
from assent.lint import Subject, Target, all_rules
from assent.lint.sources import Read, read_file, read_text, suppressions_beside, under_contract
from assent.lint.target import subject_of

_COMMAND = "assent.command"
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
Command = TypeVar("Command", bound=Callable[..., Any])


class TargetCommand(click.Command):
    """A command whose TARGET may also be `-- COMMAND [ARG...]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            if not ctx.meta[_COMMAND]:
                raise click.UsageError("There is no command after `--`.", ctx)
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND [ARG...]]"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the command line named."""

    target: str | None
    command: tuple[str, ...]
    profile: str
    contracts: tuple[str, ...]
    headers: tuple[str, ...]
    own_profile: bool = False
    """Whether a configuration is said by the profile it names, since none was given."""

    def read(self, env: Mapping[str, str] | None = None) -> Read:
        """The definitions and contracts of the target; raises AssentError where there are none to be had.

        `env` is what a command finds in its environment beside the little that every command does.
        """
        files = contract_paths(self.contracts)
        read = _read(self, load_contracts(files), env)
        beside = suppressions_beside(files, tuple(all_rules()))
        ours = [one for one in beside if one.tool in read.target.names]
        return replace(read, suppressions=tuple(dict.fromkeys([*read.suppressions, *ours])))


def target_options(command: Command) -> Command:
    """TARGET, and how it is to be read."""
    return click.argument("target", required=False)(reading_options(command))


def reading_options(command: Command) -> Command:
    """How a target is to be read."""
    for decorate in reversed(
        (
            click.option("--profile", type=click.Choice(profile_names()), default="spec", show_default=True,
                         help="How contracts are said, and whose rules apply; a configuration may have its own."),
            click.option("--contracts", multiple=True, metavar="PATTERN", help="Contract files over the definitions."),
            click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a URL."),
        )
    ):  # fmt: skip
        command = decorate(command)
    return command


def chosen(
    ctx: click.Context, target: str | None, profile: str, contracts: Sequence[str], headers: Sequence[str]
) -> Chosen:
    """What was named, which must be exactly one thing."""
    command = ctx.meta.get(_COMMAND, ())
    if (target is None) == (not command):
        raise click.UsageError("Name one TARGET: a URL, a file, package.module:server, or a command after `--`.", ctx)
    check_name(target or "")
    unsaid = profile == "spec" and ctx.get_parameter_source("profile") is ParameterSource.DEFAULT
    return Chosen(target, command, profile, tuple(contracts), tuple(headers), own_profile=unsaid)


def check_name(target: str) -> None:
    """Refuse a name at which nobody can even look: one that is too long, or in a folder that is closed."""
    if _is_url(target):
        return
    try:
        Path(target).exists()
    except OSError as error:
        remedy = "Correct the path; the text of a file is given to `-`"
        raise SettingsError(Fault(f"cannot be read: {error.strerror}", remedy, file=visible(target[:60]))) from None


def check_tools(definitions: Iterable[Mapping[str, Any]], server: str = "") -> None:
    """Refuse a tool without a name: nobody can call it, and nothing can be noted about it."""
    if not all(isinstance(one.get("name"), str) and one["name"].strip() for one in definitions):
        remedy = "Have its author name it; `assent lint` describes it"
        fault = Fault("it lists a tool without a name", remedy, visible(server[:60]))
        raise SettingsError(fault)


def names_nothing(ctx: click.Context, target: str | None) -> bool:
    """Whether the command line names neither a target nor a command."""
    return target is None and not ctx.meta.get(_COMMAND)


def _read(what: Chosen, overlays: dict[str, Contract], env: Mapping[str, str] | None) -> Read:
    said_by = named_profile(what.profile)
    if what.target == "-":
        given = Path("standard input")
        return read_text(_standard_input(given), given, said_by=said_by, known=tuple(all_rules()), overlays=overlays)
    path = Path(what.target or "")
    if not what.command and not _is_url(what.target) and (path.exists() or not _MODULE.fullmatch(str(what.target))):
        return read_file(
            path,
            said_by=said_by,
            known=tuple(all_rules()),
            overlays=overlays,
            read_api=partial(_read_api, patterns=what.contracts),
            own_profile=what.own_profile,
        )
    # The SDK takes half a second to import, which files do not need.
    from assent.edges.listing import contracts_in, listed_at, listed_by, listed_in

    if what.command:
        found = asyncio.run(listed_by(what.command, errors=sys.__stderr__ or sys.stderr, env=env))
        name = " ".join(what.command)
        return Read(Target(name, under_contract(found, overlays, said_by), said_by), server=found.server)
    target = what.target or ""
    if _is_url(target):
        found = asyncio.run(listed_at(target, headers_of(what.headers)))
        return Read(Target(target, under_contract(found, overlays, said_by), said_by), server=found.server)
    server = load_server(target)
    with redirect_stdout(sys.stderr):
        listed = asyncio.run(listed_in(server))
    subjects = _of_object(server, listed, contracts_in(server) | overlays, tuple(overlays), said_by)
    return Read(Target(target, subjects, said_by))


def _of_object(
    server: Any,
    listed: Sequence[Mapping[str, Any]],
    declared: Mapping[str, Contract],
    overlaid: Sequence[str],
    said_by: Profile,
) -> tuple[Subject, ...]:
    """The tools of a server object: those it lists, and those it has and does not list."""
    from assent.edges.listing import own_hints_in, registered_in, withheld_in

    plain = {name: one for name, one in declared.items() if name in overlaid}
    subjects = [
        Subject(one.definition, declared.get(one.name)) if CONTRACT_KEY in one.mapping("_meta") else one
        for one in under_contract(listed, plain, said_by)
    ]
    names, withheld, own = {one.name for one in subjects}, withheld_in(server), own_hints_in(server)
    unlisted = [one for one in registered_in(server) if one["name"] not in names]
    subjects += under_contract([one for one in unlisted if one["name"] in declared], declared, said_by)
    subjects += [
        Subject(one, withheld=withheld[one["name"]])
        for one in unlisted
        if one["name"] in withheld and one["name"] not in declared
    ]
    dropped = {
        name: tuple(dropped_hints(own[name], contract, said_by)) for name, contract in declared.items() if name in own
    }
    return tuple(replace(one, contradictions=dropped.get(one.name, ())) for one in subjects)


def _standard_input(name: Path) -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(Fault("it is not UTF-8 text", "Convert it", file=str(name))) from None


def _is_url(target: str | None) -> bool:
    return target is not None and "://" in target


def _read_api(path: Path, said_by: Profile, patterns: Sequence[str]) -> Sequence[Subject]:
    """The tools the gateway would make of an API description, contract files over it, with the HTTP method of each."""
    from assent.edges.upstreams.openapi.api import read_api
    from assent.edges.upstreams.openapi.contracts import overlaid
    from assent.edges.upstreams.openapi.library import load_library

    given = read_api(asyncio.run(load_library(path)), infer=classify)
    if given.excluded:
        left = counted(len(given.excluded), "operation")
        click.echo(f"{path}: {left} without a tool; `assent contract show {path} --excluded` says why", err=True)
    declared = load_declared(contract_paths(patterns))
    return [
        subject_of(
            tool.definition,
            read_contract(tool.name, overlaid(tool.fields, declared.get(tool.name, {}))),
            said_by=said_by,
            method=tool.operation.method,
        )
        for tool in given.tools.values()
    ]


def load_server(target: str) -> Any:
    """The server object (or what a function without arguments returns) that `package.module:name` names."""
    home, _, name = target.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        # What it prints is not what this command answers.
        with redirect_stdout(sys.stderr):
            found: Any = import_module(home)
            for part in name.split("."):
                found = getattr(found, part)
            if callable(found) and not hasattr(found, "list_tools"):
                found = found()
            if iscoroutine(found):
                found.close()
                raise TypeError("the function is asynchronous")
    except ContractError:
        raise  # A server that names its own faults is not a wrong target.
    except (ImportError, AttributeError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        ours = missing is None or home == missing or home.startswith(f"{missing}.")
        remedy = "Name it as package.module:server" if ours else f"Install {missing} where assent is installed"
        raise SettingsError(Fault(f"{target} cannot be loaded: {error}", remedy)) from None
    except (Exception, SystemExit) as error:
        # Whatever somebody else's module or function raises is theirs to correct, and no fault of this program.
        said = f"{type(error).__name__}: {error}"
        remedy = "Name a server object, or a function without arguments that returns one"
        raise SettingsError(Fault(f"{target} cannot be loaded: {said}", remedy)) from None
    return found[0] if isinstance(found, tuple) else found


def headers_of(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in given:
        name, colon, value = header.partition(":")
        if not colon:
            raise SettingsError(Fault(f"{header[:40]!r} is not a header", "Write 'Name: value'", "--header"))
        found[name.strip()] = value.strip()
    return found

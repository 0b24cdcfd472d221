"""Reads the TARGET argument of a command.

A URL, a file (tool definitions, contracts, an OpenAPI document, a configuration; `-` is standard input), a Python
object `package.module:server`, the name of a configured upstream, or a command after `--`.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import iscoroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from assent.checks.lint.run import all_rules
from assent.checks.lint.sources import LintInput, read_file, read_text, suppressions_beside, under_contract
from assent.checks.lint.target import LintedTool, Target, subject_of
from assent.cli.shared.options import COMMAND
from assent.cli.shared.servers import list_tools, read_description, settings_naming
from assent.config.load import parse_settings
from assent.contract.binding import ContractLookup, Offered, bind, fits
from assent.contract.files import WrittenContract, by_name, contract_paths, is_pattern, load_written
from assent.contract.model import Contract
from assent.contract.profiles import Profile
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.contract.tool_listing import CONTRACT_KEY, dropped_hints
from assent.contract.yaml_document import YamlDocument
from assent.core.question import counted, visible
from assent.errors import ContractError, Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings

_MOST_WARNINGS = 20
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The target that the command line named, and how to read it."""

    target: str | None
    command: tuple[str, ...]
    profile: str
    contracts: tuple[str, ...]
    headers: tuple[str, ...]
    own_profile: bool = False
    """Whether a configuration's own profile is used, because no profile was given."""
    config: Path | None = None
    """The configuration whose upstreams may be named; None for the default one."""

    def read(self, env: Mapping[str, str] | None = None) -> LintInput:
        """Reads the definitions and contracts of the target; raises AssentError if it has none.

        `env` is added to the minimal environment of a command.
        """
        files = contract_paths(self.contracts)
        written = load_written(files)
        read = _read_target(self, written, env)
        _warn_unmatched(written, read.target)
        beside = suppressions_beside(files, tuple(all_rules()))
        ours = [one for one in beside if one.tool in read.target.names]
        return replace(read, suppressions=tuple(dict.fromkeys([*read.suppressions, *ours])))

    def read_all(self) -> list[LintInput]:
        """Reads the target; a client's configuration gives one input per server, unanswered ones with the reason.

        Raises if no server answers, because then no tool was checked.
        """
        read = self.read()
        if not is_client_file(read.target.configuration):
            return [read]
        found = [read, *_read_servers(read, self)]
        if len(found) > 1 and all(one.unchecked for one in found[1:]):
            raise SettingsError([Fault(f"nothing was checked: {one.unchecked}") for one in found[1:]])
        return found


def chosen(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: Sequence[str],
    headers: Sequence[str],
    config: Path | None = None,
) -> Chosen:
    """The target that was named; exactly one must be."""
    command = ctx.meta.get(COMMAND, ())
    if (target is None) == (not command):
        names = "a URL, a file, package.module:server, a configured upstream, or a command after `--`"
        raise click.UsageError(f"Name one TARGET: {names}.", ctx)
    check_name(target or "")
    is_default = profile == "spec" and ctx.get_parameter_source("profile") is ParameterSource.DEFAULT
    return Chosen(target, command, profile, tuple(contracts), tuple(headers), own_profile=is_default, config=config)


def check_name(target: str) -> None:
    """Refuses a path that cannot be checked: it is too long, or its folder is not accessible."""
    if _is_url(target):
        return
    try:
        Path(target).exists()
    except OSError as error:
        remedy = "Correct the path; to pass the text of a file, use `-`"
        raise SettingsError(Fault(f"cannot be read: {error.strerror}", remedy, file=visible(target[:60]))) from None


def check_tools(definitions: Iterable[Mapping[str, Any]], server: str = "") -> None:
    """Refuses a tool without a name, because it can be neither called nor recorded."""
    if not all(isinstance(one.get("name"), str) and one["name"].strip() for one in definitions):
        remedy = "Ask its author to name it; `assent lint` describes it"
        fault = Fault("it lists a tool without a name", remedy, visible(server[:60]))
        raise SettingsError(fault)


def names_nothing(ctx: click.Context, target: str | None) -> bool:
    """Whether the command line has neither a target nor a command."""
    return target is None and not ctx.meta.get(COMMAND)


def _warn_unmatched(written: Sequence[WrittenContract], target: Target) -> None:
    """Warns about contracts of `--contracts` that match no tool."""
    unmatched = [one for one in written if not any(fits(one.name, name) for name in target.names)]
    for one in unmatched[:_MOST_WARNINGS]:
        close = difflib.get_close_matches(one.name, target.names, n=1)
        remedy = f"; did you mean {close[0]}?" if close else ""
        click.echo(f"{one.where}: the contract {one.name} matches no tool of {visible(target.name)}{remedy}", err=True)
    if len(unmatched) > _MOST_WARNINGS:
        click.echo(f"{len(unmatched) - _MOST_WARNINGS} more contracts match no tool of it", err=True)


def _read_target(what: Chosen, written: Sequence[WrittenContract], env: Mapping[str, str] | None) -> LintInput:
    said_by = named_profile(what.profile)
    path = Path(what.target or "")
    if what.target is not None and (settings := _naming(what.target, what.config)) is not None:
        return _read_upstream(what, settings, written)
    overlays = ContractLookup.of(written)
    if what.target == "-":
        given = Path("standard input")
        return read_text(_standard_input(given), given, said_by=said_by, known=tuple(all_rules()), overlays=overlays)
    if not what.command and not _is_url(what.target) and (path.exists() or not _MODULE.fullmatch(str(what.target))):
        return read_file(
            path,
            said_by=said_by,
            known=tuple(all_rules()),
            overlays=overlays,
            read_api=lambda file, profile: _read_api(str(file), profile, written),
            own_profile=what.own_profile,
        )
    # Importing the SDK takes half a second, and files do not need it.
    from assent.checks.probe.list_tools import contracts_in, listed_at, listed_by, listed_in
    from assent.library.function_contracts import contradictions

    if what.command:
        found = asyncio.run(listed_by(what.command, errors=sys.__stderr__ or sys.stderr, env=env))
        name = " ".join(what.command)
        return LintInput(Target(name, under_contract(found, overlays, said_by), said_by), server=found.server)
    target = what.target or ""
    if _is_url(target):
        found = asyncio.run(listed_at(target, headers_of(what.headers)))
        return LintInput(Target(target, under_contract(found, overlays, said_by), said_by), server=found.server)
    noted: dict[str, tuple[str, ...]] = {}
    token = contradictions.set(noted)
    try:
        server = load_server(target)
        with redirect_stdout(sys.stderr):
            listed = asyncio.run(listed_in(server))
    finally:
        contradictions.reset(token)
    fitted = {str(one["name"]): overlays[str(one["name"])] for one in listed if str(one["name"]) in overlays}
    subjects = _read_object(
        server, listed, contracts_in(server) | {**overlays, **fitted}, (*overlays, *fitted), said_by
    )
    subjects = tuple(replace(one, contradictions=noted.get(one.name, one.contradictions)) for one in subjects)
    return LintInput(Target(target, subjects, said_by))


def _read_object(
    server: Any,
    listed: Sequence[Mapping[str, Any]],
    declared: Mapping[str, Contract],
    overlaid: Sequence[str],
    said_by: Profile,
) -> tuple[LintedTool, ...]:
    """The tools of a server object: the listed ones, and registered ones that are not listed."""
    from assent.checks.probe.list_tools import own_hints_in, registered_in, withheld_in

    plain = {name: one for name, one in declared.items() if name in overlaid}
    subjects = [
        LintedTool(one.definition, declared.get(one.name)) if CONTRACT_KEY in one.mapping("_meta") else one
        for one in under_contract(listed, plain, said_by)
    ]
    names, withheld, own = {one.name for one in subjects}, withheld_in(server), own_hints_in(server)
    unlisted = [one for one in registered_in(server) if one["name"] not in names]
    subjects += under_contract([one for one in unlisted if one["name"] in declared], declared, said_by)
    subjects += [
        LintedTool(one, withheld=withheld[one["name"]])
        for one in unlisted
        if one["name"] in withheld and one["name"] not in declared
    ]
    dropped = {
        name: tuple(dropped_hints(own[name], contract, said_by)) for name, contract in declared.items() if name in own
    }
    return tuple(replace(one, contradictions=dropped.get(one.name, ())) for one in subjects)


def _naming(target: str, config: Path | None) -> Settings | None:
    """The configuration in which the target is an upstream, or None."""
    if target == "-" or _is_url(target) or _MODULE.fullmatch(target):
        return None
    return settings_naming(target, config)


def _read_upstream(what: Chosen, settings: Settings, written: Sequence[WrittenContract]) -> LintInput:
    """A configured upstream's tools under the contracts bound to them, as the gateway would serve them."""
    name = what.target or ""
    upstream = settings.upstreams[name]
    own = named_profile(upstream.profile or settings.profile)
    said_by = own if what.own_profile else named_profile(what.profile)
    written = written or load_written(contract_paths(settings.contracts))
    if upstream.openapi is not None:
        return LintInput(Target(name, tuple(_read_api(upstream.openapi, said_by, written, name)), said_by))
    found = list_tools(name, upstream, settings)
    overlays = {own: one.contract for own, one in bound_to(name, found, written, settings).items()}
    return LintInput(Target(name, under_contract(found, overlays, said_by), said_by), server=found.server)


def bound_to(
    upstream: str,
    definitions: Iterable[Mapping[str, Any]],
    written: Sequence[WrittenContract],
    settings: Settings | None = None,
) -> dict[str, WrittenContract]:
    """The contracts bound to one upstream's tools, by its own names; other upstreams are not contacted."""
    names = [str(one.get("name")) for one in definitions]
    prefix = settings.prefix_of(upstream) if settings is not None else ""
    others = settings.upstreams.keys() - {upstream} if settings is not None else ()
    found = bind(written, {upstream: Offered({name: prefix + name for name in names})}, others)
    return {own: one for (_, own), one in found.governs.items()}


def is_client_file(configuration: str) -> bool:
    """Whether the text of a configuration is a desktop client's."""
    return bool(configuration) and "mcpServers" in (YamlDocument(configuration).value or {})


def _read_servers(read: LintInput, what: Chosen) -> Iterator[LintInput]:
    """Reads each server of a client's configuration as a separate target."""
    from assent.checks.probe.list_tools import NotListedError

    file, said_by = read.target.name, named_profile(what.profile)
    for name, upstream in parse_settings(read.target.configuration, file).upstreams.items():
        try:
            found = list_tools(name, upstream)
        except NotListedError as error:
            yield LintInput(Target(f"{file}#{name}", (), said_by), unchecked=str(error))
            continue
        subjects = under_contract(found, {}, said_by, f"{file}#{name}")
        yield LintInput(Target(f"{file}#{name}", subjects, said_by), server=found.server)


def _standard_input(name: Path) -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(Fault("it is not UTF-8 text", "Convert it to UTF-8", file=str(name))) from None


def _is_url(target: str | None) -> bool:
    return target is not None and "://" in target


def _read_api(
    source: str, said_by: Profile, written: Sequence[WrittenContract], upstream: str = ""
) -> Sequence[LintedTool]:
    """The tools that the gateway would make of an OpenAPI document, with contract files and HTTP methods."""
    from assent.upstreams.openapi.contracts import overlaid

    given = read_description(source)
    if given.excluded:
        left = counted(len(given.excluded), "operation")
        click.echo(f"{source}: {left} without a tool; `assent contract show {source} --excluded` says why", err=True)
    definitions = [tool.definition for tool in given.tools.values()]
    if upstream:
        declared = {own: one.fields for own, one in bound_to(upstream, definitions, written).items()}
    else:
        by_name(written)
        patterns = [one for one in written if is_pattern(one.name)]
        names = [str(one["name"]) for one in definitions]
        declared = {name: one.fields for one in patterns for name in names if fits(one.name, name)}
        declared |= {one.name: one.fields for one in written}
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
    """The server object that `package.module:name` names, or the result of a function without arguments."""
    home, _, name = target.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        # The module's output must not mix with this command's output.
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
        raise  # A server that reports its own contract faults is a valid target.
    except (ImportError, AttributeError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        ours = missing is None or home == missing or home.startswith(f"{missing}.")
        remedy = "Name it as package.module:server" if ours else f"Install {missing} where assent is installed"
        raise SettingsError(Fault(f"{target} cannot be loaded: {error}", remedy)) from None
    except (Exception, SystemExit) as error:
        # An exception of the user's module is the user's to correct, not a defect of this program.
        reason = f"{type(error).__name__}: {error}"
        remedy = "Name a server object, or a function without arguments that returns one"
        raise SettingsError(Fault(f"{target} cannot be loaded: {reason}", remedy)) from None
    return found[0] if isinstance(found, tuple) else found


def headers_of(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in given:
        name, colon, value = header.partition(":")
        if not colon:
            raise SettingsError(Fault(f"{header[:40]!r} is not a header", "Write 'Name: value'", "--header"))
        found[name.strip()] = value.strip()
    return found

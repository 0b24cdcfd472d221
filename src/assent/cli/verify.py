"""`assent verify`: calls the tools of a server you own and checks that they keep their promises."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from contextlib import AbstractAsyncContextManager
from functools import partial
from threading import Timer

import click

from assent.cli.shared.targets import (
    Chosen,
    TargetCommand,
    check_tools,
    chosen,
    headers_of,
    load_server,
    target_options,
)
from assent.core.render import counted, visible
from assent.errors import Fault, SettingsError
from assent.lint import Target
from assent.probe.call_tools import PATIENCE, ToolCaller, calling
from assent.probe.list_tools import contracts_in
from assent.verify import Checked, Command, Observer, Verdict, database_at, promises_of
from assent.verify import verify as try_out
from assent.verify.hang_guard import HangGuard
from assent.verify.promises import Promises
from assent.verify.run import Calls


@click.command(cls=TargetCommand)
@target_options
@click.option(
    "--calls",
    type=click.Choice(["reads", "all"]),
    default="reads",
    show_default=True,
    help="Which tools to call. `all` has effects: use it on a test server.",
)
@click.option("--examples", type=click.IntRange(1, 200), default=5, show_default=True, help="Calls to try per tool.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 3600, min_open=True),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="The time limit of one call.",
)
@click.option("--tool", "only", multiple=True, metavar="NAME", help="Only this tool; may be repeated.")
@click.option("--snapshot", metavar="COMMAND", help="A command that prints the server's state.")
@click.option("--database", metavar="URL", help="The server's database: sqlite:///path or postgresql://...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def verify(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    calls: Calls,
    examples: int,
    timeout: float,
    only: tuple[str, ...],
    snapshot: str | None,
    database: str | None,
    form: str,
) -> None:
    """Call the tools of TARGET with generated arguments and check that they keep their promises.

    TARGET is a server that you own: a URL, package.module:server, or a command after `--`. Only tools that claim to
    be read-only are called, unless you give `--calls all`, because calling the others has effects.

    Example: assent verify --calls all -- python my_server.py
    """
    what = chosen(ctx, target, profile, contracts, headers)
    # The owner of a server configures it through the environment, for example its database.
    read = what.read(env=os.environ)
    observers: list[Observer] = [Command(_words(snapshot))] if snapshot is not None else []
    observers += [database_at(database)] if database is not None else []
    promises = _promises(what, read.target, only)
    if calls == "all":
        click.echo("Every tool of the server is called: this has effects.", err=True)
    else:
        click.echo("Only read-only tools are called; --calls all calls the others too, with effects.", err=True)
    watch = HangGuard(timeout)
    run = partial(try_out, observers=observers, calls=calls, examples=examples, only=only)

    async def work() -> tuple[int, Timer]:
        async with _connection(what, timeout) as session:
            verdict = await run(watch.over(session), promises)
            click.echo(_as_json(verdict) if form == "json" else _as_text(verdict))
            code = 1 if verdict.broken else 0
            return code, watch.leave(code)

    code, leaving = asyncio.run(work())
    leaving.cancel()
    ctx.exit(code)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        fault = Fault(f"the command cannot be read: {error}", "Close every quotation mark", "--snapshot")
        raise SettingsError(fault) from None
    if not words:
        raise SettingsError(
            Fault("the command is empty", "Name a command that prints the server's state", "--snapshot")
        )
    return words


def _promises(what: Chosen, target: Target, only: tuple[str, ...]) -> list[Promises]:
    check_tools([tool.definition for tool in target.subjects], target.name)
    unknown = [name for name in only if name not in target.names]
    if unknown:
        raise SettingsError([Fault("the server has no tool with this name", "Correct it", name) for name in unknown])
    laid_over = bool(what.contracts)
    declared = contracts_in(load_server(what.target or "")) if _is_object(what) else {}
    return [
        promises_of(
            tool.definition, tool.contract or declared.get(tool.name), enforced=not (laid_over and tool.contract)
        )
        for tool in target.subjects
    ]


def _is_object(what: Chosen) -> bool:
    where = what.target or ""
    return not what.command and not where.startswith(("http://", "https://")) and ":" in where


def _connection(what: Chosen, timeout: float) -> AbstractAsyncContextManager[ToolCaller]:
    where = what.target or ""
    if what.command:
        return calling(command=what.command, env=os.environ, patience=timeout)
    if where.startswith(("http://", "https://")):
        return calling(url=where, headers=headers_of(what.headers), patience=timeout)
    if _is_object(what):
        return calling(load_server(where), patience=timeout)
    raise SettingsError(Fault("a file cannot be called", "Name a URL, package.module:server, or -- COMMAND"))


def _as_json(verdict: Verdict) -> str:
    document = {
        "broken": [one.as_json() for one in verdict.broken],
        "checked": [{"tool": one.tool, "calls": one.calls, "skipped": one.skipped} for one in verdict.checked],
        "notes": list(verdict.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _as_text(verdict: Verdict) -> str:
    lines: list[str] = []
    for one in verdict.broken:
        lines.append(f"{visible(one.tool)}: promised that {one.promise}, but {visible(one.happened)}")
        lines.append(f"  called with {visible(json.dumps(one.arguments, ensure_ascii=False))}")
    lines += [f"{visible(one.tool)}: {_left_out(one)}" for one in verdict.checked if one.skipped]
    lines += [f"note: {visible(note)}" for note in verdict.notes]
    called = [one for one in verdict.checked if one.calls]
    total = sum(one.calls for one in called)
    tools, times = counted(len(called), "tool"), counted(total, "time")
    lines.append(f"{tools} called {times}, {counted(len(verdict.broken), 'promise')} broken")
    return "\n".join(lines)


def _left_out(one: Checked) -> str:
    return f"{'some' if one.calls else 'not called:'} {visible(one.skipped)}"

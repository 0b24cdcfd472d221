"""The work of `assent verify`: connects to the server, calls its tools and prints the verdict."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import tempfile
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import click

from assent.checks.lint.target import Target
from assent.checks.probe.call_tools import ToolCaller, calling
from assent.checks.probe.list_tools import contracts_in
from assent.checks.verify.observe import Command, Observer, database_at
from assent.checks.verify.promises import Promises, promises_of
from assent.checks.verify.run import Calls, Verdict
from assent.checks.verify.run import verify as try_out
from assent.checks.verify.watched_sessions import HangGuard, touching
from assent.cli.shared.targets import Chosen, check_tools, headers_of, load_server
from assent.core.question import counted, visible
from assent.errors import Fault, SettingsError
from assent.features import load_feature


class Options(NamedTuple):
    """What to call, how often and for how long, what to watch meanwhile, and how to print the verdict."""

    calls: Calls
    examples: int
    timeout: float
    only: tuple[str, ...]
    snapshot: str | None
    database: str | None
    form: str


def run(what: Chosen, given: Options) -> int:
    """Calls the tools and prints the verdict; returns the exit code."""
    # The owner of a server configures it through the environment, for example its database.
    read = what.read(env=os.environ)
    observers: list[Observer] = [Command(_words(given.snapshot))] if given.snapshot is not None else []
    observers += [database_at(given.database)] if given.database is not None else []
    promises = _promises(what, read.target, given.only)
    if given.calls == "all":
        click.echo("Every tool of the server is called: this has effects.", err=True)
    else:
        click.echo("Only read-only tools are called; --calls all calls the others too, with effects.", err=True)
    watch = HangGuard(given.timeout)
    verify = partial(try_out, observers=observers, calls=given.calls, examples=given.examples, only=given.only)

    async def work() -> tuple[int, Timer]:
        touched = None
        if what.command:
            touched = load_feature("sandbox_trace").TracedUsage(Path(folder, "touched"), what.command, os.environ)
        async with _connection(what, given.timeout, touched) as session:
            verdict = await verify(watch.over(touching(session, touched) if touched else session), promises)
            if touched is not None:
                verdict = replace(verdict, notes=(*verdict.notes, *touched.notes()))
            click.echo(_as_json(verdict) if given.form == "json" else _as_text(verdict))
            code = 1 if verdict.broken else 0
            return code, watch.leave(code)

    with tempfile.TemporaryDirectory() as folder:
        code, leaving = asyncio.run(work())
    leaving.cancel()
    return code


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


def _connection(what: Chosen, timeout: float, touched: Any) -> AbstractAsyncContextManager[ToolCaller]:
    where = what.target or ""
    if touched is not None:
        return calling(command=touched.command, env=os.environ, patience=timeout)
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
    left = [(one.tool, "some" if one.calls else "not called:", one.skipped) for one in verdict.checked if one.skipped]
    lines += [f"{visible(tool)}: {how} {visible(why)}" for tool, how, why in left]
    lines += [f"note: {visible(note)}" for note in verdict.notes]
    called = [one for one in verdict.checked if one.calls]
    total = sum(one.calls for one in called)
    tools, times = counted(len(called), "tool"), counted(total, "time")
    lines.append(f"{tools} called {times}, {counted(len(verdict.broken), 'promise')} broken")
    return "\n".join(lines)

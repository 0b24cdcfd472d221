"""`assent policy replay` and `assent policy suggest`: recorded calls under changed settings, and rules they kept to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from assent.audit.leaf import BadEntry
from assent.audit.signed_log import AuditLogError
from assent.checks.history.recorded_call import CalledTools, known_callers, recorded_calls
from assent.checks.history.replay import ChangedDecision, Replay, as_json
from assent.checks.history.replay import replay as replay_log
from assent.checks.history.suggest import CallUsage, suggest_guards, suggest_scopes, suggestions_text, time_text
from assent.cli.shared.log_access import moment, progress_bar
from assent.cli.shared.policies import tools_of
from assent.cli.shared.store_access import deciding_ports
from assent.config.anchors import log_signer_of
from assent.config.load import UNASKED, find_settings
from assent.config.model import Settings
from assent.core.catalogue import Catalogue
from assent.core.question import visible
from assent.core.tool import Tool
from assent.errors import Fault, SettingsError
from assent.ports import Ports, Store
from assent.stores.inspect import schema_of
from assent.stores.open import open_store

if TYPE_CHECKING:
    from assent.rules.policy.engine import PolicyEngine

MOST_GROUPS = 15
MOST_SHOWN = 100
"""The most characters of a call's arguments in the text."""
_WIDTH = 16


class LogState(NamedTuple):
    """Whether the log that was read verifies, and what to say about it."""

    verified: bool
    detail: str
    broken: bool = False
    """Whether something in it is wrong. A log that was never signed is not verified, and not broken."""


def replay(ctx: click.Context, since: str | None, history: Path | None, as_document: bool, config: Path | None) -> None:
    settings = find_settings(config, unused=UNASKED)
    source = find_settings(history, unused=UNASKED) if history is not None else settings
    known = tools_of(settings)[0] if settings.policies else None  # Only upstreams know the types of arguments.
    try:
        found, state = asyncio.run(_replay(settings, source, moment(since) if since else 0, known))
    except BadEntry as error:
        click.echo(f"error: an entry of the log cannot be read: {error}. Run `assent audit verify`", err=True)
        ctx.exit(1)
    if as_document:
        head = {"verified": state.verified, "log": state.detail}
        click.echo(json.dumps({**as_json(found), **head}, indent=2, ensure_ascii=False))
    else:
        click.echo(report_text(found, state))
    ctx.exit(1 if found.changed or state.broken else 0)


async def require_history(settings: Settings) -> None:
    """Raise unless there is a log to read; opening a store that does not exist would create it."""
    if settings.store.startswith("memory:"):
        raise click.UsageError("The configured store is in the gateway's memory, so there is no history to read.")
    if (await schema_of(settings.store))[0] == 0:
        remedy = "Correct `store:`, or name the configuration of the running gateway"
        raise SettingsError(Fault("the store does not exist yet, so there is no history", remedy, "store"))


def _misfits(ports: Ports) -> Callable[[Tool], bool]:
    """Whether policies do not fit a tool: the types of its arguments are not known, or the policy is wrong."""
    policies = cast("PolicyEngine | None", ports.rules.policies)
    return lambda tool: policies is not None and bool(policies.faults_of([tool]))


async def _replay(settings: Settings, source: Settings, since: int, known: Catalogue | None) -> tuple[Replay, LogState]:
    await require_history(source)
    log = await open_store(source.store)
    try:
        state = await log_state(source, log)
        ports = await deciding_ports(settings.model_copy(update={"store": source.store}))
        try:
            tools = CalledTools(known or ports.catalogue(), settings.prefix_of, lambda name: _has_test(settings, name))
            callers = await known_callers(settings, log)
            with progress_bar(await log.length(), "Replaying") as progress:
                found = await replay_log(
                    log, ports, tools, callers.find, unfit=_misfits(ports), since=since, progress=progress
                )
            return found, state
        finally:
            await ports.store.close()
    finally:
        await log.close()


async def log_state(settings: Settings, log: Store) -> LogState:
    """Check the log against its signatures. It is not signed here: reading history writes nothing."""
    try:
        signer = log_signer_of(settings, log)
        if await signer.latest() is None:
            return LogState(False, "the log was never signed, so nothing proves that it is complete")
        with progress_bar(await log.length(), "Verifying") as progress:
            report = await signer.inspect(progress)
    except AuditLogError as error:
        return LogState(False, f"the log cannot be verified: {error}", broken=True)
    if report.ok:
        return LogState(True, "; ".join(["the log verifies", *report.remarks]))
    first = report.faults[0]
    more = f" ({len(report.faults)} faults; `assent audit verify` lists them)"
    return LogState(False, f"the log does not verify: {first.place}: {first.detail}{more}", broken=True)


def _has_test(settings: Settings, upstream: str) -> bool:
    """Whether a recorded test call could be served; one of an upstream that is not configured could be then."""
    configured = settings.upstreams.get(upstream)
    return configured is None or configured.test is not None


def report_text(found: Replay, state: LogState) -> str:
    """The replay for people: the counts, what they do not cover, and the changed decisions in groups."""
    lines = [f"{state.detail[:1].upper()}{state.detail[1:]}."]
    if found.first is not None and found.last is not None:
        lines.append(f"Calls from {time_text(found.first)} to {time_text(found.last)}.")
    lines.append("")
    lines += [f"{'examined':<{_WIDTH}}{found.examined}", f"{'changed':<{_WIDTH}}{len(found.changed)}"]
    lines.append(f"{'not_replayable':<{_WIDTH}}{found.not_replayable}")
    lines += [f"{'':<{_WIDTH}}{number}: {reason}" for reason, number in found.gaps.most_common()]
    lines += _coverage(found)
    return "\n".join([*lines, *_groups(found)])


def _coverage(found: Replay) -> list[str]:
    lines = []
    if found.without_contract:
        tools, calls = len(found.without_contract), sum(found.without_contract.values())
        lines.append(f"{calls} calls of {tools} tools without a written contract: judged by the log's tier and risk.")
    if found.scopes_unknown:
        callers, calls = len(found.scopes_unknown), sum(found.scopes_unknown.values())
        lines.append(f"{calls} calls of {callers} callers without recorded scopes and groups: these were not checked.")
    if found.step_ups:
        lines.append(f"{found.step_ups} calls need a step-up: whether the caller had authenticated is not recorded.")
    return ["", *lines] if lines else []


def _groups(found: Replay) -> list[str]:
    """The changed decisions by tool, decisions and rule, the most frequent first."""
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for place, one in enumerate(found.changed):
        key = (one.call.facts["tool"], str(one.call.decision), str(one.now), one.rule or one.detail)
        groups.setdefault(key, []).append(place)
    lines: list[str] = []
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (tool, before, after, _), places in ordered[:MOST_GROUPS]:
        first, last = found.changed[places[0]], found.changed[places[-1]]
        rule = f"{first.rule}: " if first.rule else ""
        lines += ["", f"{len(places):>6}  {tool}: {before} → {after}"]
        lines += [f"        {visible(rule + first.detail)}"] if rule or first.detail else []
        lines.append(f"        first: {_call_text(first)}")
        if last is not first:
            lines.append(f"        last:  {_call_text(last)}")
    if len(ordered) > MOST_GROUPS:
        lines += ["", f"… and {len(ordered) - MOST_GROUPS} more groups; --json lists every decision"]
    return lines


def _call_text(one: ChangedDecision) -> str:
    """A call on one line: its entry, its time, its caller and its arguments."""
    values = one.call.values
    arguments = json.dumps(values["arguments"], ensure_ascii=False)
    shown = arguments if len(arguments) <= MOST_SHOWN else arguments[: MOST_SHOWN - 1] + "…"
    return visible(f"entry {one.call.index}, {time_text(one.call.at)}, by {values['principal']}: {shown}")


def suggest(since: str | None, min_calls: int, config: Path | None) -> None:
    settings = find_settings(config, unused=UNASKED)
    try:
        click.echo(asyncio.run(_suggest(settings, moment(since) if since else 0, min_calls)))
    except BadEntry as error:
        click.echo(f"error: an entry of the log cannot be read: {error}. Run `assent audit verify`", err=True)
        raise click.exceptions.Exit(1) from None


async def _suggest(settings: Settings, since: int, least_calls: int) -> str:
    await require_history(settings)
    ports = await deciding_ports(settings)
    log = ports.store
    try:
        state = await log_state(settings, log)
        contracts = {name: tool.contract for name, tool in ports.catalogue().tools.items()}
        usage = CallUsage()
        with progress_bar(await log.length(), "Reading") as progress:
            async for recorded in recorded_calls(log, since):
                if isinstance(recorded, int):
                    progress(recorded + 1)
                else:
                    usage.add(recorded)
        callers = (await known_callers(settings, log)).known.values()
        scopes = suggest_scopes(usage, callers, contracts)
        return suggestions_text(usage, suggest_guards(usage, contracts, least_calls), scopes, state.detail)
    finally:
        await log.close()

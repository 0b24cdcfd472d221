"""`assent policy suggest`: guards and scopes that recorded calls have always kept to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from assent.audit.leaf import BadEntry
from assent.checks.history.recorded_call import recorded_calls
from assent.checks.history.suggest import suggest_guards, suggest_scopes, suggestions_text
from assent.checks.history.usage import Usage
from assent.cli.policy_replay import known_callers, log_state, require_history
from assent.cli.shared.log_access import moment, progress_bar
from assent.cli.shared.ports import deciding_ports
from assent.config.load import UNASKED, find_settings
from assent.config.model import Settings


def suggest(since: str | None, min_calls: int, config: Path | None) -> None:
    settings = find_settings(config, unused=UNASKED)
    try:
        click.echo(asyncio.run(_run(settings, moment(since) if since else 0, min_calls)))
    except BadEntry as error:
        click.echo(f"error: an entry of the log cannot be read: {error}. Run `assent audit verify`", err=True)
        raise click.exceptions.Exit(1) from None


async def _run(settings: Settings, since: int, least_calls: int) -> str:
    await require_history(settings)
    ports = await deciding_ports(settings)
    log = ports.store
    try:
        state = await log_state(settings, log)
        contracts = {name: tool.contract for name, tool in ports.catalogue().tools.items()}
        usage = Usage()
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

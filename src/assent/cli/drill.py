"""`assent drill`: replays published attacks against a configuration, in a sandbox."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import click

from assent.cli.shared.options import config_option


@click.command()
@click.argument("stories", nargs=-1, metavar="[STORY]...")
@click.option("--list", "listing", is_flag=True, help="Print the names of all stories, one per line.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@config_option
@click.pass_context
def drill(ctx: click.Context, stories: tuple[str, ...], listing: bool, as_json: bool, config: Path | None) -> None:
    """Replay published MCP attacks against this configuration and say what stops them.

    Each STORY (all by default) runs in a sandbox with stand-in servers. Your guards, policies, limits, defaults,
    profile, mode, pins and flow settings apply, and stand-ins on this machine are confined as your own servers are.
    Your upstreams, contracts, store and keys are not used. Exit code 0: nothing was let through; 1: something was.

    Example: assent drill -c assent.yaml tool-poisoning rug-pull
    """
    from assent.checks.drill.run import as_text, run, story_names
    from assent.config.load import OUTSIDE, find_settings

    if listing:
        click.echo("\n".join(story_names()))
        return
    if unknown := [name for name in stories if name not in story_names()]:
        raise click.UsageError(f"There is no story {unknown[0]!r}. `assent drill --list` prints the names.", ctx)
    settings = find_settings(config, unused=(*OUTSIDE, "store", "secrets", "audit"))
    if settings.mode == "observe" and not as_json:
        click.echo("Observing: nothing is asked or refused, so most attacks pass. Set `mode: enforce`.")
    # A CI job that takes too long is ended with SIGTERM: then the sandbox is cleaned up as after Ctrl-C.
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        results = asyncio.run(run(settings, stories or story_names()))
    except TimeoutError:
        raise click.ClickException(
            "A story had no end within 30 seconds. Run it alone, on a machine that is less busy."
        ) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    if as_json:
        click.echo(json.dumps([one.as_json() for one in results], indent=2, ensure_ascii=False))
    else:
        for line in as_text(results):
            click.echo(line)
    ctx.exit(1 if any(one.ended.ending == "let through" for one in results) else 0)

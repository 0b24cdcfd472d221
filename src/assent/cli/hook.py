"""`assent hook`: answers one event of a coding agent."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from assent.cli.shared.options import own_config_option
from assent.hooks import engine_client
from assent.hooks.answers import CLIENTS, failure


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)))
@own_config_option
def hook(client: str, config: Path | None) -> None:
    """Answer one hook event: JSON on standard input, the client's own answer on standard output.

    The call is only observed until the configuration sets `mode: enforce`. Where nothing objects there is no decision,
    so the client asks as it would without Assent. An event that cannot be judged is denied.

    Example: assent init --client claude-code --hooks --write   puts it into the client's settings
    """
    try:
        from assent.features import load_feature

        answer = load_feature("hooks").answer_here(config, client, engine_client.held or sys.stdin.buffer.read())
    except Exception as error:
        answer = failure(client, f"{type(error).__name__} in Assent")
    click.echo(answer)

"""`assent serve`: runs the gateway over HTTP."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from assent.cli.shared.options import config_option, require_posix


def refuse_workers(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        remedy = "run one replica for each core behind nginx, as examples/postgres_replicas does"
        raise click.UsageError(f"--workers was removed: {remedy}.", context)


@click.command()
@config_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8420, show_default=True, type=click.IntRange(0, 65535))
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
@click.option("--workers", hidden=True, expose_value=False, callback=refuse_workers)
@click.option("--check", is_flag=True, help="Check the configuration and the upstreams' tools, then exit.")
def serve(config: Path | None, host: str, port: int, log_format: str, log_level: str, check: bool) -> None:
    """Run the gateway: govern every call to the configured upstreams, over HTTP at /mcp.

    Example: assent serve -c assent.yaml --port 8420
    """
    require_posix("assent serve")
    gc.set_threshold(500_000, 20, 50)  # One search for garbage would take a tenth of the start; `tune_gc` ends this.
    from assent.cli import serve_process

    if check:
        serve_process.check(config, host)
    else:
        serve_process.start(config, host, port, log_format, log_level)

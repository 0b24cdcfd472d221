"""`assent demo`: runs a demo server with the gateway in front of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from assent.cli.shared.options import module_of_clone, require_posix


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), default=Path(".assent-demo"), show_default=True,
    help="The folder of all demo files; the demo starts afresh each time.",
)  # fmt: skip
@click.option("--port", default=8420, show_default=True, type=click.IntRange(0, 65535))
@click.option("--once", is_flag=True, help="Run the scripted calls and exit.")
@click.option(
    "--browser/--no-browser", default=None,
    help="Open the console in a browser; default: if this machine has a display and output goes to a terminal.",
)  # fmt: skip
def demo(folder: Path, port: int, once: bool, browser: bool | None) -> None:
    """Run a demo server with the gateway in front of it. Ctrl-C stops.

    Example: assent demo --port 8420
    """
    require_posix("assent demo")
    import asyncio

    process = module_of_clone("demo.process", ".", "The demo", "make demo")
    click.echo("Starting a demo office, and the gateway in front of it ...", err=True)
    opens = has_display() and sys.stdout.isatty() if browser is None else browser
    asyncio.run(process.run(folder, port, once, opens and not once))


def has_display() -> bool:
    """Whether a browser of this machine can show a window. A browser in the terminal would hide the demo's story."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

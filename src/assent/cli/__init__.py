"""The `assent` command line. Wrapped servers and hooks go to the engine before it is imported."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from assent.cli.commands import COMMANDS as COMMANDS
    from assent.cli.commands import SECTIONS as SECTIONS
    from assent.cli.commands import cli as cli


def main() -> None:
    """Runs a command. Exit codes: 0 clean, 1 findings or refusals, 2 wrong usage or configuration."""
    gc.set_threshold(100_000, 20, 50)  # Imports make no garbage; by default a tenth of a start is spent looking for it.
    if sys.argv[1:2] == ["wrap"] and sys.platform != "win32":
        from assent.gateway.engine import door

        if (wrap := door.parse(sys.argv[2:])) is not None and (code := door.run(wrap)) is not None:
            sys.exit(code)
    if sys.argv[1:2] == ["hook"] and sys.platform != "win32":
        from assent.hooks import engine_client

        if (hook := engine_client.parse(sys.argv[2:])) is not None and (code := engine_client.run(*hook)) is not None:
            sys.exit(code)
    from assent.cli.commands import main

    main()


def __getattr__(name: str) -> object:
    if name not in ("COMMANDS", "SECTIONS", "cli"):
        raise AttributeError(f"module 'assent.cli' has no attribute {name!r}")
    from assent.cli import commands

    return getattr(commands, name)

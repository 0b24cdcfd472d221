"""`assent wrap`: governs one server on standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from assent.cli.shared.options import own_config_option, require_posix

STARTS_WITHIN = "60s"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@own_config_option
@click.option(
    "--start-within", default=STARTS_WITHIN, show_default=True, metavar="DURATION",
    callback=lambda *given: _seconds(given[2]),
    help="How long the server may take until its first answer.",
)  # fmt: skip
@click.option(
    "--sandbox", type=click.Choice(["off", "observe", "enforce"]),
    help="Whether the kernel confines the server. Default: as configured for this command, or off.",
)  # fmt: skip
@click.option("--read", multiple=True, metavar="PATH", help="In the sandbox: a path that the server may read.")
@click.option("--write", multiple=True, metavar="PATH", help="In the sandbox: a path that the server may change.")
@click.option("--host", multiple=True, metavar="HOST", help="In the sandbox: a host that the server may reach.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
def wrap(
    config: Path | None,
    start_within: int,
    sandbox: str | None,
    read: tuple[str, ...],
    write: tuple[str, ...],
    host: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Govern the calls to the server that COMMAND starts, over standard input and output.

    Put `assent wrap --` before the command in a client's configuration. Calls are only observed until the
    configuration sets `mode: enforce`; without -c that is the user's own configuration.

    Example: assent wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
    """
    require_posix("assent wrap")
    granted = {"read": _full(read), "write": _full(write), "hosts": host}
    if any(granted.values()) and sandbox in (None, "off"):
        raise click.UsageError("--read, --write and --host need --sandbox observe or --sandbox enforce")
    from assent.gateway.engine import door

    named, chosen = None if config is None else str(config), sandbox or ""
    code = door.run(door.Wrap(command, named, f"{start_within}s", chosen, granted["read"], granted["write"], host))
    if code is None:
        from assent.cli.wrap_process import start
        from assent.gateway.stdio.wrapped_server import WrapRequest

        boxed = {"mode": sandbox, **granted} if sandbox is not None else None
        code = start(WrapRequest(command, config, start_within, boxed))
    raise click.exceptions.Exit(code)


def _full(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(Path(path).expanduser().absolute()) for path in paths)


def _seconds(text: str) -> int:
    from assent.contract.fields import parse_duration

    try:
        return int(parse_duration(text))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None

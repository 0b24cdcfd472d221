"""The process of `assent wrap` without the engine: one server behind standard input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

import click

from assent.core.approval import Approval
from assent.gateway import logging as logs
from assent.gateway.stdio.streams import StandardStreams
from assent.gateway.stdio.wrapped_server import WrapClient, WrapRequest, serve_wrapped, wrapping
from assent.upstreams.stdio import stderr


def start(request: WrapRequest) -> int:
    """Sets up logging and governs the server that the command starts; returns the exit code."""
    logs.begin_brief("assent wrap")
    logs.log_uncaught()
    stderr.logger.setLevel(logging.INFO)
    return asyncio.run(_run(request))


async def _run(request: WrapRequest) -> int:
    stop, opened = asyncio.Event(), list[StandardStreams]()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def streams() -> StandardStreams:
        opened.append(StandardStreams((os.dup(0), os.dup(1), os.dup(2))))
        os.dup2(2, 1)  # Any other output of this process goes to standard error.
        return opened[0]

    try:
        return await serve_wrapped(request, WrapClient(streams, _tell, stop, _tell_waiting), wrapping(request))
    finally:
        for one in opened:
            await one.close()


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _tell_waiting(approval: Approval, command: str | None) -> None:
    from assent.core.question import visible

    _tell(f"assent wrap: {visible(approval.tool)} waits for a person" + (f": {command}" if command else ""))

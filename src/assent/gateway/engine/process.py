"""The process of the engine, which the first door starts: it listens already, then loads what it needs."""

from __future__ import annotations

import os
import socket
import sys

_LISTENER, _LOCK = 3, 4


def main() -> None:
    """Serve doors on the socket that the door has opened, as long as the lock that it holds is ours."""
    _, folder, name, identity = sys.argv[1:5]
    for descriptor in (_LISTENER, _LOCK):
        os.set_inheritable(descriptor, False)
    listener = socket.socket(fileno=_LISTENER)
    import asyncio
    import gc
    import logging
    import signal

    gc.set_threshold(100_000, 20, 50)
    from assent.gateway import logging as logs
    from assent.gateway.engine.engine import Engine, tell_door
    from assent.upstreams.stdio import stderr

    class ByDoor(logging.StreamHandler):  # type: ignore[type-arg]
        """Lines about a door's server go to that door's client; all others to the engine's log."""

        def emit(self, record: logging.LogRecord) -> None:
            tell = tell_door.get()
            if tell is None:
                super().emit(record)
            else:
                tell(to_door.format(record))

    to_door, handler = logs.PlainFormatter("assent wrap: %(message)s"), ByDoor()
    handler.setFormatter(logs.PlainFormatter())
    logging.basicConfig(level="WARNING", handlers=[handler], force=True)
    stderr.logger.setLevel(logging.INFO)
    logs.log_uncaught()
    path = f"{folder}/{name}.sock"
    mine = os.stat(path).st_ino

    def still_there() -> bool:
        try:
            return os.stat(path).st_ino == mine
        except OSError:
            return False

    async def run() -> None:
        engine = Engine(os.fsencode(identity), still_there=still_there)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, engine.end, "the engine was ended by a signal")
        await engine.run(listener)

    try:
        asyncio.run(run())
    finally:
        if still_there():
            os.unlink(path)

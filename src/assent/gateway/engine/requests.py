"""What the engine answers beside wrapping servers: one handler per kind of request.

A handler is a coroutine function that takes the engine and the request, a JSON object, and returns a JSON object.
Kinds of features are loaded when they are first asked for: `features.py` names the module, whose function
`answer_engine(engine, request)` is the handler. Every request has `config` (the path of the named configuration, or
null), `folder` and `environment` of the process that asks, beside its own members. `Engine.surroundings` gives a
handler the shared store and flow control; an AssentError that it raises is shown to the person who asks.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.errors import Fault, SettingsError
from assent.features import load_feature
from assent.gateway.engine import wire

if TYPE_CHECKING:
    from assent.gateway.engine.engine import Engine

Handler = Callable[["Engine", dict[str, Any]], Awaitable[dict[str, Any]]]

FEATURES: Mapping[str, str] = {"hook": "engine_hook", "console": "engine_console"}
"""The feature that answers a kind of request."""


def handler_of(kind: Any) -> Handler:
    """The handler of a kind. Raises SettingsError if there is none."""
    if kind in _OWN:
        return _OWN[kind]
    if kind in FEATURES:
        handler: Handler = load_feature(FEATURES[kind]).answer_engine
        return handler
    raise SettingsError(Fault(f"the engine {wire.VERSION} has no request {str(kind)[:40]!r}", "Upgrade Assent"))


async def status(engine: Engine, _: dict[str, Any]) -> dict[str, Any]:
    """What runs in the engine."""
    servers = [
        {"name": one.name, "program": one.program, "folder": one.folder, "process": one.child, "since": one.since,
         "calls": one.calls}
        for one in engine.wrapped
    ]  # fmt: skip
    return {
        "version": wire.VERSION, "protocol": wire.PROTOCOL, "process": os.getpid(), "since": engine.since,
        "memory": memory_of(os.getpid()), "doors": sum(memory_of(one.door) for one in engine.wrapped),
        "servers": servers, "console": engine.console,
    }  # fmt: skip


async def stop(engine: Engine, _: dict[str, Any]) -> dict[str, Any]:
    """End the engine. The answer is sent first; servers are ended with a sentence for their clients."""
    count = len(engine.wrapped)
    engine.end("`assent engine stop` ended it")
    return {"process": os.getpid(), "servers": count}


def memory_of(process: int) -> int:
    """The memory of a process in bytes, shared pages included; 0 if it cannot be read."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):
        if process != os.getpid():
            return 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()


_OWN: dict[Any, Handler] = {"status": status, "stop": stop}

"""Sends one request to the engine and returns its answer: for hooks, `assent console`, `assent engine` and `doctor`.

Imports the standard library alone. A request is a JSON object with a `kind`; so is the answer. The kinds are in
`requests.py`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

from assent.gateway.engine import wire
from assent.gateway.engine.find_or_start import Unavailable, connect, connect_or_start, find_place, has_folder

ANSWERS_WITHIN = 30.0
_TRIES, _PAUSE = 100, 0.1


class EngineRefused(Exception):
    """The engine answered that it cannot serve the request; the text is the sentence for a person."""


def ask(
    kind: str,
    request: Mapping[str, Any] | None = None,
    *,
    config: str | None = None,
    environment: Mapping[str, str] = os.environ,
    start: bool = True,
    within: float = ANSWERS_WITHIN,
) -> dict[str, Any] | None:
    """The answer to one request of this process; None if no engine runs and `start` is false.

    The engine of the configuration is started if none runs. The request carries this process's folder and environment,
    so that the engine reads the configuration as this process would.

    Raises Unavailable if there can be no engine, Unsafe if its files are not the user's alone, EngineRefused with the
    engine's sentence, and TimeoutError. An engine that ends before it answers is asked again only if it cannot have
    begun: a request that was sent may have had its effect.
    """
    if sys.platform == "win32":
        raise Unavailable("there is no engine on Windows")
    config = None if config is None else os.path.abspath(config)
    if not start and not has_folder(environment):
        return None
    place = find_place(config, environment)
    body = {"kind": kind, "config": config, "folder": _folder(), "environment": dict(environment), **(request or {})}
    # Not as ASCII: the text of some scripts would grow threefold. Variables may have bytes that are not UTF-8.
    sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    message = wire.hello(place.identity, b"ask") + wire.frame(wire.ASK, sent)
    try:
        for _ in range(_TRIES):
            connection = connect_or_start(place) if start else connect(place)
            if connection is None:
                return None
            with connection:
                kind_of_answer, said = _exchange(connection, message, within)
            if kind_of_answer == wire.REPLACED:
                time.sleep(_PAUSE)  # The older engine ends; the next one is of this version.
                continue
            return _parse_answer(kind_of_answer, said)
    finally:
        os.close(place.descriptor)
    raise Unavailable(f"the engine takes no requests (its log is {place.log})")


def _exchange(connection: socket.socket, message: bytes, within: float) -> tuple[bytes, bytes]:
    connection.settimeout(within)
    try:
        connection.sendall(message)
        frames, ready = wire.Frames(), list[tuple[bytes, bytes]]()
        while True:
            kind, said = wire.read_frame(connection.recv, frames, ready)
            if kind != wire.ACCEPTED:
                return kind, said
    except TimeoutError:
        raise TimeoutError(f"the engine did not answer within {within:.0f} seconds") from None
    except ConnectionError:
        return b"", b""


def _parse_answer(kind: bytes, body: bytes) -> dict[str, Any]:
    if kind == wire.ANSWER:
        answer: dict[str, Any] = json.loads(body)
        return answer
    if kind in (wire.REFUSED, wire.ELSEWHERE):
        raise EngineRefused(body.decode() or "the engine is switched off (engine: off)")
    raise Unavailable("the engine ended before it answered")


def _folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None

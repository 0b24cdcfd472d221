"""A hook's process with an engine: passes one event on and prints the answer. Imports the standard library alone."""

from __future__ import annotations

import os
import signal
import sys

from assent.config.folders import NoHome
from assent.gateway.engine.client import EngineRefused, ask
from assent.gateway.engine.door import is_switched_off
from assent.gateway.engine.find_or_start import Unavailable, Unsafe, user_file
from assent.hooks import answers

MOST_EVENT = 5 * 1024 * 1024
ANSWERS_WITHIN = 20


def parse(words: list[str]) -> tuple[str, str | None] | None:
    """Client and configuration after `assent hook`; None for what the whole command line must read."""
    if len(words) == 1 and words[0] in answers.CLIENTS:
        return words[0], None
    if len(words) == 3 and words[0] in answers.CLIENTS and words[1] in ("-c", "--config"):
        return words[0], words[2]
    return None


def run(client: str, config: str | None) -> int | None:
    """Print the engine's answer to the event on standard input; None if this process must answer it itself.

    What fails is denied, and says so. A process that hangs ends itself, and the installed command denies then.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(ANSWERS_WITHIN + 10)
    try:
        if is_switched_off(config or user_file(os.environ)):
            return None
        answer = _answer(client, config, sys.stdin.buffer.read(MOST_EVENT + 1))
    except NoHome as error:
        answer = answers.failure(client, str(error))
    if answer is None:
        return None
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()
    return 0


held = b""
"""The event, for the process itself if the engine turned it away."""


def _answer(client: str, config: str | None, raw: bytes) -> str | None:
    global held
    held = raw
    if len(raw) > MOST_EVENT:
        return answers.failure(client, f"the event is larger than {MOST_EVENT // 1024 // 1024} MB")
    try:
        event = raw.decode()
    except UnicodeDecodeError:
        return answers.failure(client, "the event is not UTF-8 text")
    try:
        found = ask("hook", {"client": client, "event": event}, config=config, within=ANSWERS_WITHIN)
    except (Unavailable, Unsafe, EngineRefused, TimeoutError, OSError) as error:
        return answers.failure(client, f"the engine cannot be reached: {str(error).rstrip('.')[:400]}")
    if found is None or found.get("elsewhere"):
        return None
    return str(found["answer"])

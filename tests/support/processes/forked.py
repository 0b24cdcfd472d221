"""How do tests start many real processes cheaply? One that has imported everything forks the others, and reports.

Run as a program it reads jobs from its input, one JSON object a line, and answers each with a line.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]


class Forker:
    """The one that forks, seen from the tests."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.processes.forked"],
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, what: str, job: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"what": what, "job": job}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the forking process has died"
        said: dict[str, Any] = json.loads(answer)
        return said

    def close(self) -> None:
        self._process.communicate(timeout=10)


@contextmanager
def forker() -> Iterator[Forker]:
    made = Forker()
    try:
        yield made
    finally:
        made.close()


def _forked(work: Callable[[], Any]) -> int:
    """Run in a child; its process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _ended(pid: int) -> int:
    """Minus the signal that ended a child, or its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _answer(job: Mapping[str, Any]) -> Any:
    path = Path(job["answer"])
    said = json.loads(path.read_text()) if path.exists() else None
    path.unlink(missing_ok=True)
    return said


def crash(job: Mapping[str, Any]) -> dict[str, Any]:
    """A call with a fault in one process, then retries in another; with `lost`, the call is itself a retry an hour
    after one that died at that point."""
    from support.processes.governed_process import one_call, retries

    if (lost := job.get("lost")) is not None:
        _ended(_forked(lambda: asyncio.run(one_call({**job, "at": lost, "fault": "SIGKILL"}))))
        job = {**job, "skew": 3600.0}
    ended = _ended(_forked(lambda: asyncio.run(one_call(job))))
    first = _answer(job)
    again = _ended(_forked(lambda: asyncio.run(retries(job))))
    return {"ended": ended, "first": first, "again": again, "then": _answer(job)}


def failing_writes(job: Mapping[str, Any]) -> dict[str, Any]:
    """Calls on a disk that fails in one process, then retries on a sound one in another."""
    from support.processes import governed_process

    ended = _ended(_forked(lambda: asyncio.run(governed_process.failing_writes(job))))
    first = _answer(job)
    again = _ended(_forked(lambda: asyncio.run(governed_process.retries(job))))
    return {"ended": ended, "first": first, "again": again, "then": _answer(job)}


def pause(job: Mapping[str, Any]) -> dict[str, Any]:
    """A call that stands still past its lease, retries in another process, and the call going on."""
    from support.processes.governed_process import one_call, retries

    pid = _forked(lambda: asyncio.run(one_call(job)))
    stopped = os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    other = {**job, "answer": job["answer"] + ".other"}
    again = _ended(_forked(lambda: asyncio.run(retries(other))))
    then = _answer(other)
    if stopped:
        os.kill(pid, signal.SIGCONT)
    ended = _ended(pid) if stopped else 0
    first = _answer(job)
    _ended(_forked(lambda: asyncio.run(retries(other))))
    return {"stopped": stopped, "again": again, "then": then, "ended": ended, "first": first, "last": _answer(other)}


def race(job: Mapping[str, Any]) -> dict[str, Any]:
    """Several processes that call at once."""
    from support.processes import governed_process

    barrier = multiprocessing.get_context("fork").Barrier(job["processes"])
    jobs = [{**job, "answer": f"{job['answer']}.{number}"} for number in range(job["processes"])]

    def racing(one: Mapping[str, Any]) -> Callable[[], None]:
        return lambda: asyncio.run(governed_process.race(one, barrier))

    children = [_forked(racing(one)) for one in jobs]
    return {"ended": [_ended(pid) for pid in children], "said": [_answer(one) for one in jobs]}


def main() -> None:
    import asyncpg  # noqa: F401 - what the children need is imported once

    from support.processes import governed_process  # noqa: F401

    for line in sys.stdin:
        asked = json.loads(line)
        answer = {"crash": crash, "pause": pause, "race": race, "writes": failing_writes}[asked["what"]](asked["job"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

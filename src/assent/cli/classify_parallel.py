"""Classifies a stream of definitions on several cores, in input order."""

from __future__ import annotations

import codecs
import gc
import io
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_all_start_methods, get_context
from typing import BinaryIO, Final

from assent.errors import Fault, FaultsError
from assent.infer import classify_line

# A line and its number.
Line = tuple[int, str]
# The result of a share: its output lines, and the faults that ended it.
ShareResult = tuple[list[str], Sequence[Fault]]

# How many lines are classified before worker processes start, and how many shares are queued per worker.
_ALONE: Final = 120
_AHEAD: Final = 4
# The capacity of a pipe: about forty definitions.
_PIECE: Final = 65536


def count_cores() -> int:
    """The number of workers: one where processes cannot be forked, because starting them takes longer than the work."""
    copied = "fork" in get_all_start_methods()
    return len(os.sched_getaffinity(0)) if copied and hasattr(os, "sched_getaffinity") else 1


def read_shares(file: BinaryIO) -> Iterator[list[Line]]:
    """The lines of each piece of input as it arrives; an empty share marks that the next piece must be waited for."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")(), translate=True)
    number, begun, data = 0, [""], b"-"
    while data:
        if not _has_input(file):
            yield []
        data = file.read1(_PIECE)  # type: ignore[attr-defined]
        first, *others = decoder.decode(data, final=not data).split("\n")
        begun.append(first)
        if others or not data:
            lines = ["".join(begun), *others]
            begun = [lines.pop()] if data else []
            yield [(place, line) for place, line in enumerate(lines, start=number + 1) if line.strip()]
            number += len(lines)


def _has_input(file: BinaryIO) -> bool:
    try:
        return bool(select.select([file.fileno()], [], [], 0)[0])
    except (OSError, ValueError):  # Not a file, or one that cannot be polled.
        return True


def classify_shares(shares: Iterable[list[Line]], *, trust_annotations: bool, cores: int) -> Iterator[list[str]]:
    """The answers to each share, in order; at an empty share everything so far is answered first."""
    waiting: deque[Callable[[], ShareResult]] = deque()
    alone = _ALONE
    with ExitStack() as stack:
        workers: ProcessPoolExecutor | None = None
        for share in shares:
            if workers is None and (cores < 2 or alone > 0):
                alone -= len(share)
                yield from _yield_answers(classify_share(share, trust_annotations))
                continue
            if workers is None:
                workers = _start_workers(cores)
                stack.callback(workers.shutdown, cancel_futures=True)
            if share:
                waiting.append(_submit(workers, share, trust_annotations))
            while waiting and (not share or len(waiting) >= _AHEAD * cores):
                yield from _yield_answers(waiting.popleft()())
        while waiting:
            yield from _yield_answers(waiting.popleft()())


def classify_share(share: list[Line], trust_annotations: bool) -> ShareResult:
    """Classifies lines, up to the first that cannot be read."""
    answers: list[str] = []
    for number, line in share:
        try:
            answers += classify_line(line, number, trust_annotations=trust_annotations)
        except FaultsError as error:
            return answers, error.faults
    return answers, ()


def _submit(workers: ProcessPoolExecutor, share: list[Line], trust_annotations: bool) -> Callable[[], ShareResult]:
    """Gives a share to a worker; if the worker pool breaks, it is classified here."""
    try:
        answer = workers.submit(classify_share, share, trust_annotations)
    except BrokenProcessPool:
        return partial(classify_share, share, trust_annotations)

    def collect() -> ShareResult:
        try:
            return answer.result()
        except BrokenProcessPool:
            return classify_share(share, trust_annotations)

    return collect


def _yield_answers(judged: ShareResult) -> Iterator[list[str]]:
    answers, faults = judged
    yield answers
    if faults:
        raise FaultsError(faults)


def _start_workers(cores: int) -> ProcessPoolExecutor:
    """Workers that are forks of this process."""
    return ProcessPoolExecutor(cores, mp_context=get_context("fork"), initializer=_prepare_worker)


def _prepare_worker() -> None:
    """Prepares a worker: only the first process handles interrupts, and there are no cycles to collect."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()

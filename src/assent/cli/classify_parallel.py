"""How are definitions that come faster than one core judges them shared among all cores, in the order they come?"""

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
# What became of a share: its lines, and what ended it.
Judged = tuple[list[str], Sequence[Fault]]

# So many lines are judged before others are called to help, and so many shares wait for each of them.
_ALONE: Final = 120
_AHEAD: Final = 4
# As much as a pipe holds: some forty definitions.
_PIECE: Final = 65536


def count_cores() -> int:
    """How many may help: one where processes cannot be copied, since to start them anew takes longer than to judge."""
    copied = "fork" in get_all_start_methods()
    return len(os.sched_getaffinity(0)) if copied and hasattr(os, "sched_getaffinity") else 1


def read_shares(file: BinaryIO) -> Iterator[list[Line]]:
    """The lines of each piece of the input as it arrives, and an empty share before one that has to be waited for."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")(), translate=True)
    number, begun, data = 0, [""], b"-"
    while data:
        if not _is_at_hand(file):
            yield []
        data = file.read1(_PIECE)  # type: ignore[attr-defined]
        first, *others = decoder.decode(data, final=not data).split("\n")
        begun.append(first)
        if others or not data:
            lines = ["".join(begun), *others]
            begun = [lines.pop()] if data else []
            yield [(place, line) for place, line in enumerate(lines, start=number + 1) if line.strip()]
            number += len(lines)


def _is_at_hand(file: BinaryIO) -> bool:
    try:
        return bool(select.select([file.fileno()], [], [], 0)[0])
    except (OSError, ValueError):  # no file at all, or one that cannot be asked
        return True


def classify_shares(shares: Iterable[list[Line]], *, trust_annotations: bool, cores: int) -> Iterator[list[str]]:
    """The answers to each share, in order; an empty share stands for a pause, before which everything is answered."""
    waiting: deque[Callable[[], Judged]] = deque()
    alone = _ALONE
    with ExitStack() as stack:
        helpers: ProcessPoolExecutor | None = None
        for share in shares:
            if helpers is None and (cores < 2 or alone > 0):
                alone -= len(share)
                yield from _tell(judge_share(share, trust_annotations))
                continue
            if helpers is None:
                helpers = _call(cores)
                stack.callback(helpers.shutdown, cancel_futures=True)
            if share:
                waiting.append(_hand_over(helpers, share, trust_annotations))
            while waiting and (not share or len(waiting) >= _AHEAD * cores):
                yield from _tell(waiting.popleft()())
        while waiting:
            yield from _tell(waiting.popleft()())


def judge_share(share: list[Line], trust_annotations: bool) -> Judged:
    """What is answered to these lines, up to one that cannot be read."""
    answers: list[str] = []
    for number, line in share:
        try:
            answers += classify_line(line, number, trust_annotations=trust_annotations)
        except FaultsError as error:
            return answers, error.faults
    return answers, ()


def _hand_over(helpers: ProcessPoolExecutor, share: list[Line], trust_annotations: bool) -> Callable[[], Judged]:
    """Give a share to whoever is free; what a helper that ended leaves behind is judged here."""
    try:
        answer = helpers.submit(judge_share, share, trust_annotations)
    except BrokenProcessPool:
        return partial(judge_share, share, trust_annotations)

    def collect() -> Judged:
        try:
            return answer.result()
        except BrokenProcessPool:
            return judge_share(share, trust_annotations)

    return collect


def _tell(judged: Judged) -> Iterator[list[str]]:
    answers, faults = judged
    yield answers
    if faults:
        raise FaultsError(faults)


def _call(cores: int) -> ProcessPoolExecutor:
    """Helpers that are copies of this process."""
    return ProcessPoolExecutor(cores, mp_context=get_context("fork"), initializer=_settle)


def _settle() -> None:
    """Leave it to the first process to be interrupted, and look for no cycles: what is judged has none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()

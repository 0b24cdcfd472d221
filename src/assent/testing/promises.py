"""Assertion that a server object keeps the promises of its tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

from assent.checks.probe.call_tools import PATIENCE, calling
from assent.checks.probe.list_tools import contracts_in, listed_in
from assent.checks.verify.observe import Hook, Observer, database_at
from assent.checks.verify.promises import promises_of
from assent.checks.verify.run import Calls, Verdict, verify
from assent.contract.model import Contract


def assert_promises_kept(
    server: Any,
    *,
    calls: Calls = "reads",
    examples: int = 5,
    snapshot: Callable[[], Any] | None = None,
    database: str | None = None,
    contracts: Mapping[str, Contract] | None = None,
    only: Sequence[str] = (),
    timeout: float = PATIENCE,
) -> Verdict:
    """Call the tools of a server object; raise AssertionError with every promise that was broken.

    It is raised as well where no tool was called at all: such a test would show nothing. A call without an answer after
    `timeout` seconds is given up, unless it holds the loop.
    """
    if calls not in get_args(Calls):
        raise ValueError(f"calls is one of {', '.join(get_args(Calls))}, not {calls!r}")
    if examples < 1:
        raise ValueError(f"examples is at least 1, not {examples}")
    if not timeout > 0:
        raise ValueError(f"timeout is more than 0, not {timeout}")
    if isinstance(only, str):
        raise ValueError(f"only is a list of names: write only=[{only!r}]")
    observers: list[Observer] = [Hook(snapshot)] if snapshot is not None else []
    observers += [database_at(database)] if database is not None else []

    async def run() -> Verdict:
        declared = {**contracts_in(server), **(contracts or {})}
        definitions = await listed_in(server)
        unknown = sorted(set(only) - {str(one["name"]) for one in definitions})
        if unknown:
            raise ValueError(f"the server has no tool named {unknown[0]}")
        promises = [promises_of(one, declared.get(str(one["name"]))) for one in definitions]
        async with calling(server, patience=timeout) as session:
            return await verify(session, promises, observers=observers, calls=calls, examples=examples, only=only)

    verdict = _run(run)
    said = [
        f"{one.tool}: promised that {one.promise}, but {one.happened}; called with {json.dumps(one.arguments)}"
        for one in verdict.broken
    ]
    assert not said, "broken promises:\n  " + "\n  ".join(said)
    left = [f"{one.tool}: {one.skipped}" for one in verdict.checked]
    assert any(one.calls for one in verdict.checked), "nothing was verified, no tool was called:\n  " + "\n  ".join(
        left
    )
    return verdict


def _run(work: Callable[[], Coroutine[Any, Any, Verdict]]) -> Verdict:
    """Run the coroutine, in a thread of its own if a loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()

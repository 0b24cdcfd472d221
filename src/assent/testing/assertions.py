"""Assertions for tests of servers: complete annotations, and kept promises."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, get_args

from assent.checks.lint.rules.hints import hint_meant_by
from assent.checks.probe.call_tools import PATIENCE, calling
from assent.checks.probe.list_tools import contracts_in, listed_at, listed_in, own_hints_in, withheld_in
from assent.checks.verify.observe import Hook, Observer, database_at
from assent.checks.verify.promises import promises_of
from assent.checks.verify.run import Calls, Verdict, verify
from assent.contract.model import Contract
from assent.contract.profiles import WIRE_NAMES, profile
from assent.contract.tool_listing import dropped_hints, read_claims

Definitions = Sequence[Mapping[str, Any]]
Returned = TypeVar("Returned")


def tools_of(server: Any) -> Definitions:
    """Return the definitions of a server object, of a URL, or as given."""
    if isinstance(server, Sequence) and not isinstance(server, str):
        for one in server:
            if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
                raise ValueError(f"a definition of a tool is an object with a name, not {one!r:.80}")
        return server
    return _run(listed_at(server) if isinstance(server, str) else listed_in(server))


def every_tool_annotated(server: Any) -> None:
    """Assert that no tool of a server leaves open whether it reads only or destroys, and none claims both.

    On a server object with contracts also: no tool lacks one and is left out, and none has annotations against it.
    """
    definitions = tools_of(server)
    wrong = _against_contracts(server)
    assert definitions or wrong, "the server lists no tools: register them before this is asked"
    for definition in definitions:
        claims = read_claims(definition)
        if claims.read_only is None and claims.destructive is None:
            wrong.append(f"{definition['name']}: neither readOnlyHint nor destructiveHint is set")
        if claims.read_only and claims.destructive:
            wrong.append(f"{definition['name']}: readOnlyHint and destructiveHint are both true")
        wrong += [
            f"{definition['name']}: {name} is not a hint; write {wire}" for name, wire in _misspelt_hints(definition)
        ]
    assert not wrong, "tools without proper hints:\n  " + "\n  ".join(wrong)


def _against_contracts(server: Any) -> list[str]:
    """Return the tools that a server with contracts withholds, and annotations that contradict a contract."""
    if isinstance(server, str | Sequence):
        return []
    own, contracts = own_hints_in(server), contracts_in(server)
    missing = [f"{name}: it is not served: {reason}" for name, reason in withheld_in(server).items()]
    return missing + [
        f"{name}: {message}"
        for name in own.keys() & contracts.keys()
        for message in dropped_hints(own[name], contracts[name], profile("spec"))
    ]


def _misspelt_hints(definition: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return hint names that hosts do not read, each with the correct name."""
    annotations = definition.get("annotations")
    names = annotations if isinstance(annotations, Mapping) else {}
    return [(name, wire) for name in names for wire in [hint_meant_by(name)] if wire is not None and wire != name]


def assert_annotations(server: Any, table: Mapping[str, Mapping[str, bool | None]]) -> None:
    """Assert that the tools of a server are those of the table, each with exactly these hints; None means absent.

    Hints may be named as on the wire (`readOnlyHint`) or as in contracts (`read_only`); one left out is absent.
    """
    listed = tools_of(server)
    found = {str(definition["name"]): definition for definition in listed}
    counted = Counter(str(definition["name"]) for definition in listed)
    wrong = [f"{name}: it is listed {count} times" for name, count in counted.items() if count > 1]
    wrong += [f"{name}: it is not in the table" for name in found if name not in table]
    wrong += [f"{name}: the server has no such tool" for name in table if name not in found]
    for name, expected in table.items():
        if name in found:
            wrong += _differences(name, found[name], expected)
    assert not wrong, "hints differ from the policy:\n  " + "\n  ".join(wrong)


def _differences(name: str, definition: Mapping[str, Any], expected: Mapping[str, bool | None]) -> list[str]:
    plain = {wire: short for short, wire in WIRE_NAMES.items()}
    wanted = {plain.get(hint, hint): value for hint, value in expected.items()}
    unknown = sorted(set(wanted) - set(WIRE_NAMES))
    if unknown:
        return [f"{name}: {unknown[0]} is not a hint"]
    given = definition.get("annotations")
    annotations = given if isinstance(given, Mapping) else {}
    lines = []
    for short, wire in WIRE_NAMES.items():
        said, policy = annotations.get(wire), wanted.get(short)
        if said is not policy:
            lines.append(f"{name}: {wire} is {_format_hint(said)}, the policy says {_format_hint(policy)}")
    return lines


def _format_hint(value: Any) -> str:
    return "absent" if value is None else str(value).lower()


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

    verdict = _run(run())
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


def _run(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run the coroutine, in a thread of its own if a loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()

"""A call or result that is costly to check does not hold up other callers, whatever the guard or mask.

The measure is the longest turn of the event loop, in processor time of its thread and in seconds. The first does not
depend on the machine's load; the second has a bound far above what load adds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from assent.core.outcome import Refusal
from assent.rules.guards import build_guard, rule_class, rule_names
from assent.rules.guards.workload import MOST_VALUES, load_of
from assent.testing.world import World

MOST_CPU = 0.02
MOST_STILL = 0.5
LONG = 500_000
SEND = {"send": {"side_effect": "write", "input": {"type": "object"}}}
READ = {"look": {"side_effect": "read", "input": {"type": "object"}}}
SQL = "SELECT " + ", ".join(f"a{n}" for n in range(1_500)) + " FROM t"
MAIL = "Dear Ann, write to ann.lee@example.com or call +49 30 1234567 about https://example.com/a?b=c today.\n"


def texts() -> dict[str, Any]:
    return {
        "a mail": MAIL * (LONG // len(MAIL)),
        "other scripts": "Grüße aus Köln, жизнь " * (LONG // 22),
        "hosts": " ".join(f"https://h{n}.example.com/" for n in range(20_000)),
        "many hosts": [f"https://h{n}.example.com/" for n in range(20_000)],
        "many addresses": [f"a{n}@example.com" for n in range(60_000)],
        "numbers": list(range(60_000)),
        "SQL": [SQL] * 60,
        "signs": "@a" * (LONG // 2),
        "digits": "1 " * (LONG // 2),
    }


CASES = texts()


async def turned(work: Callable[[], Awaitable[Any]]) -> tuple[Any, float, float]:
    """What the work returns, and the longest turn of the loop: in processor time of its thread, and in seconds."""
    longest, still, done = 0.0, 0.0, False

    async def watch() -> None:
        nonlocal longest, still
        while not done:
            cpu, clock = time.thread_time(), time.perf_counter()
            await asyncio.sleep(0)
            longest, still = max(longest, time.thread_time() - cpu), max(still, time.perf_counter() - clock)
            await asyncio.sleep(0.001)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    found = await work()
    done = True
    await watching
    return found, longest, still


async def _no_address(_host: str) -> tuple[str, ...]:
    return ()


CHECKED = [name for name in rule_names() if rule_class(name).takes_fields and not rule_class(name).counts]


@pytest.mark.parametrize("name", CHECKED)
async def test_no_guard_blocks_the_event_loop(name: str) -> None:
    rule = rule_class(name)
    built = build_guard({"rule": name, **rule.examples.options})
    field = (built.fields or rule.usual_fields or ("text",))[0].strip("/").split("/")[0]
    made, plain = World(SEND, {}, guards=(built,)), World(SEND, {})
    made.but(resolve=_no_address)
    for case, value in CASES.items():
        given = {field: value}
        _, usual, _ = await turned(lambda given=given: plain.call("send", given))
        _, longest, still = await turned(lambda given=given: made.call("send", given))
        assert longest < usual + MOST_CPU, f"{case}: a turn took {longest:.3f} s, {usual:.3f} without the guard"
        assert still < usual + MOST_STILL, f"{case}: the loop stood still for {still:.2f} s"


MASKS = [
    {"rule": "personal_data"},
    {"rule": "payment_data"},
    {"rule": "secrets"},
    {"rule": "forbid_fields", "fields": ["mail"]},
    {"rule": "block_patterns", "patterns": ["INV-[0-9]{6}"]},
]


@pytest.mark.parametrize("options", MASKS, ids=lambda one: one["rule"])
async def test_no_mask_blocks_the_event_loop(options: dict[str, Any]) -> None:
    rule = build_guard({**options, "action": "mask"})
    for case, value in CASES.items():
        made = World(READ, {"look": lambda _, value=value: {"found": value}}, guards=(rule,))
        plain = World(READ, {"look": lambda _, value=value: {"found": value}})
        _, usual, _ = await turned(lambda plain=plain: plain.call("look", {}))
        _, longest, still = await turned(lambda made=made: made.call("look", {}))
        assert longest < usual + MOST_CPU, f"{case}: a turn took {longest:.3f} s, {usual:.3f} without the mask"
        assert still < usual + MOST_STILL, f"{case}: the loop stood still for {still:.2f} s"


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"rule": "sql_read_only", "dialect": "postgres"}, {"queries": ["SELECT 1 -- " + "x" * 5_000] * 3}),
        ({"rule": "sql_tables", "dialect": "postgres", "block": ["secret"]}, {"queries": [SQL[:5_000]] * 400}),
        ({"rule": "sql_tables", "dialect": "mysql", "block": ["secret"]}, {"query": {"a": [SQL] * 9, "b": "SELECT 1"}}),
        ({"rule": "allow_addresses", "addresses": ["*@example.com"]}, {"to": ["ann@example.com"] * 20_000}),
        ({"rule": "external_recipients", "internal": ["example.com"]}, {"to": "ann@example.com," * 20_000}),
        ({"rule": "allow_paths", "fields": ["path"], "paths": ["/srv"]}, {"path": ["/srv/x"] * 30_000}),
        ({"rule": "protected_branches", "branches": ["main"]}, {"branch": ["fix"] * 40_000}),
        ({"rule": "shell_commands", "allow": ["ls"]}, {"commands": ["ls"] * 60_000}),
        ({"rule": "block_keywords", "keywords": ["spam"]}, {"text": "ham " * 1_100_000}),
        ({"rule": "secrets"}, {"text": ["ham"] * 99_000, "more": "ham " * 1_100_000}),
    ],
)
@pytest.mark.parametrize(("action", "code"), [("deny", "guard.denied"), ("approve", "confirm.approval_pending")])
async def test_beyond_its_bound_a_guard_acts(
    options: dict[str, Any], arguments: dict[str, Any], action: str, code: str
) -> None:
    made = World(SEND, {}, guards=(build_guard({**options, "action": action}),))
    outcome, _, still = await turned(lambda: made.call("send", arguments))
    assert isinstance(outcome, Refusal)
    assert outcome.code in (code, "confirm.too_large") if action == "approve" else outcome.code == code
    assert "to check" in str(outcome.problem())
    assert still < 1 + MOST_STILL


async def test_a_result_beyond_the_bound_of_a_mask_is_withheld() -> None:
    rule = build_guard({"rule": "personal_data", "action": "mask"})
    for value in ("x" * 4_000_001, [1] * (MOST_VALUES + 1), {"a": "x" * 2_100_000, "b": ["x" * 2_100_000]}):
        made = World(READ, {"look": lambda _, value=value: {"found": value}}, guards=(rule,))
        outcome = await made.call("look", {})
        assert isinstance(outcome, Refusal)
        assert outcome.code == "guard.result_denied"


async def test_an_image_is_not_read_and_does_not_count() -> None:
    image = {"content": [{"type": "image", "data": "x" * 5_000_000, "mimeType": "image/png"}]}
    made = World(READ, {"look": lambda _: image}, guards=(build_guard({"rule": "secrets", "action": "mask"}),))
    assert not isinstance(await made.call("look", {}), Refusal)


async def test_two_callers_take_turns_and_one_caller_waits_for_its_own_checks() -> None:
    """While the long checks of one caller run, a shorter one of the same guard passes ahead of most of them."""
    made = World(SEND, {}, guards=(build_guard({"rule": "secrets"}),))
    order: list[str] = []

    async def call(name: str, size: int) -> None:
        await made.call("send", {"text": MAIL * size, "name": name})
        order.append(name)

    await asyncio.gather(*(call(f"long {n}", 10_000) for n in range(3)), call("short", 100))
    assert order[-1].startswith("long")


def test_counting_stops_at_the_bound() -> None:
    begun = time.process_time()
    assert load_of([[[1] * 5_000_000]]).values > MOST_VALUES
    assert time.process_time() - begun < 1.0

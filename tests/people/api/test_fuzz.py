"""Requests nobody thought of, made from the document: never a failure of ours, never an answer it does not declare."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from assent.people.api.openapi import ALL
from support.gateway.api import Scene, key_of, scene
from support.suite.soak import rounds

pytestmark = pytest.mark.filterwarnings("ignore")
SHORT, LONG = 8, 500
CASES = [
    pytest.param(route, mode, id=f"{route.name}-{mode.value}")
    for route in ALL
    for mode in GenerationMode
    if route.handler is not None or mode is GenerationMode.POSITIVE  # the document takes nothing that could be wrong
]
# A result may hold anything that JSON has by its schema, but not what two parsers would read differently.
STRICTER = {name: [positive_data_acceptance] for name in ("settle", "set_switch", "create_key")}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A gateway in a thread of its own, since these requests come from one that waits for them."""
    folder: Path = tmp_path_factory.mktemp("fuzz")
    ready, found = threading.Event(), list[Any]()

    async def serve() -> None:
        over = asyncio.Event()
        async with scene(folder) as running:
            await running.ask()
            found.extend([running, asyncio.get_running_loop(), over])
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    found[1].call_soon_threadsafe(found[2].set)
    thread.join()


@pytest.mark.parametrize("who", ["root", "ci", "eve", None])
@pytest.mark.parametrize(("route", "mode"), CASES)
def test_every_answer_is_one_that_the_document_declares(
    route: Any, who: str | None, mode: GenerationMode, there: Scene
) -> None:
    schema = schemathesis.openapi.from_url(f"{there.base}/api/openapi.json")
    operation = schema[route.path][route.method]
    headers = {"Authorization": f"Bearer {key_of(who)}"} if who else {}

    @hypothesis.settings(
        max_examples=rounds(SHORT, LONG),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def answers_as_declared(case: Any) -> None:
        excluded = STRICTER.get(route.name)
        case.call_and_validate(base_url=there.base, headers=headers, excluded_checks=excluded)

    answers_as_declared()

"""Builds the ports of every edge: gateway, library, commands and tests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from assent.core.call import Call
from assent.core.catalogue import Catalogue
from assent.core.ids import new_id
from assent.core.open_questions import OpenQuestions
from assent.core.stop_switch import StopSet
from assent.pipeline.authorize import StopSwitches
from assent.pipeline.leased_effects import EffectRunner
from assent.ports import NotReached, Ports, Store, Upstream, Work


class NoUpstream:
    """The upstream of ports that run no tool, or that get another upstream for each call."""

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        raise NotReached(f"no upstream is connected here that could run {call.tool.name}")

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        raise NotReached(f"no upstream is connected here that could run {tool}")


def make_ports(
    store: Store,
    catalogue: Callable[[], Catalogue],
    *,
    derive_key: Callable[[str], str],
    keyed_hash: Callable[[str], str] = str,
    upstream: Upstream | None = None,
    work: Work | None = None,
    stops: Callable[[], StopSet | Awaitable[StopSet]] | None = None,
    questions: OpenQuestions | None = None,
    now: Callable[[], float] = time.time,
    new_id: Callable[[], str] = new_id,
    **more: Any,
) -> Ports:
    """Ports over a store: its effects, its stop switches, the clock and the ids. `more` are further fields of Ports."""
    return Ports(
        catalogue=catalogue,
        store=store,
        upstream=upstream or NoUpstream(),
        now=now,
        new_id=new_id,
        work=work or EffectRunner(store, now, keyed_hash=keyed_hash),
        derive_key=derive_key,
        keyed_hash=keyed_hash,
        stops=stops or StopSwitches(store).look,
        questions=questions or OpenQuestions(),
        **more,
    )

"""Recorded histories: calls that ran through the pipeline into a signed SQLite log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assent.config.anchors import log_signer_of
from assent.config.load import load_settings
from assent.core.principal import Principal
from assent.core.quotas import RateLimit
from assent.pipeline.approve import approve
from assent.rules.guards import build_guard
from assent.stores.open import open_store
from assent.testing import AGENT, ANN, World


class Step(NamedTuple):
    """One call, and how many seconds after the one before; `approved` lets a person say yes and calls again."""

    tool: str
    arguments: Mapping[str, Any]
    after: float = 1.0
    approved: bool = False
    by: Principal = AGENT


async def record_history(
    config: Path,
    contracts: Mapping[str, Mapping[str, Any]],
    steps: Iterable[Step],
    *,
    mode: str = "enforce",
    limits: Iterable[RateLimit] = (),
    guards: Iterable[Mapping[str, Any]] = (),
    start: float | None = None,
) -> None:
    """Run the steps into the store of a configuration, and sign its log."""
    settings = load_settings(config)
    store = await open_store(settings.store)
    world = World(contracts, store=store, mode=mode, guards=tuple(map(build_guard, guards)))
    world.but(limits=tuple(limits))
    world.clock.at = world.clock.at if start is None else start
    for step in steps:
        world.clock.advance(step.after)
        await world.call(step.tool, dict(step.arguments), by=step.by)
        if step.approved:
            [waiting] = await store.approvals(pending_at=world.clock())
            await approve(ANN, waiting.id, "approve", world.ports)
            await world.call(step.tool, dict(step.arguments), by=step.by)
    await store.flush()
    await log_signer_of(settings, store).sign(always=True)
    await store.close()

"""What `assent doctor` checks of one server: its sandbox, and the texts of its tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from assent.core.question import visible
from assent.errors import AssentError

if TYPE_CHECKING:
    from assent.config.model import Settings, UpstreamSettings

_MARKS = {"ok": "ok     ", "warn": "warning", "fail": "problem"}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: what was checked, what was found, and what to do about it."""

    verdict: Literal["ok", "warn", "fail"]
    what: str
    fix: str = ""

    def __str__(self) -> str:
        label = "Note" if self.verdict == "ok" else "Fix"
        return f"{_MARKS[self.verdict]}  {self.what}" + (f"\n         {label}: {self.fix}" if self.fix else "")


def check_sandbox(name: str, upstream: UpstreamSettings, settings: Settings) -> Iterator[Check]:
    """Whether a server on this machine is confined, how, what it used and what was stopped."""
    if upstream.command is None or upstream.sandbox.mode == "off":
        return
    from assent.upstreams.sandbox.support import findings

    chosen, missing = upstream.sandbox, [one for one in findings() if one.missing]
    if missing:
        what = f"upstream {name}: it cannot be confined: {missing[0].what}: {missing[0].missing}"
        yield Check("fail" if chosen.mode == "enforce" else "warn", what, missing[0].remedy)
        return
    how = {"observe": "observed, not confined", "enforce": f"confined, instances: {chosen.instances}"}[chosen.mode]
    used, stopped = _usage(name, settings)
    yield Check("ok", f"upstream {name}: {how}; paths and hosts used: {used}, stopped: {len(stopped)}")
    yield _needed(name, upstream)
    for attempt in stopped[:5]:
        fix = f"`assent sandbox learn {name}` prints the settings that allow it, if it is right"
        yield Check("warn", f"upstream {name}: its sandbox stops: {visible(attempt)}", fix)


def _needed(name: str, upstream: UpstreamSettings) -> Check:
    from assent.upstreams.sandbox.grants import CannotConfine
    from assent.upstreams.sandbox.link import files_text
    from assent.upstreams.sandbox.programs import find_program

    assert upstream.command is not None
    try:
        program = find_program(upstream.command, {**os.environ, **upstream.env}, upstream.cwd)
    except CannotConfine as error:
        return Check(
            "fail" if upstream.sandbox.mode == "enforce" else "warn", f"upstream {name}: {error}", error.remedy
        )
    return Check("ok", f"upstream {name}: for its start it may read {files_text(program.reads)}")


def _usage(name: str, settings: Settings) -> tuple[int, list[str]]:
    from assent.stores.open import open_store
    from assent.upstreams.sandbox.link import stored_usage

    async def read_usage() -> tuple[int, list[str]]:
        store = await open_store(settings.store)
        try:
            found = await stored_usage(store, name)
        finally:
            await store.close()
        if found is None:
            return 0, []
        stopped = sorted({f"{tool or 'at the start'}: {one}" for tool, all in found.stopped.items() for one in all})
        return len({one for all in found.used.values() for one in all}), stopped

    try:
        return asyncio.run(read_usage())
    except (AssentError, OSError):  # The check of the store has said so.
        return 0, []


def check_texts(tool: str, definition: dict[str, Any]) -> Iterator[Check]:
    """What a person does not see in a tool's definition, and what looks like an order to the model."""
    from assent.checks.lint.attacks import orders_in
    from assent.core.shown_definition import shown_tool

    shown = shown_tool(definition)
    if shown.unusable:
        fix = "have its author remove them; a contract with `input` of your own replaces the server's schema"
        yield Check("warn", f"{tool} is withheld: {shown.unusable}", fix)
    elif shown.removed:
        found = "; ".join(shown.removed[:3])
        fix = "ask its author why they are there; agents get the text without them"
        yield Check("warn", f"{tool} has hidden characters: {found}", fix)
    if orders := orders_in(shown.definition):
        fix = "read the text; a contract's `description` replaces the server's, and `assent pin --write` accepts it"
        yield Check("warn", f"{tool}: {visible(orders[0])}", fix)

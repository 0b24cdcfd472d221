"""Stage `authorize`: checks that the principal may call the tool."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from functools import lru_cache

from assent.core.audit import Entry, principal_values
from assent.core.call import Request
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.stop_switch import KIND, NO_STOPS, Stop, StopLevel, StopScope, StopSet, stop_of
from assent.core.tool import Tool
from assent.pipeline.policy_check import check_tool_policies, forbids_tool
from assent.pipeline.record import CallTrace, always
from assent.pipeline.remedies import missing_permissions_refusal, stopped_refusal
from assent.ports import Rules, Store

applies = always  # An operator can stop any call at any time.


def authorize(
    request: Request, principal: Principal, tool: Tool, rules: Rules, trace: CallTrace, stops: StopSet = NO_STOPS
) -> tuple[str, ...]:
    """Return the missing permissions: none, unless the call is a dry run of a locked tool. Otherwise refuse."""
    # In observe mode too: an operator who stops calls means it, and a test caller must not reach a live system.
    if not stops.is_empty and (stop := stops.stop_for(principal, tool)) is not None:
        raise stopped_refusal(stop)
    if principal.mode == "test" and not tool.has_test:
        raise Refusal("authorize.no_test_endpoint")
    missing = missing_permissions(principal, tool.permissions) if tool.permissions else ()
    refused = bool(missing) and not _rehearses_locked(request, tool)
    if refused:
        trace.refuse_or_note("authorize", missing_permissions_refusal(tool, missing, principal, rules))
    if rules.policies is not None:
        check_tool_policies(principal, tool, rules.policies, trace)
    if trace.keeps_notes and not refused:
        trace.note_pass("authorize", _reason(tool.contract.permissions, missing))
    return missing


def missing_permissions(principal: Principal, permissions: Iterable[str]) -> tuple[str, ...]:
    """The permissions that no scope of this principal grants."""
    return tuple(permission for permission in permissions if not grants(principal.scopes, permission))


@lru_cache(maxsize=65_536)
def grants(scopes: frozenset[str], permission: str) -> bool:
    """Whether the scopes grant a permission: `*` grants all, `orders:*` its branch, any other scope itself."""
    if "*" in scopes or permission in scopes:
        return True
    parts = permission.split(":")
    return any(":".join(parts[:depth]) + ":*" in scopes for depth in range(1, len(parts)))


def may_see(principal: Principal, tool: Tool, rules: Rules) -> bool:
    """Whether a tool is listed: the same decision as for a call, except that locked tools are listed to all whom no
    policy forbids them.
    """
    if principal.mode == "test" and not tool.has_test:
        return False
    if rules.mode == "observe":
        return True
    permitted = tool.visibility == "locked" or not missing_permissions(principal, tool.contract.permissions)
    return permitted and not forbids_tool(principal, tool, rules.policies)


def _rehearses_locked(request: Request, tool: Tool) -> bool:
    contract = tool.contract
    if tool.visibility != "locked" or contract.dry_run.mode == "none" or not isinstance(request.arguments, dict):
        return False
    return request.arguments.get(contract.dry_run.argument) is True


def _reason(permissions: tuple[str, ...], missing: tuple[str, ...]) -> str:
    """Why a call may continue."""
    if missing:
        return f"dry run only; lacks {', '.join(missing)}"
    return f"has {', '.join(permissions)}" if permissions else "no permission needed"


FRESH = 0.5
"""Seconds that the switches are believed without a look into the store: those set elsewhere hold after them."""
MOST = 10_000


class StopSwitches:
    """The switches that are on. A call reads the store only when the last look is too old, and then for all calls."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._set = NO_STOPS
        self._fresh_until = 0.0
        self._looks = self._known_look = 0
        self._loading: asyncio.Task[StopSet] | None = None

    def look(self) -> StopSet | Awaitable[StopSet]:
        """The switches as they were at most half a second ago, at once if they are known."""
        return self._set if time.monotonic() < self._fresh_until else self.current()

    async def current(self) -> StopSet:
        """The same, always to be awaited. Raises StoreError while they cannot be read."""
        if time.monotonic() < self._fresh_until:
            return self._set
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> StopSet:
        self._looks += 1
        look, started = self._looks, time.monotonic()
        documents = await self._store.documents(KIND, time.time(), limit=MOST)
        if look > self._known_look:  # A look that began earlier may end later and know less.
            self._set, self._known_look = StopSet.of(map(stop_of, documents)), look
            self._fresh_until = started + FRESH
        return self._set

    async def all(self) -> list[Stop]:
        """The switches as the store has them now, the newest first."""
        found = [stop_of(one) for one in await self._store.documents(KIND, time.time(), limit=MOST)]
        return sorted(found, key=lambda one: (-one.at, one.id))

    async def stop(
        self, by: Principal, scope: StopScope, target: str, tenant: str, level: StopLevel, reason: str, now: float
    ) -> Stop:
        """Switch on, or replace what holds for the same target. It holds in this process when this returns.

        A stop of all calls stays one: only `ease` lets calls through again.
        """
        asked = Stop(scope, target, tenant if scope == "principal" else "", level, reason, by.id, now, now)
        kept = None
        while kept is None:  # Somebody else changed the same switch in between.
            before = await self._store.document(KIND, asked.id, now)
            stop = asked if before is None else _stricter(asked, stop_of(before))
            expected, entry = before.version if before else 0, _entry("stop.set", stop, by, reason, now)
            kept = await self._store.put_document(stop.document(), now, expected=expected, entry=entry)
        await self._load()
        return stop

    async def ease(self, by: Principal, stop_id: str, reason: str, now: float) -> Stop | None:
        """The first step of a release: calls that only read pass again. None where there is nothing to ease."""
        document = await self._store.document(KIND, stop_id, now)
        if document is None or stop_of(document).level != "all":
            return None
        eased = replace(stop_of(document), level="effects", changed_at=now)
        entry = _entry("stop.eased", eased, by, reason, now)
        kept = await self._store.put_document(eased.document(), now, expected=document.version, entry=entry)
        await self._load()
        return None if kept is None else eased

    async def release(self, by: Principal, stop_id: str, reason: str, now: float) -> Stop | None:
        """The last step: the switch is off. None where there is no such switch."""
        document = await self._store.document(KIND, stop_id, now)
        if document is None:
            return None
        entry = _entry("stop.released", stop_of(document), by, reason, now)
        gone = await self._store.delete_document(KIND, stop_id, now, expected=document.version, entry=entry)
        await self._load()
        return None if gone is None else stop_of(gone)


def _stricter(asked: Stop, before: Stop) -> Stop:
    return replace(asked, at=before.at, level="all" if before.level == "all" else asked.level)


def _entry(event: str, stop: Stop, by: Principal, reason: str, now: float) -> Entry:
    """Who changed which switch, and why. Targets are values: a principal's id is personal data."""
    facts = {"event": event, "action": stop.scope, "state": "released" if event == "stop.released" else stop.level}
    values = {**principal_values(by), "target": stop.target, "reason": reason}
    if stop.scope == "principal":
        values["for_tenant"] = stop.tenant
    return Entry("operator", now, facts, values)

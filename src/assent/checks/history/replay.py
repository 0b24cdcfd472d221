"""Replays recorded calls against changed settings, and compares the decisions. No tool is called (ADR 0095)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assent.checks.history.recorded_call import (
    UNREADABLE,
    CalledTools,
    RecordedCall,
    RecordedDecision,
    recorded_calls,
)
from assent.contract.pointers import tokens
from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.call import Call, Request
from assent.core.catalogue import Catalogue
from assent.core.claims import ClaimRecord
from assent.core.document import Document
from assent.core.outcome import Pause, Refusal
from assent.core.principal import Principal
from assent.core.quotas import NOTHING, Quotas, quotas_of
from assent.core.stop_switch import NO_STOPS
from assent.core.tool import Tool
from assent.errors import ContractError
from assent.pipeline.afford import stated_price
from assent.pipeline.explain import NOT_ASKED_YET, DirectWork, UpstreamReached
from assent.pipeline.govern import run_stages
from assent.pipeline.record import CallTrace
from assent.pipeline.rehearse import rehearsal
from assent.ports import OverBudget, Ports, RateLimited, Store
from assent.stores.dry_run import DryRunStore
from assent.stores.memory import MemoryStore


class ReplayStore(DryRunStore):
    """Takes quotas at the recorded times, so that limits and budgets count as they would have."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        return None

    async def ask(
        self,
        draft: Approval,
        now: float,
        most_pending: int,
        entry: Entry,
        cooldown: float = 0.0,
        claim: str | None = None,
    ) -> Approval:
        return draft

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        await self.admit(quotas, now)
        return draft

    async def admit(self, quotas: Quotas, now: float) -> None:
        if quotas:
            await self._store.admit(quotas, now)

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        return await self._store.put_document(draft, now, expected=expected)


NO_PRICE = "its price came from another tool and is not recorded"
UNTYPED = "a policy reads arguments whose types are not known here"
NO_ADDRESS = "it depends on the addresses that a host had"
Callers = Callable[[Mapping[str, Any], str], tuple[Principal, bool]]
"""The principal of recorded values and a mode, and whether its scopes are known."""


@dataclass(frozen=True, slots=True)
class ChangedDecision:
    """A recorded call that would be decided differently now."""

    call: RecordedCall
    now: RecordedDecision
    detail: str = ""
    rule: str = ""

    def as_json(self) -> dict[str, Any]:
        values, facts = self.call.values, self.call.facts
        fields = {
            "index": self.call.index,
            "at": self.call.at,
            "tool": facts["tool"],
            "principal": values["principal"],
            "tenant": values["tenant"],
            "mode": facts.get("mode", "live"),
            "arguments": values["arguments"],
            "recorded": str(self.call.decision),
            "now": str(self.now),
            "code": self.now.code,
            "rule": self.rule,
            "detail": self.detail,
        }
        return {name: value for name, value in fields.items() if value != ""}


@dataclass(slots=True)
class Replay:
    """The result of a replay: what was examined, what changed, and what could not be replayed and why."""

    examined: int = 0
    changed: list[ChangedDecision] = field(default_factory=list)
    gaps: Counter[str] = field(default_factory=Counter)
    without_contract: Counter[str] = field(default_factory=Counter)
    """Calls by tool that were judged by the recorded tier and risk, because no contract is written."""
    scopes_unknown: Counter[str] = field(default_factory=Counter)
    """Calls by caller whose scopes, groups and claims are not recorded, so that they were not checked."""
    step_ups: int = 0
    """Calls whose contract now asks for a step-up. The caller's authentication is not recorded."""
    first: float | None = None
    last: float | None = None

    @property
    def not_replayable(self) -> int:
        return sum(self.gaps.values())


async def replay(
    log: Store,
    ports: Ports,
    tools: CalledTools,
    callers: Callers,
    *,
    unfit: Callable[[Tool], bool] = lambda _: False,
    since: int = 0,
    after: int = -1,
    progress: Callable[[int], None] = lambda done: None,
) -> Replay:
    """Decide every recorded call again under these ports, at its recorded time. Other tasks go on meanwhile.

    `unfit` says whether policies do not fit a tool as it is known here; its calls are not replayed.
    """
    found, judge = Replay(), _Judge(ports, tools, callers, unfit)
    async for recorded in recorded_calls(log, since, after):
        await asyncio.sleep(0)
        if isinstance(recorded, int):
            progress(recorded + 1)
            continue
        if recorded.at:
            found.first = recorded.at if found.first is None else found.first
            found.last = recorded.at
        gap = recorded.gap or await judge.judge(recorded, found)
        if gap:
            found.gaps[gap] += 1
    return found


class _Judge:
    """Runs one recorded call after another through the pipeline, with the recorded time as the clock."""

    def __init__(self, ports: Ports, tools: CalledTools, callers: Callers, unfit: Callable[[Tool], bool]) -> None:
        self._tools, self._callers, self._unfit, self._at = tools, callers, unfit, 0.0
        self._store, self._catalogue = ReplayStore(), Catalogue()
        self._ports = ports._replace(
            catalogue=lambda: self._catalogue,
            store=self._store,
            upstream=_SilentUpstream(any(line.currency for line in ports.rules.budgets)),
            now=lambda: self._at,
            new_id=lambda: NOT_ASKED_YET,
            work=DirectWork(),
            seen=lambda *_: None,
            waiting=lambda _: None,
            stops=lambda: NO_STOPS,
            resolve=_resolve_nothing,
        )

    async def judge(self, recorded: RecordedCall, found: Replay) -> str:
        """Compare one call's decisions and note the difference; returns why that was not possible."""
        try:
            tool, is_written = self._tools.tool_of(recorded)
        except ContractError:
            return UNREADABLE  # The log names a tier or a risk that does not exist.
        if self._unfit(tool):
            return UNTYPED
        principal, scopes_known = self._callers(recorded.values, recorded.facts.get("mode", "live"))
        self._at, self._catalogue = recorded.at, Catalogue({tool.name: tool})
        spec = tool.contract.step_up
        if spec is not None:
            acr = spec.acr[0] if spec.acr else None
            principal = replace(principal, acr=acr, auth_time=recorded.at)
        request = Request(tool.name, recorded.values["arguments"], principal, _keys(tool.contract, recorded))
        trace = CallTrace(observing=self._ports.rules.mode == "observe")
        try:
            now, detail, rule = await self._decide(request, trace, recorded)
        except UpstreamReached:
            return NO_PRICE
        except _AddressNeeded:
            return NO_ADDRESS
        found.examined += 1
        found.step_ups += spec is not None
        found.without_contract.update([] if is_written else [tool.name])
        needs_identity = tool.contract.permissions or self._ports.rules.policies is not None
        found.scopes_unknown.update([] if scopes_known or not needs_identity else [principal.id])
        if now != recorded.decision:
            found.changed.append(ChangedDecision(recorded, now, detail, rule))
        return ""

    async def _decide(
        self, request: Request, trace: CallTrace, recorded: RecordedCall
    ) -> tuple[RecordedDecision, str, str]:
        """The decision of the pipeline, its reason, and the rule that made it."""
        detail = rule = ""
        ending, code = "runs", ""
        try:
            await run_stages(request, self._ports, trace)
        except UpstreamReached as reached:
            if reached.other is not None:
                raise
        except Pause:
            ending = "asks"
        except Refusal as refusal:
            ending, code = ("asks", "") if refusal.code.startswith("confirm.") else ("refused", refusal.code)
            detail = refusal.problem()["detail"] if ending == "refused" else ""
            rule = str(refusal.facts.get("rule", refusal.facts.get("policy", "")))
        if ending == "asks":
            detail, rule = _why_asked(trace)
        if ending == "asks" and recorded.ran and trace.call is not None:
            await self._take_quotas(trace.call, trace)
        if ending == "runs" and trace.call is not None and trace.call.dry_run:
            await self._store.put_document(rehearsal(trace.call, b'{"dryRun":true}', self._at), self._at)
        return RecordedDecision(ending, code, tuple(sorted(set(trace.would)))), detail, rule  # type: ignore[arg-type]

    async def _take_quotas(self, call: Call, trace: CallTrace) -> None:
        """Count a call that a person approved, as `claim` would have."""
        budgets = self._ports.rules.budgets
        if call.tool.contract.estimate is not None:
            budgets = tuple(line for line in budgets if line.currency is None)
        found = quotas_of(call, self._ports.rules.limits, budgets, stated_price(call), self._at)
        quotas = replace(found, rates=(*found.rates, *trace.rates))
        try:
            await self._store.admit(quotas, self._at)
        except (RateLimited, OverBudget):
            return


def _why_asked(trace: CallTrace) -> tuple[str, str]:
    """Why a guard or a policy asks a person, and its name; empty if the contract does."""
    for finding in trace.guards:
        if finding.action == "approve" and not finding.observed:
            return finding.sentence, finding.rule
    return (trace.approvals[0].reason, trace.approvals[0].id) if trace.approvals else ("", "")


def _keys(contract: Any, recorded: RecordedCall) -> tuple[str, ...]:
    """A key for a contract that requires one. The log does not keep keys, and the call had one or was refused."""
    idempotency = contract.idempotency
    sends_its_own = idempotency.argument is not None and idempotency.argument in recorded.values["arguments"]
    return () if idempotency.key != "required" or sends_its_own else (f"replay-{recorded.index}",)


class _SilentUpstream:
    """An upstream that is never called. An estimate counts as nothing where no budget of money needs it."""

    def __init__(self, price_matters: bool) -> None:
        self._price_matters = price_matters

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        raise UpstreamReached

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        estimate = call.tool.contract.estimate
        if self._price_matters or estimate is None:
            raise UpstreamReached(tool)
        document: Any = 0
        for token in reversed(tokens(estimate.amount)):
            document = [document] * (int(token) + 1) if token.isdecimal() else {token: document}
        return {"content": [], "structuredContent": document}


class _AddressNeeded(BaseException):
    """A guard asks for the addresses of a host. Not an Exception, so that no guard takes it for an unknown host."""


async def _resolve_nothing(_host: str) -> tuple[str, ...]:
    raise _AddressNeeded


def as_json(found: Replay) -> dict[str, Any]:
    """The replay as JSON: counts, coverage and every changed decision."""
    return {
        "examined": found.examined,
        "changed": len(found.changed),
        "not_replayable": found.not_replayable,
        "coverage": {
            "not_replayable": dict(found.gaps.most_common()),
            "contract_from_log": dict(found.without_contract.most_common()),
            "scopes_not_recorded": dict(found.scopes_unknown.most_common()),
            "step_up_not_recorded": found.step_ups,
            "first": found.first,
            "last": found.last,
        },
        "decisions": [one.as_json() for one in found.changed],
    }

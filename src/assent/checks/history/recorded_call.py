"""Calls of the log and the tools they named, as a replay reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import orjson

from assent.audit.leaf_reader import unpack
from assent.audit.log_reader import CHUNK
from assent.config.callers import principal_of
from assent.config.model import Settings
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue
from assent.core.principal import KINDS, Kind, Principal
from assent.core.tool import Tool, compile_tool
from assent.ports import RawLogRow, Store

Ending = Literal["runs", "asks", "refused"]
CALL_KINDS = frozenset({"intent", "read", "rehearsal", "pause", "denial"})
"""Each request leaves one entry of these kinds. The others belong to a call that is already counted, or to no call."""
_STAGES = frozenset(
    {"authenticate", "discover", "authorize", "validate", "recall", "guard", "rehearse", "step_up", "confirm", "claim"}
    | {"execute", "record"}
)
NEVER_STORED = "the arguments were never stored"
UNREADABLE = "the entry cannot be read"
ERASED = "the arguments or the caller were erased"
_UNREPLAYABLE = {
    "recall": "it depends on an earlier call with the same key",
    "guard.not_connected": "it depends on a connection to the upstream",
    "step_up.required": "the caller's authentication is not recorded",
    "rehearse.estimate_failed": "it depends on another tool",
    "rehearse.failed": "it depends on the tool's own dry run",
    "claim.unavailable": "the store could not be reached",
    "record.unavailable": "the store could not be reached",
}
_TOOL = {"tool", "tier", "risk"}
_SAME_AS = {"confirm": "asks", "claim.approval_used": "asks", "execute": "runs"}
_SAME_AS |= {"guard.result_denied": "runs", "guard.mask_misfit": "runs"}


class RecordedDecision(NamedTuple):
    """How a call ended: it ran, a person was asked, or it was refused; and what observe mode let pass."""

    ending: Ending
    code: str = ""
    would: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"refused {self.code}" if self.ending == "refused" else self.ending
        return f"{said} (would stop: {', '.join(self.would)})" if self.would else said


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call as the log has it. `gap` says why it cannot be replayed; empty if it can be."""

    index: int
    at: float
    kind: str
    facts: Mapping[str, Any]
    decision: RecordedDecision
    values: Mapping[str, Any] = field(default_factory=dict)
    gap: str = ""

    @property
    def ran(self) -> bool:
        return self.kind in ("intent", "read")


async def recorded_calls(store: Store, since: int = 0, after: int = -1) -> AsyncIterator[RecordedCall | int]:
    """Every recorded call after a place and from a time (milliseconds) on, in log order; after each page its last
    index.
    """
    while rows := await store.sealed(after=after, limit=CHUNK):
        for row in rows:
            found = _read_or_count(row, since)
            if found is not None:
                yield found
        after = rows[-1].index
        yield after


def _read_or_count(row: RawLogRow, since: int) -> RecordedCall | None:
    """The call of one entry; an entry that cannot be read is counted like a call that cannot be replayed."""
    try:
        return read_call(row, since)
    except (ValueError, KeyError, TypeError, AttributeError):
        return RecordedCall(row.index, 0.0, "", {}, RecordedDecision("refused"), gap=UNREADABLE)


def read_call(row: RawLogRow, since: int = 0) -> RecordedCall | None:
    """The call of one entry; None if the entry holds no decision about a call, or is older."""
    leaf = orjson.loads(row.leaf)
    kind, facts = leaf["kind"], leaf["facts"]
    if kind not in CALL_KINDS or leaf["at"] < since:
        return None
    code = facts.get("code", "")
    if kind == "denial" and (code.partition(".")[0] not in _STAGES or "verdict" in facts):
        return None
    packed = unpack(row.vals)[0]
    values = {name: orjson.loads(value) for name, value in packed.items() if name != "call"}
    gap = _gap(code, leaf["commitments"], values) or ("" if facts.keys() >= _TOOL else NEVER_STORED)
    return RecordedCall(row.index, leaf["at"] / 1000, kind, facts, _decision(kind, facts, code), values, gap)


def _decision(kind: str, facts: Mapping[str, Any], code: str) -> RecordedDecision:
    would = tuple(sorted(set(facts.get("would", ()))))
    if kind == "pause" or (kind == "intent" and "approval" in facts):
        return RecordedDecision("asks", would=would)
    if kind != "denial":
        return RecordedDecision("runs", would=would)
    same: Any = _SAME_AS.get(code) or _SAME_AS.get(code.partition(".")[0])
    return RecordedDecision(same, would=would) if same else RecordedDecision("refused", code, would)


def _gap(code: str, committed: Mapping[str, str], values: Mapping[str, Any]) -> str:
    """Why the entry cannot be replayed: what it depends on, or what it lacks."""
    depends = _UNREPLAYABLE.get(code) or _UNREPLAYABLE.get(code.partition(".")[0])
    if depends:
        return depends
    needed = ("principal", "kind", "tenant", "arguments")
    if any(name in committed and name not in values for name in needed):
        return ERASED
    return "" if all(name in values for name in needed) else NEVER_STORED


_AS_RECORDED = {"by": "none", "because": "No person was asked when it was recorded."}


class CalledTools:
    """The tools of recorded calls.

    A tool without a written contract gets the tier and the risk that the log has, and asks a person where one was
    asked: guards, limits and policies are replayed, its own contract is not.
    """

    def __init__(self, written: Catalogue, prefix_of: Callable[[str], str], has_test: Callable[[str], bool]) -> None:
        self._written, self._prefix_of, self._has_test = written, prefix_of, has_test
        self._cache: dict[tuple[Any, ...], tuple[Tool, bool]] = {}

    def tool_of(self, recorded: RecordedCall) -> tuple[Tool, bool]:
        """The tool, and whether its contract is a written one."""
        facts = recorded.facts
        asks, rehearses = recorded.decision.ending == "asks", facts.get("dry_run", False)
        place = (facts["tool"], facts.get("upstream", ""), facts["tier"], facts["risk"], asks, rehearses)
        if place not in self._cache:
            self._cache[place] = self._find(facts, asks, rehearses)
        return self._cache[place]

    def _find(self, facts: Mapping[str, Any], asks: bool, rehearses: bool) -> tuple[Tool, bool]:
        name, upstream = facts["tool"], facts.get("upstream", "")
        own = name.removeprefix(self._prefix_of(upstream))
        written, has_test = self._written.tools.get(name), self._has_test(upstream)
        if written is not None:
            return replace(written, upstream=upstream, wire_name=own, has_test=has_test), True
        unbound = self._written.tools.get(own)
        if unbound is None:
            contract = _recorded_contract(facts, asks, rehearses)
            return compile_tool(contract, upstream=upstream, wire_name=own, has_test=has_test), False
        contract = unbound.contract.model_copy(update={"name": name})
        definition = unbound.definition
        return compile_tool(contract, upstream=upstream, wire_name=own, definition=definition, has_test=has_test), True


def _recorded_contract(facts: Mapping[str, Any], asks: bool, rehearses: bool) -> Contract:
    """A contract of the recorded tier and risk that asks a person exactly if one was asked."""
    fields: dict[str, Any] = {"side_effect": facts["tier"], "risk": facts["risk"]}
    fields["confirmation"] = {"by": "user"} if asks else _AS_RECORDED
    fields |= {"autonomous": False} if asks else {}
    fields |= {"dry_run": {"mode": "offered"}} if rehearses else {}
    fields |= {"idempotency": {"key": "auto"}} if facts["tier"] == "external_spend" else {}
    return read_contract(facts["tool"], fields)


class KnownCallers:
    """Callers with the scopes that the configuration or a stored key gives them now."""

    def __init__(self, known: Mapping[tuple[str, str], Principal]) -> None:
        self.known = known
        self._cache: dict[tuple[Any, ...], tuple[Principal, bool]] = {}

    def find(self, values: Mapping[str, Any], mode: str) -> tuple[Principal, bool]:
        """The principal of recorded values, and whether its scopes are known; if not, it has all of them."""
        place = (values["tenant"], values["principal"], values["kind"], mode, *values.get("actors", ()))
        if place not in self._cache:
            self._cache[place] = self._make(values, mode)
        return self._cache[place]

    def _make(self, values: Mapping[str, Any], mode: str) -> tuple[Principal, bool]:
        given = self.known.get((values["tenant"], values["principal"]))
        kind: Kind = values["kind"] if values["kind"] in KINDS else "agent"
        actors = tuple(Principal(str(one), "agent") for one in values.get("actors", ()))
        scopes = given.scopes if given is not None else frozenset({"*"})
        roles, groups = (given.roles, given.groups) if given is not None else (frozenset(), frozenset())
        return (
            Principal(
                str(values["principal"]),
                kind,
                str(values["tenant"]),
                scopes,
                roles,
                mode="test" if mode == "test" else "live",
                actors=actors,
                groups=groups,
            ),
            given is not None,
        )


async def known_callers(settings: Settings, log: Store) -> KnownCallers:
    """The callers of the configuration, and those with a key in the store."""
    auth = settings.auth
    found = [record.principal for record in await log.keys()]
    found += [principal_of(key) for key in auth.api_keys]
    found += [principal_of(auth.stdio, "local")] if auth.stdio else []
    found += [principal_of(auth.anonymous, "anonymous")] if auth.anonymous else []
    return KnownCallers({(one.tenant, one.id): one for one in found})

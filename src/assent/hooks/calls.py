"""Calls of the built-in tools of coding agents: judged by the one pipeline, and what became of them is recorded.

Before a tool, every stage up to `claim` runs and the intent is recorded; then the client runs the tool. After it, the
result settles the claim. A call without an event after it stays unknown: its claim is in doubt when the session ends
or its lease runs out. At most once cannot be promised here, because the client runs the effect. See ADR 0170.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import orjson

from assent.core.audit import Entry, unknown_tool_values
from assent.core.call import Call, ConversationRef, Request, UserAnswer
from assent.core.catalogue import Catalogue
from assent.core.claims import ClaimRecord, Settlement, State, claim_name
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Answer, Outcome, Pause, Refusal
from assent.core.principal import Principal
from assent.core.problems import text_of_problem
from assent.core.tool import Tool
from assent.hooks import answers
from assent.hooks.contracts import BuiltinTools, JudgedCall
from assent.hooks.events import HookEvent, UnreadableEvent, read_event
from assent.pipeline.claim import claim_from_record
from assent.pipeline.execute import keep
from assent.pipeline.explain import DirectWork
from assent.pipeline.govern import run_stages
from assent.pipeline.record import CallTrace, record
from assent.pipeline.validate import validate
from assent.ports import NotRun, Ports

logger = logging.getLogger(__name__)

LEASE = 6 * 3600.0
"""How long the outcome of a call may take before it is unknown: a client may ask its user first, and wait."""
MOST_USER_TEXT = 16_384
_QUIET_MODES = frozenset({"bypassPermissions", "dontAsk"})
"""The permission modes in which a client asks no person."""
_MOST_SESSIONS = 1000
_NO_DRY_RUN = (
    "Assent: {tool} has no dry run here: the client would run it. Nothing has run. Call it without the dry run, and"
    " tell the user: an operator can remove `dry_run` from its contract."
)
_DRY_RUN_FIRST = (
    "Assent: {tool} needs a dry run first (`dry_run` in its contract), and has no dry run here: the client would run"
    " it. Nothing has run. Do not repeat it. Tell the user: an operator can remove `dry_run` from its contract."
)
_NO_PRICE = (
    "Assent: {tool} needs a price first (`estimate` in its contract), and no other tool can be asked for it here."
    " Nothing has run. Do not repeat it. Tell the user: an operator can remove `estimate` from the contract."
)
_NEEDS_TOOL = {
    "rehearse.failed": _NO_DRY_RUN,
    "rehearse.dry_run_required": _DRY_RUN_FIRST,
    "rehearse.estimate_failed": _NO_PRICE,
}
"""Refusals of calls that need an answer of the tool first, which a hook cannot get: they have reasons of their own."""


class HookVerdict(NamedTuple):
    """What a hook answers before a tool."""

    decision: str
    reason: str = ""


class _Released(BaseException):
    """The call may run now. Not an Exception, so that no stage takes it for a failure of the tool."""


class _AtTheClient:
    """The upstream of a call that the client runs: `result` is what it reported, if it has run already."""

    def __init__(self, result: dict[str, Any] | None = None) -> None:
        self._result = result

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        if self._result is not None:
            return self._result
        if call.dry_run:
            raise NotRun("the client runs its tools, so none has a dry run", Refusal("rehearse.failed"))
        if call.tool.is_read:  # A read leaves nothing in doubt, so it is recorded when it may run.
            return {"content": []}
        raise _Released

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        raise NotRun("the client runs its tools, so no other tool can be asked before a call")


@dataclass(frozen=True, slots=True)
class HookSource:
    """What the hook's own process knows beside the event."""

    project: str = ""
    """The folder of the project, as the client tells its hooks."""
    headless: bool = False
    """Whether the client runs without a person at it."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    conversation: str | None = None
    """The name of the conversation that this client has with all doors; None if it is the session's own."""


@dataclass(slots=True)
class HookDoor:
    """Answers the events of one user's coding agents. It lives as long as the process that has the store."""

    ports: Callable[[], Ports]
    principal: Principal
    tools: BuiltinTools
    allow: bool = False
    """Whether a call to which nothing objects is allowed without the client's own question."""
    on_prompt: Callable[[HookEvent], Awaitable[str]] | None = None
    """Passes the user's words on; gives what went wrong."""
    governed_elsewhere: Callable[[HookEvent, Mapping[str, str]], bool] = lambda event, environment: False
    """Whether another door judges the calls of this event's MCP server."""
    projects: LimitedDict[str, str] = field(default_factory=lambda: LimitedDict(_MOST_SESSIONS))
    asked: LimitedDict[str, str] = field(default_factory=lambda: LimitedDict(_MOST_SESSIONS))
    """The approvals that clients' own dialogs were asked for, by the call; empty for a read that was denied."""

    async def answer(self, client: str, raw: bytes, source: HookSource = HookSource()) -> str:  # noqa: B008 - frozen
        """The client's own answer to one event. It never raises: what fails is denied, and says so."""
        try:
            event = read_event(client, raw)
        except UnreadableEvent as why:
            return answers.failure(client, str(why))
        try:
            return await self._answer(event, source)
        except Exception as error:
            logger.exception("a hook event of %s could not be answered", client)
            return answers.failure(client, f"{type(error).__name__} in Assent") if event.kind == "before" else "{}"

    async def _answer(self, event: HookEvent, source: HookSource) -> str:
        project = self._project(event, source)
        if event.kind == "before":
            if self.governed_elsewhere(event, source.environment):
                return "{}"
            verdict = await self.before_tool(event, source, project)
            return answers.before_tool(event.client, verdict.decision, verdict.reason)
        if event.kind == "after" and not self.governed_elsewhere(event, source.environment):
            return answers.after_tool(event.client, await self.after_tool(event, source, project))
        ports = self.ports()
        if event.kind == "prompt" and event.prompt and ports.rules.flow is not None:
            words = self._conversation(event, source, event.prompt)
            if (hearing := ports.rules.flow.hear(self.principal, words, ports.now())) is not None:
                await hearing
        if event.kind == "prompt" and event.prompt and self.on_prompt is not None:
            trouble = await self.on_prompt(event)
            return answers.note(event.client, f"Assent: {trouble}") if trouble else "{}"
        if event.kind == "end":
            await self._end_session(event, ports)
        return "{}"

    async def before_tool(self, event: HookEvent, source: HookSource, project: str) -> HookVerdict:
        """Judge a call that the client wants to make."""
        judged = self.tools.judge(event, project)
        if judged is None:
            unknown = self._unknown(event, source)
            await record(unknown, self.ports()._replace(catalogue=Catalogue().itself), run_stages)
            return HookVerdict("deny", f"{unknown.tool} has no contract. Tell the user: the operator must write one.")
        ports = self._ports(judged.tool)
        key = await self._new_key(event, judged, ports)
        if key is None:  # The same event twice: two hooks are installed.
            return HookVerdict("none")
        request = self._request(event, judged, source, key, ports)
        trace = CallTrace(observing=ports.rules.mode == "observe", keeps_notes=False)
        outcome: Outcome | None = None
        try:
            outcome = await record(request, ports, _stages, trace)
        except _Released:
            ports.seen(judged.tool.name, Answer({}), trace.would)
        if outcome is None or isinstance(outcome, Answer):
            self.asked.pop(_base_key(event), None)
            approved = trace.approval is not None and not trace.observing
            return HookVerdict("allow" if approved or (self.allow and not trace.would) else "none")
        if isinstance(outcome, Pause):
            self.asked[_base_key(event)] = outcome.approval.id
        elif judged.tool.is_read:  # No claim will say that it was not allowed.
            self.asked[_base_key(event)] = ""
        return _denied(outcome, judged)

    async def after_tool(self, event: HookEvent, source: HookSource, project: str) -> str:
        """Record what became of a call; returns what the model must be told of its result."""
        judged, result = self.tools.judge(event, project), event.result or {"content": []}
        if judged is None:
            ports = self.ports()._replace(catalogue=Catalogue().itself)
            await self._record_unannounced(self._unknown(event, source), result, None, ports)
            return ""
        ports = self._ports(judged.tool)
        trace = CallTrace(observing=ports.rules.mode == "observe", keeps_notes=False)
        found = await self._open_claim(event, judged, ports)
        key = found.key if found is not None else f"{_base_key(event)}.late"
        request = self._request(event, judged, source, key or "", ports)
        call = validate(request, self.principal, judged.tool, trace)
        if found is not None:
            try:
                await keep(claim_from_record(call, found, ports), result, ports, trace)
            except Refusal as refusal:
                return _refusal_text(refusal)
            return ""
        approval = self.asked.pop(_base_key(event), None)
        if approval is not None or not call.tool.is_read:
            await self._record_unannounced(request, result, approval or None, ports)
        if call.tool.is_read and ports.rules.flow is not None:
            remembering = ports.rules.flow.remember(call, result, ports.now())
            if not isinstance(remembering, dict):
                await remembering
        return ""

    async def _record_unannounced(
        self, request: Request, result: dict[str, Any], approval: str | None, ports: Ports
    ) -> None:
        """Record a call that has run without a claim: its user said yes in the client's dialog, or no event came
        before it. What the pipeline refuses has run all the same, so that is a violation.
        """
        ports = ports._replace(upstream=_AtTheClient(result))
        outcome = await record(_answered(request, approval), ports, run_stages)
        if isinstance(outcome, Pause):  # Another process asked; the client's dialog has answered since.
            outcome = await record(_answered(request, outcome.approval.id), ports, run_stages)
        if not isinstance(outcome, Answer):
            tool = ports.catalogue().tools.get(request.tool)
            facts = {"tool": tool.name, "upstream": tool.upstream} if tool is not None else {}
            values = {} if tool is not None else unknown_tool_values(request.tool)
            failure = {**values, "failure": "it ran without a yes"}
            ports.store.append(Entry("violation", ports.now(), {**facts, "code": outcome.code}, failure))

    async def _end_session(self, event: HookEvent, ports: Ports) -> None:
        """Mark the calls of a session that ended without an outcome as unknown."""
        now, prefix = ports.now(), _session_key(event)
        tenant, principal = self.principal.tenant, self.principal.id
        claims = await ports.store.claims(states=[State.STARTED], tenant=tenant, principal=principal, limit=1000)
        for one in claims:
            if one.key is not None and one.key.startswith(prefix):
                facts = {"tool": one.tool, "claim": ports.keyed_hash(one.id), "state": State.IN_DOUBT.value}
                entry = Entry("outcome", now, {**facts, "code": "execute.in_doubt"})
                await ports.store.settle(one.id, one.epoch, Settlement(State.IN_DOUBT, now), [entry])

    def _unknown(self, event: HookEvent, source: HookSource) -> Request:
        """The call of a tool without a contract. Its name is only the client's text."""
        name = f"{event.client}.{event.tool}"
        return Request(name, event.input, self.principal, conversation=self._conversation(event, source))

    def _ports(self, tool: Tool) -> Ports:
        catalogue = Catalogue({tool.name: tool})
        return self.ports()._replace(
            catalogue=lambda: catalogue, upstream=_AtTheClient(), work=DirectWork(), lease=LEASE
        )

    def _request(self, event: HookEvent, judged: JudgedCall, source: HookSource, key: str, ports: Ports) -> Request:
        given, rehearsal = event.input, judged.tool.contract.dry_run
        if rehearsal.mode != "none" and (event.kind == "after" or ports.rules.mode == "observe"):
            # The client runs it, so it is an ordinary call.
            given = {name: value for name, value in given.items() if name != rehearsal.argument}
        return Request(
            judged.tool.name,
            given,
            self.principal,
            keys=(key,),
            can_ask=self._may_ask(event, judged.tool, source),
            conversation=self._conversation(event, source),
        )

    def _may_ask(self, event: HookEvent, tool: Tool, source: HookSource) -> bool:
        """Whether the client's own dialog may answer: it has one, and a person is at it. For a critical call only if
        the operator says that its answers are a person's.
        """
        if event.client not in answers.ASKS or event.mode in _QUIET_MODES or source.headless:
            return False
        if tool.contract.risk == "critical":
            return self.principal.asks == "person" and bool(event.mode)
        return True

    def _conversation(self, event: HookEvent, source: HookSource, words: str = "") -> ConversationRef:
        name = source.conversation if source.conversation is not None else f"{event.client}:{event.session}"
        return ConversationRef(name[:200], words[-MOST_USER_TEXT:])

    def _project(self, event: HookEvent, source: HookSource) -> str:
        """The folder of the project: where the session began, not where the agent went since."""
        if source.project:
            return source.project
        return self.projects.setdefault(f"{event.client}:{event.session}", event.cwd)

    async def _new_key(self, event: HookEvent, judged: JudgedCall, ports: Ports) -> str | None:
        """A key that no call of this session had. None if the client's own id was used by a call that is running."""
        count, last = await self._count(event, judged, ports)
        if event.call and last is not None and last.state is State.STARTED:
            return None
        return f"{_base_key(event)}.{count}"

    async def _open_claim(self, event: HookEvent, judged: JudgedCall, ports: Ports) -> ClaimRecord | None:
        """The newest started claim of the call that has run."""
        count, _ = await self._count(event, judged, ports)
        for number in range(count - 1, max(count - 9, -1), -1):
            found = await self._claim(event, judged, number, ports)
            if found is not None and found.state is State.STARTED:
                return found
        return None

    async def _count(self, event: HookEvent, judged: JudgedCall, ports: Ports) -> tuple[int, ClaimRecord | None]:
        """How many claims a call has, and the newest. Equal calls of a client without ids are counted."""
        low, high, last = 0, 1, None
        while (found := await self._claim(event, judged, high - 1, ports)) is not None:
            low, high, last = high, high * 2, found
        while low + 1 < high:
            middle = (low + high) // 2
            found = await self._claim(event, judged, middle - 1, ports)
            if found is not None:
                low, last = middle, found
            else:
                high = middle
        return low, last

    async def _claim(self, event: HookEvent, judged: JudgedCall, number: int, ports: Ports) -> ClaimRecord | None:
        key = f"{_base_key(event)}.{number}"
        call = Call(self.principal, judged.tool, event.input, b"", "", "", key)
        name = claim_name(call)
        return await ports.store.claim_by_id(name) if name is not None else None


async def _stages(request: Request, ports: Ports, trace: CallTrace) -> Answer:
    """The stages of a call that the client runs. A dry run is always refused: a preview of a locked tool, which is made
    from its contract alone, would reach no one.
    """
    answer = await run_stages(request, ports, trace)
    if trace.call is not None and trace.call.dry_run:
        raise Refusal("rehearse.failed")
    return answer


def _answered(request: Request, approval: str | None) -> Request:
    """The request with the yes that the client's own dialog gave: it ran the tool."""
    if approval is None:
        return request
    reply = UserAnswer(approval, "accept", client=request.tool.partition(".")[0])
    return request._replace(reply=reply, principal=replace(request.principal, asks="person"))


def _session_key(event: HookEvent) -> str:
    digest = hashlib.sha256(f"{event.client}\0{event.session}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"hook:{event.client}:{digest[:24]}:"


def _base_key(event: HookEvent) -> str:
    """The key of a call without its number: its session, and its id or else its tool and arguments."""
    said = orjson.dumps([event.call, event.tool, event.input], option=orjson.OPT_SORT_KEYS)
    return _session_key(event) + hashlib.sha256(said).hexdigest()[:40]


def _denied(outcome: Outcome, judged: JudgedCall) -> HookVerdict:
    """The answer to a call that is asked about or refused. It says why, and what to do instead."""
    because = f" ({judged.tool.name}: {judged.why}.)" if judged.why else ""
    if isinstance(outcome, Pause):
        return HookVerdict("ask", f"{outcome.approval.text}{because}")
    assert isinstance(outcome, Refusal)
    if (said := _NEEDS_TOOL.get(outcome.code)) is not None:
        said = _DRY_RUN_FIRST if said is _NO_DRY_RUN and judged.tool.needs_rehearsal else said
        return HookVerdict("deny", said.format(tool=judged.tool.name))
    return HookVerdict("deny", _refusal_text(outcome) + because)


def _refusal_text(refusal: Refusal) -> str:
    problem = refusal.problem()
    where = f" Approval: {problem['approval']}." if "approval" in problem else ""
    return f"Assent: {text_of_problem(problem)}{where}"

"""Interfaces that the pipeline depends on: store, upstream, guards, running effects, and the `Ports` that bundle
them.

Each protocol states its promises. `stores/memory.py` is the reference implementation of the store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from assent.contract.fields import StepUp
from assent.core.api_keys import KeyRecord
from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.call import Call, ConversationRef, Presence
from assent.core.catalogue import Catalogue
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.default_step_up import DefaultStepUp
from assent.core.document import Document
from assent.core.guard_finding import GuardFinding
from assent.core.open_questions import OpenQuestions
from assent.core.outcome import Outcome
from assent.core.policy_verdict import PolicyVerdict
from assent.core.principal import Principal
from assent.core.question import Background
from assent.core.quotas import NOTHING, Quotas, RateLimit, SpendBudget
from assent.core.stop_switch import NO_STOPS, StopSet
from assent.core.tool import Tool
from assent.errors import AssentError
from assent.rules.guards.lookups import Resolve, resolve_host
from assent.rules.guards.rule import GuardRule
from assent.rules.guards.workload import Later

T = TypeVar("T")


class NotReached(AssentError):
    """Nothing was sent to the upstream. `scope` is set if a person must first allow this at the upstream."""

    def __init__(self, detail: str = "", scope: str | None = None) -> None:
        super().__init__(detail)
        self.scope = scope


class NotRun(AssentError):
    """The tool's own server refused the call before the tool ran: nothing was done.

    `error` is the protocol error to pass on unchanged, if there is one.
    """

    def __init__(self, detail: str, error: Exception | None = None) -> None:
        super().__init__(detail)
        self.error = error


class Confined(AssentError):
    """The tool failed because its box stopped it; `setting` would allow what it tried."""

    def __init__(self, detail: str, setting: str) -> None:
        super().__init__(detail)
        self.detail, self.setting = detail, setting


class OutcomeUnknown(AssentError):
    """The call was sent and its end is unknown: a crash, a time-out or a broken connection.

    `error` is the protocol error that ended a read. It is passed on unchanged, because a read leaves no effect in
    doubt. `said` is the text of an error that does not say whether the call took effect.
    """

    def __init__(self, detail: str = "", error: Exception | None = None, said: str = "") -> None:
        super().__init__(detail)
        self.error, self.said = error, said


class ToolFailed(AssentError):
    """The tool itself failed, with a code of its own."""

    def __init__(self, code: str, detail: str = "", **facts: Any) -> None:
        super().__init__(detail or code)
        self.code, self.detail, self.facts = code, detail, facts


class ClaimExists(AssentError):
    """A claim with this id already exists."""

    def __init__(self, record: ClaimRecord) -> None:
        super().__init__(record.id)
        self.record = record


class ApprovalGone(AssentError):
    """The approval cannot be consumed: it was used, has expired, was declined or was never given."""


class TooManyPending(AssentError):
    """The requester already has the maximum number of pending approvals."""


class CoolingDown(AssentError):
    """A person declined a call of this tool moments ago, and the requester asks again too soon."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:.3f}")
        self.seconds = seconds


class RateLimited(AssentError):
    """The rate limit has no room for the call for the given number of seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:.3f}")
        self.seconds = seconds


class OverBudget(AssentError):
    """The call would spend more than the budget has left."""

    def __init__(self, limit: Decimal, left: Decimal) -> None:
        super().__init__(f"{left} of {limit} left")
        self.limit, self.left = limit, left


@dataclass(frozen=True, slots=True)
class Pruned:
    """The number of records that one cleanup removed, by kind."""

    claims: int = 0
    approvals: int = 0
    counts: int = 0
    documents: int = 0

    def __bool__(self) -> bool:
        return bool(self.claims or self.approvals or self.counts or self.documents)


Cursor = tuple[float, str]
"""A position in a list sorted by time (newest first) and then by id; the next page starts after it."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An audit entry with its index in the log."""

    index: int
    entry: Entry


@dataclass(slots=True)
class RawLogRow:
    """An audit entry as stored: the leaf that the Merkle tree proves, and the values beside it, which can be erased."""

    index: int
    leaf: bytes
    vals: bytes | None


class Store(Protocol):
    """Durable storage. Every method is atomic, and its changes are durable when it returns.

    Every method raises StoreError if the store cannot be reached or cannot keep the data. Then nothing was written;
    only if the connection broke during the commit is that unknown. Several processes may use one store at once;
    they share one order of the log.

    A person who can alter the tables can forge any of this. Checkpoints kept elsewhere show that the log was
    altered.
    """

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        """The claim with that id. An attacker who alters the row gains: a wrong answer to a retry."""

    def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> Awaitable[ClaimRecord]:
        """Insert a started claim, consume the approval, reserve the quotas and append the intent: all or nothing.

        Replaces a stale claim of the same id (`ClaimRecord.is_stale`) and increments its epoch. Raises ClaimExists
        if another claim has the id, ApprovalGone if the approval is not usable at `now`, RateLimited or OverBudget
        if the quotas do not allow the call. An attacker who deletes the row gains a second effect; one who alters a
        count gains spending beyond the limit.
        """

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        """Take over a claim that is in doubt or suspended and still at `epoch`: started, epoch + 1. Otherwise None."""

    async def mark_in_doubt(self, claim_id: str, epoch: int, now: float, entry: Entry) -> ClaimRecord | None:
        """Mark a claim at `epoch` whose lease has ended as in doubt, with epoch + 1, so that its late owner can no
        longer settle it.

        Returns a claim that is already marked unchanged, and None for any other claim.
        """

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        """End or suspend a claim of that epoch that has not ended. A late owner gets False and nothing is written.

        A reservation in a budget is returned if nothing was done (`failed_no_effect`), and is spent otherwise.
        """

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        """Extend the leases of started claims that are still at the given epochs; ignore all others."""

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        """Wait until the claim is no longer started, at most `timeout` seconds, and return its record."""

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        """Claims as stored, newest first; optionally of one tenant or principal, or after a cursor."""

    async def admit(self, quotas: Quotas, now: float) -> None:
        """Charge the quotas of a call that makes no claim. Raises RateLimited or OverBudget, and charges nothing,
        if they do not allow it.
        """

    async def afford(self, quotas: Quotas, now: float) -> None:
        """Check the quotas at `now`: raise as `admit` would, and charge nothing."""

    async def ask(
        self,
        draft: Approval,
        now: float,
        most_pending: int,
        entry: Entry,
        cooldown: float = 0.0,
        claim: str | None = None,
    ) -> Approval:
        """Return the approval that already answers for the draft's binding at `now`, or store and return the draft.

        Raises TooManyPending if the requester has that many pending ones, CoolingDown if an approval of the same
        tool and requester was declined less than `cooldown` seconds ago, ClaimExists if the claim of that id exists
        (another call with the same key has used up the approval), StoreError if the draft's id exists. An attacker
        who alters a row gains: an effect that no person approved.
        """

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        """Add a person's decision to a pending approval. None if it is not pending, or if the person has already
        decided.

        The decision `reopen` takes back a decline, or a yes that is not used up; None for any other approval.
        """

    async def approval(self, approval_id: str) -> Approval | None:
        """The approval with that id, in any state."""

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        """The approval that answers for a binding: the newest that is not expired or consumed."""

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        """Wait until the approval is decided, at most `timeout` seconds, and return its current state."""

    async def approvals(
        self,
        *,
        tenant: str | None = None,
        requester: str | None = None,
        pending_at: float | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[Approval]:
        """Approvals, newest first; with `pending_at` only those that are pending at that time."""

    async def urgent_approvals(
        self, now: float, *, tenant: str | None = None, requester: str | None = None, skip: int = 0, limit: int = 100
    ) -> list[Approval]:
        """Pending approvals in the order of `urgency_of`, without the first `skip` of them."""

    async def count_pending(
        self, now: float, *, tenant: str | None = None, requester: str | None = None
    ) -> tuple[int, float | None]:
        """How many approvals are pending, and when the first of them expires."""

    async def decided_approvals(
        self, *, tenant: str | None = None, requester: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """Approvals that were decided or used up, those asked last first."""

    async def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        """The newest approval of this requester for this tool, asked before a time, that a call has used."""

    async def add_key(self, record: KeyRecord, entry: Entry) -> None:
        """Keep a new key and append the entry. Raises StoreError if a key with that digest exists.

        An attacker who inserts a row can act as the principal in it. Reading rows gives no access: keys are stored
        hashed.
        """

    async def revoke_key(self, digest: str, now: float, entry: Entry) -> KeyRecord | None:
        """Revoke a key permanently and return it. None, and nothing is written, if it is unknown or already revoked."""

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        """The key with that digest, revoked or not."""

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        """Keys whose visible start has the prefix `start`, newest first, including revoked ones."""

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        """Keep a document with the next version number, and append the entry if one is given.

        With `expected`, only if the stored version is that one (0: no such document); otherwise return None and write
        nothing. An expired document counts as absent.
        """

    async def delete_document(
        self, kind: str, id: str, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        """Delete a document and return it; None, and nothing written, if it is absent or of another version."""

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        """The document of that kind and id, unless it has expired at `now`."""

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        """Unexpired documents of a kind, by id; only those after an id, and of one tenant, where given."""

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        """Delete records that are no longer needed, at most `limit` of each kind, so that other writers do not wait
        long.

        Removes the results of claims whose retention has ended at `now` (the claim itself stays and still prevents
        a second run), approvals that have been unusable since `before`, counts that ran out, and expired documents.
        """

    def check(self) -> None:
        """Raise StoreError if `append` would raise now. A call that cannot be recorded must not start."""

    def append(self, entry: Entry) -> None:
        """Append an entry with the next batch, after everything that this process wrote before.

        Raises StoreError while earlier entries could not be written. The store retries those, so no entry is lost
        silently.
        """

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        """Durable entries in log order, numbered from 0 without gaps."""

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        """The same entries as raw rows, not yet verified."""

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        """The leaves of the entries start to stop, without their values; fewer if the log is shorter."""

    async def length(self) -> int:
        """The number of durable entries."""

    async def erase(self, index: int, fields: Sequence[str], entry: Entry) -> None:
        """Delete values of an entry together with their salts, and append the entry that records the erasure: both
        or neither.

        Raises StoreError, and writes nothing, if one of the values does not exist.
        """

    async def flush(self) -> None:
        """Return when every entry noted so far is durable."""

    async def close(self) -> None:
        """Write what was noted and close the store; a second call does nothing. Raises StoreError if an entry could
        not be written.
        """


class Upstream(Protocol):
    """The server that runs the tools."""

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        """Run the tool and return its result in wire form.

        Raises NotReached or NotRun (nothing was done), OutcomeUnknown or ToolFailed. Any other exception counts as
        OutcomeUnknown.
        """

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        """The result of another, read-only tool (an estimate, a look-up) that a call needs."""


class Policies(Protocol):
    """The policies of an organisation. They can only tighten what contracts ask for."""

    @property
    def digest(self) -> str: ...

    def judge_tool(self, principal: Principal, tool: Tool) -> PolicyVerdict:
        """What follows from principal and tool alone."""

    def reads_budget(self, call: Call) -> bool:
        """Whether a policy for this call reads how much of a budget is used."""

    def judge_call(self, call: Call, now: float, used_percent: int = 0) -> PolicyVerdict:
        """What the policies decide that read arguments, the time or `used_percent` of the fullest budget."""

    def judge_other(
        self, principal: Principal, action: str, kind: str, name: str, upstream: str | None, now: float
    ) -> PolicyVerdict:
        """What policies decide about `resources/read`, `prompts/get` and `completion/complete`; `kind` is Resource or
        Prompt.
        """

    def governs_others(self) -> bool:
        """Whether any policy can apply to these."""


class Work(Protocol):
    """The effects that are running."""

    def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> Awaitable[T]:
        """Run an effect to its end even if the caller disconnects; release its `presence` once the caller is not
        needed.
        """

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        """Keep a claim's lease alive while its effect runs."""


class AuditEvidence(Protocol):
    """What proves the log beside its entries: checkpoints, proofs, anchors and the last verification."""

    async def status(self) -> dict[str, Any]:
        """The newest checkpoint, the anchors, what signing complains about, and the last verification."""

    async def prove(self, index: int, leaf: bytes) -> dict[str, Any]:
        """The inclusion proof of an entry under the newest checkpoint, or why there is none. Signs nothing."""

    def verify(self, by: Principal) -> bool:
        """Begin to check the whole log in the background; False if that is under way already."""

    async def bundle(self, *, values: bool) -> AsyncIterator[bytes]:
        """The whole log for an auditor, as the pieces of a .zip archive. Raises AssentError if there is none."""


def _no_page(_path: str) -> str | None:
    return None


def assent_command(words: str) -> str | None:
    return f"assent {words}"


def no_command(_words: str) -> str | None:
    return None


async def _no_resolved_paths(_call: Call) -> Sequence[tuple[str, str]]:
    return ()


def _announce_nothing(_approval: Approval) -> None:
    pass


def _ignore_outcome(_tool: str | None, _outcome: Outcome | None, _would: Sequence[str]) -> None:
    pass


class ConnectionNeeded(NamedTuple):
    """An upstream that a person must connect: its name, where to do it, and who."""

    upstream: str
    where: str
    """A page or a command."""
    scope: str = ""


async def _no_connection_needed(_call: Call, _scope: str | None) -> ConnectionNeeded | None:
    return None


class Flow(Protocol):
    """Flow control: remembers where values come from, per conversation, and judges calls by it."""

    mode: Literal["off", "observe", "ask", "refuse"]

    # Each returns what to await if there is so much to read that other calls would wait.
    def check(self, call: Call, now: float, *, observing: bool) -> list[GuardFinding] | Later[list[GuardFinding]]:
        """What a person should be asked about before this call runs."""

    def remember(self, call: Call, result: dict[str, Any], now: float) -> dict[str, Any] | Later[dict[str, Any]]:
        """Remember the values of a result that the caller gets, and return it, with its labels if they are shown."""

    def take_other(
        self, principal: Principal, given: ConversationRef | None, name: str, content: list[Any], now: float
    ) -> Later[None] | None:
        """Remember what entered a conversation beside tools: a resource or a prompt. Returns what to await."""

    def vouch(self, call: Call, now: float) -> None:
        """Remember that a person said yes to this call."""

    def hear(self, principal: Principal, conversation: ConversationRef, now: float) -> Later[object] | None:
        """Add the user's words of a conversation, apart from any call."""

    def background(self, call: Call, now: float) -> Background:
        """What the conversation of a call tells a person who must decide about it."""

    def report(self, tenant: str) -> list[dict[str, Any]]:
        """The conversations of a tenant, the newest first: what entered and what was decided, without values."""


class Rules(NamedTuple):
    """What one configuration decides about calls. It never changes: another configuration has other rules."""

    mode: Literal["enforce", "observe"] = "enforce"
    guards: tuple[GuardRule, ...] = ()
    policies: Policies | None = None
    policy_digest: str = ""
    """Identifies everything that an approver relies on besides the contract."""
    flow: Flow | None = None
    """None if flow control is off."""
    limits: tuple[RateLimit, ...] = ()
    budgets: tuple[SpendBudget, ...] = ()
    most_pending: int = 20
    cooldown: float = 60.0
    critical_confirmer: Literal["approver", "user"] = "user"
    """Who confirms an agent's critical call whose contract does not say it."""
    test_confirmation: Literal["user", "none"] = "user"
    """Who confirms a call of a test caller, where its contract needs a confirmation."""
    retention: float = 30 * 86400.0
    approver_step_up: Mapping[str, StepUp] = MappingProxyType({})
    """What a yes needs of the approver's authentication, by the risk of the call."""
    default_step_up: DefaultStepUp = DefaultStepUp()
    """What critical calls ask of callers and approvers where neither the contract nor the configuration says more."""
    connections: frozenset[str] = frozenset()
    """The upstreams that people connect with an account of theirs."""
    callers_from: str = "`auth:`"
    """What an operator of this edge writes to say who callers are and what they may."""
    login_from: str = "let such callers use a token (`auth:`)"
    """What an operator of this edge does so that callers have a login with a time and a strength."""

    def background(self, call: Call, now: float) -> Background:
        """What a question tells of a conversation. No approval is bound to it: it explains the call, and changes."""
        if self.flow is not None:
            return self.flow.background(call, now)
        return Background(call.conversation.user_text if call.conversation is not None else "")

    def counts(self, tool: Tool) -> bool:
        """Whether a limit or a budget can count calls of a tool."""
        lines: tuple[RateLimit | SpendBudget, ...] = (*self.limits, *self.budgets)
        return any(line.match.holds_for(tool) for line in lines)


class Ports(NamedTuple):
    """Everything the pipeline needs at one edge."""

    catalogue: Callable[[], Catalogue]
    store: Store
    upstream: Upstream
    now: Callable[[], float]
    new_id: Callable[[], str]
    work: Work
    derive_key: Callable[[str], str]
    keyed_hash: Callable[[str], str] = str
    """Hashes the claim id that the log shows. The log's facts are public, and a reader who guesses arguments could
    guess the id itself.
    """
    rules: Rules = Rules()
    page: Callable[[str], str | None] = _no_page
    """The address of a page of the console (`approvals/ID`), or None if there is no console."""
    command: Callable[[str], str | None] = assent_command
    """The command of `assent` with these words (`approvals approve ID`), or None if no other process can open the
    store.
    """
    leads_to: Callable[[Call], Awaitable[Sequence[tuple[str, str]]]] = _no_resolved_paths
    """The arguments of a call that are paths on this machine and resolve to another path, each with its real path."""
    questions: OpenQuestions = OpenQuestions()
    """The questions that are open at clients; `make_ports` gives each edge its own."""
    lease: float = 15.0
    attach: float = 10.0
    seen: Callable[[str | None, Outcome | None, Sequence[str]], None] = _ignore_outcome
    """Called with every request that ended: the tool if every caller may know it, the outcome (None after an internal
    error), and what observe mode let pass.
    """
    evidence: AuditEvidence | None = None
    """None where the log is not signed: it lives in memory, or another process signs it."""
    waiting: Callable[[Approval], None] = _announce_nothing
    """Called with every approval that a call waits for and that its own client does not ask about."""
    stops: Callable[[], StopSet | Awaitable[StopSet]] = lambda: NO_STOPS
    """The stop switches that are on, at once if they are known."""
    resolve: Resolve = resolve_host
    """Looks up the addresses of a host for guards."""
    connect: Callable[[Call, str | None], Awaitable[ConnectionNeeded | None]] = _no_connection_needed
    """What a person must connect before this call can run, or None. The scope is what the upstream asked for. Asked
    for `Rules.connections` only.
    """

    def but(self, **changes: Any) -> Ports:
        """The same ports with other values of their own or of their rules."""
        rules = {name: changes.pop(name) for name in Rules._fields if name in changes}
        return self._replace(rules=self.rules._replace(**rules), **changes)

"""What does the sentence need from the world?

Each protocol says what is promised; memory (`stores/memory.py`) is the specification of the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from assent.contract.parts import StepUp
from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.call import Call, Presence
from assent.core.catalogue import Catalogue
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.document import Document
from assent.core.keys import KeyRecord
from assent.core.outcome import Outcome
from assent.core.principal import Principal
from assent.core.quotas import NOTHING, Quotas, RateLimit, SpendBudget
from assent.errors import AssentError

T = TypeVar("T")


class NotReached(AssentError):
    """The upstream was never reached: nothing was done."""


class NotRun(AssentError):
    """The tool's own server refused the call before the tool ran: nothing was done.

    `error` is the protocol error to pass on as it is, where it is one.
    """

    def __init__(self, detail: str, error: Exception | None = None) -> None:
        super().__init__(detail)
        self.error = error


class OutcomeUnknown(AssentError):
    """The call was sent and its end is not known: a crash, a time-out, a broken connection.

    `error` is the protocol error with which a read ended, to be passed on as it is: there is no effect to doubt.
    """

    def __init__(self, detail: str = "", error: Exception | None = None) -> None:
        super().__init__(detail)
        self.error = error


class ToolFailed(AssentError):
    """The tool itself failed, under a code of its own."""

    def __init__(self, code: str, detail: str = "", **facts: Any) -> None:
        super().__init__(detail or code)
        self.code, self.detail, self.facts = code, detail, facts


class ClaimExists(AssentError):
    """The claim exists already."""

    def __init__(self, record: ClaimRecord) -> None:
        super().__init__(record.id)
        self.record = record


class ApprovalGone(AssentError):
    """The approval cannot be consumed: used, expired, declined or never given."""


class TooManyPending(AssentError):
    """The requester has as many open questions as it may."""


class CoolingDown(AssentError):
    """The requester was told no a moment ago, and asks about the same tool again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:.3f}")
        self.seconds = seconds


class RateLimited(AssentError):
    """There is no place for the call in its rate for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:.3f}")
        self.seconds = seconds


class OverBudget(AssentError):
    """The call would spend more than is left."""

    def __init__(self, limit: Decimal, left: Decimal) -> None:
        super().__init__(f"{left} of {limit} left")
        self.limit, self.left = limit, left


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much a sweep has let go."""

    claims: int = 0
    approvals: int = 0
    rehearsals: int = 0
    counts: int = 0
    documents: int = 0

    def __bool__(self) -> bool:
        return bool(self.claims or self.approvals or self.rehearsals or self.counts or self.documents)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A dry run that took place."""

    digest: str
    preview: bytes
    at: float


Cursor = tuple[float, str]
"""A place in a list that is sorted by time, newest first, and then by name: the list goes on after it."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry with the place it was given in the log."""

    index: int
    entry: Entry


@dataclass(slots=True)
class RawLogRow:
    """An entry as the log keeps it: what is proved, and what lies beside it and can be erased."""

    index: int
    leaf: bytes
    vals: bytes | None


class Store(Protocol):
    """Where we remember. Every method is atomic; what it has returned from is durable.

    Every method raises StoreError if the store cannot be reached or cannot keep what it was given; then nothing of it
    was written, or, if the store vanished in the very moment of the commit, nobody can tell. Several processes may use
    one store at once; the order of the log is one for all of them.

    Whoever can alter the tables can forge any of this; that the log was altered is shown by checkpoints kept elsewhere.
    """

    async def recall(self, claim_id: str) -> ClaimRecord | None:
        """The claim of that name. Altering the row gains: a wrong answer to a retry."""
        ...

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        """Insert a started claim, consume the approval, pay the dues and append the intent: all or nothing.

        A stale claim of the same name (`ClaimRecord.is_stale`) is replaced, its epoch counted up. Raises Taken if
        another one stands, ApprovalGone if the approval is not usable at `now`, RateLimited or OverBudget if the dues
        cannot be paid. Deleting the row gains: a second effect; altering a count gains: spending beyond it.
        """
        ...

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        """Take over a claim that is in doubt or suspended and still at `epoch`: started, epoch + 1; else None."""
        ...

    async def doubt(self, claim_id: str, epoch: int, now: float, entry: Entry) -> ClaimRecord | None:
        """Write down that a claim at `epoch` whose lease has ended is in doubt, under epoch + 1, so that its late owner
        can no longer settle it. One that is written down already is returned as it is; None for any other."""
        ...

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        """End (or suspend) a claim of that epoch that has not ended; False, and nothing written, for a late owner.

        What was reserved of budgets is given back if nothing was done (`failed_no_effect`), and spent otherwise.
        """
        ...

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        """Move the leases of started claims that are still at the given epochs; pass over all others."""
        ...

    async def ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        """Wait until the claim is no longer started, at most `timeout` seconds; its record then."""
        ...

    async def claims(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        principal: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[ClaimRecord]:
        """Claims as stored, newest first; of one tenant or principal, and those that follow a place, where given."""
        ...

    async def admit(self, quotas: Quotas, now: float) -> None:
        """Pay the dues of a call that makes no claim; RateLimited or OverBudget, and nothing paid, if it cannot."""
        ...

    async def afford(self, quotas: Quotas, now: float) -> None:
        """Whether the dues could be paid at `now`: raises as `admit` would, and pays nothing."""
        ...

    async def ask(
        self, draft: Approval, now: float, most_pending: int, entry: Entry, cooldown: float = 0.0
    ) -> Approval:
        """The approval that answers for the draft's binding at `now`, or the draft, kept.

        Raises TooManyPending if the requester has that many pending ones, CoolingDown if a question of theirs about
        the tool was declined less than `cooldown` seconds ago, StoreError if the draft's id is taken.
        Altering a row gains: an effect nobody agreed to.
        """
        ...

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        """Add a person's decision to a pending approval; None if it is not pending, or the person has decided.

        A decision `reopen` takes back the declines of an approval that is declined; None for any other.
        """
        ...

    async def approval(self, approval_id: str) -> Approval | None:
        """The approval of that id, whatever its state."""
        ...

    async def approval_for(self, binding: str, now: float) -> Approval | None:
        """The approval that answers for a binding: the newest that is not expired or consumed."""
        ...

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        """Wait until the approval is decided, at most `timeout` seconds; as it stands then."""
        ...

    async def approvals(
        self,
        *,
        tenant: str | None = None,
        requester: str | None = None,
        pending_at: float | None = None,
        after: Cursor | None = None,
        limit: int = 100,
    ) -> list[Approval]:
        """Approvals, newest first; with `pending_at` only those that wait for a decision at that time."""
        ...

    async def remember(self, rehearsal: Rehearsal, entry: Entry) -> None:
        """Keep a rehearsal; the last one of the same digest stands. Forging the row gains: a skipped dry run."""
        ...

    async def rehearsed(self, digest: str) -> Rehearsal | None:
        """The last rehearsal of that digest, however old."""
        ...

    async def add_key(self, record: KeyRecord, entry: Entry) -> None:
        """Keep a new key and append the entry. Raises StoreError if there is one of that digest.

        Inserting a row gains: being whoever the row says. The rows themselves let nobody in: keys are kept hashed.
        """
        ...

    async def revoke_key(self, digest: str, now: float, entry: Entry) -> KeyRecord | None:
        """Revoke a key for good, as it stands then; None, and nothing written, for one unknown or revoked already."""
        ...

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        """The key of that digest, revoked or not."""
        ...

    async def keys(self, *, start: str = "", limit: int = 1000) -> list[KeyRecord]:
        """Keys whose visible start begins so, newest first; revoked ones too."""
        ...

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        """Keep a document with the next version number, and append the entry if one is given.

        With `expected`, only if the stored version is that one (0: no such document); otherwise return None and write
        nothing. An expired document counts as absent.
        """
        ...

    async def delete_document(
        self, kind: str, id: str, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        """Delete a document and return it; None, and nothing written, if it is absent or of another version."""
        ...

    async def document(self, kind: str, id: str, now: float) -> Document | None:
        """The document of that kind and id, unless it has expired at `now`."""
        ...

    async def documents(
        self, kind: str, now: float, *, tenant: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        """Unexpired documents of a kind, by id; only those after an id, and of one tenant, where given."""
        ...

    async def prune(self, now: float, before: float, limit: int = 1000) -> Pruned:
        """Let go of what nobody needs, at most `limit` of each kind, so that it holds nobody up for long.

        The results of claims past their retention at `now`: the claim stays, and answers that it was made once.
        Approvals that have answered for nothing since `before`, rehearsals made until then, counts that ran out,
        documents that expired.
        """
        ...

    def check(self) -> None:
        """Raise StoreError where `note` would just now: what cannot be written down is not begun."""
        ...

    def note(self, entry: Entry) -> None:
        """Append an entry with the next batch, after what this process wrote before it.

        Raises StoreError while earlier ones could not be kept; those are tried again, so none is lost unsaid.
        """
        ...

    async def entries(self, *, after: int = -1, limit: int = 1000) -> list[LogEntry]:
        """Entries that are durable, in the order of the log: numbered from 0, without gaps."""
        ...

    async def sealed(self, *, after: int = -1, limit: int = 1000) -> list[RawLogRow]:
        """The same entries as they lie there, believed by nobody yet."""
        ...

    async def leaves(self, start: int, stop: int) -> list[bytes]:
        """What is proved of the entries start to stop, without what lies beside it; fewer if some are not there."""
        ...

    async def length(self) -> int:
        """How many entries are durable."""
        ...

    async def erase(self, index: int, fields: Sequence[str], entry: Entry) -> None:
        """Delete values of an entry together with their salts, and append the entry that says so: both or neither.

        Raises StoreError, and nothing is written, if one of them is not there.
        """
        ...

    async def flush(self) -> None:
        """Return when everything noted so far is durable."""
        ...

    async def close(self) -> None:
        """Keep what was noted, and let go; again does nothing. Raises StoreError if something could not be kept."""
        ...


class Upstream(Protocol):
    """Where calls go."""

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        """The tool's result in wire form. Raises Unreached or NotRun (nothing was done), Lost (nobody knows) or
        ToolFailed. Any other exception counts as Lost."""
        ...

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        """The result of another tool, one that only reads (an estimate, a look-up), for the sake of a call."""
        ...


class Guard(Protocol):
    """A rule on arguments."""

    @property
    def rule(self) -> str: ...

    def applies(self, call: Call) -> bool: ...

    def denies(self, arguments: Mapping[str, Any]) -> tuple[str, str] | None:
        """(field, reason) of the first violation, or None."""
        ...


class Work(Protocol):
    """Effects under way."""

    async def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> T:
        """Run an effect to its end even if whoever waits for it leaves; its `presence` is released where that helps."""
        ...

    async def turn(self) -> None:
        """Wait for one's turn to check something large: between two of them, everything else goes on."""
        ...

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        """Keep a claim's lease alive while its effect runs."""
        ...


Authenticate = Callable[[Any], Awaitable[Principal]]


def _no_page(_approval: str) -> str | None:
    return None


def approvals_command(verb: str, approval: str) -> str | None:
    return f"assent approvals {verb} {approval}"


def no_command(_verb: str, _approval: str) -> str | None:
    return None


async def _leads_nowhere_else(_call: Call) -> Sequence[tuple[str, str]]:
    return ()


def _nobody(_tool: str | None, _outcome: Outcome | None, _would: Sequence[str]) -> None:
    pass


class Ports(NamedTuple):
    """The world as one edge sees it, with the few numbers that are configuration."""

    catalogue: Callable[[], Catalogue]
    store: Store
    upstream: Upstream
    authenticate: Authenticate
    now: Callable[[], float]
    new_id: Callable[[], str]
    work: Work
    derive_key: Callable[[str], str]
    keyed_hash: Callable[[str], str] = str
    """The name by which the log speaks of a claim: who guesses arguments can guess its id, and facts are public."""
    guards: tuple[Guard, ...] = ()
    mode: Literal["enforce", "observe"] = "enforce"
    policy_digest: str = ""
    approval_url: Callable[[str], str | None] = _no_page
    """The page on which people decide an approval; None where there is none."""
    approval_command: Callable[[str, str], str | None] = approvals_command
    """The command with which a person does this (`approve`, `reopen`) to an approval; None where no other process
    reaches the store."""
    leads_to: Callable[[Call], Awaitable[Sequence[tuple[str, str]]]] = _leads_nowhere_else
    """The arguments of a call that are paths on this machine and lead elsewhere, each with its real path."""
    most_pending: int = 20
    cooldown: float = 60.0
    limits: tuple[RateLimit, ...] = ()
    budgets: tuple[SpendBudget, ...] = ()
    lease: float = 15.0
    attach: float = 10.0
    retention: float = 30 * 86400.0
    approver_step_up: Mapping[str, StepUp] = MappingProxyType({})
    """What a yes needs of the approver's authentication, by the risk of the call."""
    seen: Callable[[str | None, Outcome | None, Sequence[str]], None] = _nobody
    """Told of every request that ended: the tool, the outcome (None for a defect) and what observing let pass."""

    def towards(self, upstream: Upstream) -> Ports:
        """The same ports with the upstream as one call sees it."""
        return Ports._make((*self[:2], upstream, *self[3:]))

"""Flow control of one process: remembers results per conversation, and judges calls before they run.

Labels say of tools and results: private data, untrusted content, ways out. A contract's labels count first, then the
inferred ones. A server may label its own results with `_meta.ifc`; such labels make a result stricter. They make it
laxer only if the operator trusts the server (`trust: annotations`). See ADR 0133.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from assent.core.call import Call, ConversationRef
from assent.core.guard_finding import GuardFinding
from assent.core.principal import Principal
from assent.core.question import Background
from assent.core.tool import Tool
from assent.rules.flow.actions import spends
from assent.rules.flow.conversation import Conversation, Origin, new_hash, result_text
from assent.rules.flow.judgement import PASTED, Concern, judge
from assent.rules.flow.records import RecordMemory
from assent.rules.flow.roles import may_have_title
from assent.rules.flow.user_words import UserWords
from assent.rules.flow.values import Readings
from assent.rules.guards.workload import Later, owner_of, run_apart

T = TypeVar("T")

_log = logging.getLogger(__name__)
Mode = Literal["off", "observe", "ask", "refuse"]
By = Literal["provenance", "labels"]

WINDOW = 3600.0
"""How long a caller that names no conversation stays in the same one, counted from its last call."""
AT_ONCE = 4_096
"""How many characters of a call, a result or a user's words are read on the event loop; more are read in a thread."""
MOST_CONVERSATIONS = 1_000
MOST_IN_ALL = 500_000
"""How many values all conversations remember together."""


@dataclass(slots=True)
class _Memory:
    """The conversations of this process, and how many values they hold together."""

    hash: Any = field(default_factory=new_hash)
    conversations: OrderedDict[tuple[str, str, str], Conversation] = field(default_factory=OrderedDict)
    size: int = 0
    records: RecordMemory = field(default_factory=RecordMemory)


class FlowControl:
    """The conversations of this process. Another replica has its own: what it has seen is unknown here."""

    def __init__(
        self,
        mode: Mode = "observe",
        by: By = "provenance",
        window: float = WINDOW,
        *,
        emits_labels: bool = False,
        previous: FlowControl | None = None,
    ) -> None:
        """With `previous`, another configuration judges the same conversations."""
        self.mode, self.by, self.window, self.emits_labels = mode, by, window, emits_labels
        self._memory: _Memory = previous._memory if previous is not None else _Memory()

    def check(
        self, call: Call, now: float, *, observing: bool = False
    ) -> list[GuardFinding] | Later[list[GuardFinding]]:
        """What a person should be asked about before this call runs. Returns what to await if there is much to read."""
        seen = self._conversation(call.principal, call.conversation, now)
        readings = Readings()
        if call.scratch is not None:
            call.scratch["readings"] = readings
        if len(call.canonical) + (work := _work(seen, call.conversation)) > AT_ONCE:
            return self._check_apart(call, readings, now, observing)
        if work:
            self._hear(seen, call.conversation)
        return self._decide(call, seen, *self._look_at(call, seen, readings), now, observing)

    async def _check_apart(self, call: Call, readings: Readings, now: float, observing: bool) -> list[GuardFinding]:
        """`check` in a thread, so that other calls do not wait. What it finds is remembered here."""
        seen = await self._hear_apart(call.principal, call.conversation, now)
        keys, concerns = await _run_in_thread(
            lambda: self._look_at(call, seen, readings), len(call.canonical), call.principal
        )
        seen = self._conversation(call.principal, call.conversation, now)
        return self._decide(call, seen, keys, concerns, now, observing)

    def _look_at(self, call: Call, seen: Conversation, readings: Readings) -> tuple[list[int], tuple[Concern, ...]]:
        """The hashes of a call's values, and what is to be asked about. It changes nothing."""
        known, keys = seen.look_at(call.arguments, readings)
        if not (known or seen.phrases or seen.user.words or seen.forgot or self.by == "labels") or seen.is_harmless:
            return keys, ()
        return keys, self._concerns(call, seen, readings, may_know=known)

    def _decide(
        self,
        call: Call,
        seen: Conversation,
        keys: list[int],
        concerns: tuple[Concern, ...],
        now: float,
        observing: bool,
    ) -> list[GuardFinding]:
        before = len(seen.passed)
        seen.pass_in(keys)
        self._memory.size += len(seen.passed) - before
        if concerns:
            kinds = ", ".join(f"{one.role} from {one.source}" for one in concerns)
            seen.note(now, call.tool.name, f"{self._verb()}: {kinds}")
        elif not call.tool.is_read:
            seen.note(now, call.tool.name, "allowed")
        found = [self._finding(one, observing) for one in concerns] if concerns else []
        if not seen.is_full_known and seen.is_full:
            found.append(_report_full(seen))
        return found

    def remember(self, call: Call, result: dict[str, Any], now: float) -> dict[str, Any] | Later[dict[str, Any]]:
        """Remember what came out of a result, and return the result as the caller gets it, or what to await."""
        readings = call.scratch.pop("readings", None) if call.scratch is not None else None
        whole = result_text(result)
        who, name = call.principal, call.conversation.name if call.conversation is not None else ""
        self._memory.records.keep((who.tenant, who.id, name), call.tool.name, result, now, whole)
        if len(whole) > AT_ONCE:
            return self._remember_apart(call, result, now, readings, whole)
        return self.take(call.principal, call.conversation, call.tool, result, now, readings, whole)

    async def _remember_apart(
        self, call: Call, result: dict[str, Any], now: float, readings: Readings | None, whole: bytes | str
    ) -> dict[str, Any]:
        """`take` in a thread, so that other calls do not wait. What it finds is remembered here."""
        labels, origin = _labels_and_origin(call.tool, result, now)
        await self._enter_apart(call.principal, call.conversation, origin, result, labels.trusts_text, readings, whole)
        return with_label(result, labels) if self.emits_labels else result

    async def _enter_apart(
        self,
        principal: Principal,
        given: ConversationRef | None,
        origin: Origin,
        result: dict[str, Any],
        trusts_text: bool,
        readings: Readings | None,
        whole: bytes | str,
    ) -> None:
        seen = await self._hear_apart(principal, given, origin.at)
        if seen.is_over or hash(whole) in seen.results:
            return self._enter(seen, origin, result, trusts_text, readings, whole)
        draft, trust = seen.draft(), ""
        read = partial(draft.remember, origin, result, trusts_text, readings, whole)
        with suppress(Exception):  # What cannot be read may be anything; the call itself has run.
            trust = await _run_in_thread(read, len(whole), principal)
        if not trust:
            draft.forgot, draft.untrusted = True, origin
        seen = self._conversation(principal, given, origin.at)
        before = len(seen)
        seen.merge(draft)
        if trust:
            seen.note(origin.at, origin.tool, trust, len(seen) - before)
        self._grow(len(seen) - before)
        return None

    def _enter(
        self,
        seen: Conversation,
        origin: Origin,
        result: dict[str, Any],
        trusts_text: bool,
        readings: Readings | None,
        whole: bytes | str | None,
    ) -> None:
        before = len(seen)
        try:
            trust = seen.remember(origin, result, trusts_text, readings, whole)
        except Exception:  # What cannot be read may be anything; the call itself has run.
            trust, seen.forgot, seen.untrusted = "", True, seen.untrusted or origin
        new = len(seen) - before
        if trust:
            seen.note(origin.at, origin.tool, trust, new)
        self._grow(new)

    def take(
        self,
        principal: Principal,
        given: ConversationRef | None,
        tool: Tool,
        result: dict[str, Any],
        now: float,
        readings: Readings | None = None,
        whole: bytes | str | None = None,
    ) -> dict[str, Any]:
        """Remember a result of a tool in the conversation of a principal."""
        seen = self._conversation(principal, given, now)
        self._hear(seen, given)
        labels, origin = _labels_and_origin(tool, result, now)
        self._enter(seen, origin, result, labels.trusts_text, readings, whole)
        return with_label(result, labels) if self.emits_labels else result

    def take_other(
        self, principal: Principal, given: ConversationRef | None, name: str, content: list[Any], now: float
    ) -> Later[None] | None:
        """Remember a resource or a prompt: no contract says that it can be trusted. Returns what to await."""
        result, origin = {"content": content}, Origin(name, now, False, True)
        whole = result_text(result)
        if len(whole) > AT_ONCE:
            return self._enter_apart(principal, given, origin, result, False, None, whole)
        seen = self._conversation(principal, given, now)
        self._hear(seen, given)
        self._enter(seen, origin, result, False, None, whole)
        return None

    def vouch(self, call: Call, now: float) -> None:
        """Remember that a person said yes to this very call. Any other call is asked about, and each payment is."""
        if self.mode == "ask" and not spends(call.tool):
            self._conversation(call.principal, call.conversation, now).vouch(call.tool.name, "", call.fingerprint)

    def hear(self, principal: Principal, conversation: ConversationRef, now: float) -> Later[Conversation] | None:
        """Add the user's words of a conversation, apart from any call. Returns what to await if there are many."""
        seen = self._conversation(principal, conversation, now)
        if _work(seen, conversation) > AT_ONCE:
            return self._hear_apart(principal, conversation, now)
        self._hear(seen, conversation)
        return None

    def background(self, call: Call, now: float) -> Background:
        """The user's words in the conversation of a call, and what its ids stand for."""
        seen = self._conversation(call.principal, call.conversation, now)
        since = 0.0 if seen.name else now - self.window
        key, words = (seen.tenant, seen.principal, seen.name), seen.user.text
        return Background(words, self._memory.records.named_by(key, call, words, since))

    def conversations(self, tenant: str) -> list[Conversation]:
        """The conversations of a tenant, the newest first."""
        return [one for key, one in reversed(self._memory.conversations.items()) if key[0] == tenant]

    def report(self, tenant: str) -> list[dict[str, Any]]:
        """The conversations of a tenant as the console and `/api` show them."""
        return [one.as_json() for one in self.conversations(tenant)]

    def _concerns(self, call: Call, seen: Conversation, readings: Readings, *, may_know: bool) -> tuple[Concern, ...]:
        """What is to be asked about. `may_know` says whether an argument can be suspicious in itself."""
        if call.tool.contract.flow is not None and call.tool.contract.flow.exempt:
            return ()
        if seen.is_vouched(call.tool.name, "", call.fingerprint):
            return ()
        is_sink = labels_of(call.tool).public_sink
        if self.by == "labels":
            return _by_labels(seen, call, is_sink=is_sink)
        if seen.is_harmless or not (may_know or seen.user.words or seen.forgot or _may_repeat_words(call, seen)):
            return ()
        return judge(call, seen, readings, is_sink=is_sink).concerns

    def _verb(self) -> str:
        return {"ask": "asked", "refuse": "refused"}.get(self.mode, "would ask")

    def _finding(self, concern: Concern, observing: bool) -> GuardFinding:
        action = "deny" if self.mode == "refuse" else "approve"
        rule = f"flow.{concern.role}.{concern.source}"
        return GuardFinding(
            rule, action, concern.place, concern.sentence, by="user", observed=observing or self.mode == "observe"
        )

    def _conversation(self, principal: Principal, given: ConversationRef | None, now: float) -> Conversation:
        """The conversation of a call. A name counts only for its own caller, so no other can write into it."""
        key = (principal.tenant, principal.id, given.name if given is not None else "")
        memory = self._memory
        seen = memory.conversations.get(key)
        if seen is None or (not key[2] and now - seen.used_at > self.window):
            if seen is not None:
                memory.size -= len(seen)
            seen = memory.conversations[key] = Conversation(memory.hash, *key)
        memory.conversations.move_to_end(key)
        seen.used_at = now
        self._grow(0)
        return seen

    def _hear(self, seen: Conversation, given: ConversationRef | None, read: _Heard | None = None) -> None:
        """Add the user's words. `read` is what they are, if they were read already."""
        if given is not None and given.user_text:
            before = len(seen)
            seen.user, pasted = read or _read_words(seen, given.user_text)
            if pasted is not None:
                seen.merge(pasted)
            self._grow(len(seen) - before)

    async def _hear_apart(self, principal: Principal, given: ConversationRef | None, now: float) -> Conversation:
        """The conversation of a call, after its user's words were read: many of them in a thread."""
        seen = self._conversation(principal, given, now)
        while given is not None and (work := _work(seen, given)) > AT_ONCE:
            known = seen.user
            words = await _run_in_thread(partial(_read_words, seen, given.user_text), work, principal)
            seen = self._conversation(principal, given, now)
            if seen.user is known:  # Otherwise another call has added words meanwhile.
                self._hear(seen, given, words)
        self._hear(seen, given)
        return seen

    def _grow(self, size: int) -> None:
        """Count new values, and forget conversations until the rest fits: the oldest of the caller that holds most."""
        self._memory.size += size
        while len(self._memory.conversations) > MOST_CONVERSATIONS:
            self._forget(lambda _: 1)
        while self._memory.size > MOST_IN_ALL and len(self._memory.conversations) > 1:
            self._forget(len)

    def _forget(self, share: Callable[[Conversation], int]) -> None:
        """Forget the oldest conversation of the caller with the largest share, but not the one in use."""
        *others, _ = self._memory.conversations
        held: Counter[tuple[str, str]] = Counter()
        for key in others:
            held[key[:2]] += share(self._memory.conversations[key])
        largest = max(held, key=held.__getitem__)
        oldest = next(key for key in others if key[:2] == largest)
        self._memory.size -= len(self._memory.conversations.pop(oldest))


_Heard = tuple[UserWords, Conversation | None]
"""All words of a user, and the memory of what they pasted."""


def _read_words(seen: Conversation, text: str) -> _Heard:
    """The user's words with a further text. What they only pasted is untrusted content."""
    said = seen.user.add(text)
    if said is seen.user or not said.pasted:
        return said, None
    draft = seen.draft()
    draft.remember(
        Origin(PASTED, seen.used_at, False, False), {"content": [{"type": "text", "text": said.pasted}]}, False
    )
    return said, draft


def _work(seen: Conversation, given: ConversationRef | None) -> int:
    """How many characters must be read for the user's words of a call."""
    return seen.user.work(given.user_text) if given is not None and given.user_text else 0


def _run_in_thread(work: Callable[[], T], size: int, principal: Principal) -> Later[T]:
    """Read so many characters in a thread: a microsecond each, or less."""
    return run_apart(work, float(size), owner_of(principal))


def _labels_and_origin(tool: Tool, result: Mapping[str, Any], now: float) -> tuple[FlowLabelSet, Origin]:
    labels = result_labels(tool, result)
    return labels, Origin(tool.name, now, not labels.sees_untrusted, labels.reads_private)


def _report_full(seen: Conversation) -> GuardFinding:
    """Log that a conversation is full. The finding is for the audit entry of the call that met it first."""
    seen.is_full_known = True
    _log.warning(
        "Flow control remembers no more of the conversation %r of %s: it holds %d values. Addresses, links and "
        "accounts that it does not know are suspicious from now on. A new conversation begins with an empty memory.",
        seen.name,
        seen.principal,
        len(seen),
    )
    return GuardFinding("flow.memory.full", "warn", "", "flow control's memory of this conversation is full", by="user")


def _may_repeat_words(call: Call, seen: Conversation) -> bool:
    """Whether the call can have a title that repeats words of untrusted text."""
    return bool(seen.phrases) and may_have_title(call.tool, call.arguments)


def _by_labels(seen: Conversation, call: Call, *, is_sink: bool) -> tuple[Concern, ...]:
    """The classical rule: after private data and untrusted content, whatever can send data out is asked about."""
    if not is_sink or seen.private is None or seen.untrusted is None:
        return ()
    sentence = (
        f"This call can send data out, after private data ({seen.private.tool}) and untrusted content "
        f"({seen.untrusted.tool}) were read"
    )
    return (Concern("action", "", "untrusted", sentence),)


class FlowLabelSet(NamedTuple):
    """The three labels of a tool or of one result."""

    reads_private: bool
    sees_untrusted: bool
    public_sink: bool
    trusts_text: bool = False
    """Whether running text in a result without untrusted content is trusted too: a person has said so."""


def labels_of(tool: Tool) -> FlowLabelSet:
    """The labels of a tool: those of its contract, and inferred ones where it sets none."""
    found: FlowLabelSet | None = tool.derived.get("flow_labels")
    if found is None:
        found = tool.derived["flow_labels"] = _labels_of(tool)
    return found


def _labels_of(tool: Tool) -> FlowLabelSet:
    given = tool.contract.labels
    stated = (given.reads_private, given.sees_untrusted, given.public_sink)
    if None in stated:
        from assent.contract.infer import classify

        inferred = classify({**tool.definition, "name": tool.wire_name or tool.name}).labels
        stated = tuple(b if a is None else a for a, b in zip(stated, inferred, strict=True))  # type: ignore[assignment]
    declared = tool.written and given.sees_untrusted is False
    return FlowLabelSet(bool(stated[0]), bool(stated[1]), bool(stated[2]), declared)


def result_labels(tool: Tool, result: Mapping[str, Any]) -> FlowLabelSet:
    """The labels of one result: the tool's, and what the server says of this very result."""
    own = labels_of(tool)
    said = _read_labels(result)
    if said is None:
        return own
    untrusted, private = said
    if tool.labels_trusted:
        return own._replace(sees_untrusted=untrusted, reads_private=private, trusts_text=not untrusted)
    return own._replace(
        sees_untrusted=own.sees_untrusted or untrusted,
        reads_private=own.reads_private or private,
        trusts_text=own.trusts_text and not untrusted,
    )


def _read_labels(result: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Whether a server calls its result untrusted and private; None if it says nothing. The strictest part counts."""
    meta, content = result.get("_meta"), result.get("content")
    found = [_read_label(meta["ifc"])] if meta is not None and isinstance(meta, Mapping) and "ifc" in meta else []
    for block in content if isinstance(content, list) else ():
        meta = block.get("_meta") if isinstance(block, Mapping) else None
        if isinstance(meta, Mapping):
            found += [_read_label(meta[key]) for key in ("ifc", "security_label") if key in meta]
    return (any(one[0] for one in found), any(one[1] for one in found)) if found else None


def _read_label(label: Any) -> tuple[bool, bool]:
    """One label as untrusted and private. What cannot be read is both.

    Integrity is also called trust, and confidentiality audience. It is a word or the list of readers.
    """
    if not isinstance(label, Mapping):
        return True, True
    integrity = label.get("integrity", label.get("trust"))
    readers = label.get("confidentiality", label.get("audience"))
    everyone = readers in ("public", ["public"])
    return integrity not in ("trusted", True), not everyone


def with_label(result: dict[str, Any], labels: FlowLabelSet) -> dict[str, Any]:
    """The result with its labels in `_meta.ifc`, for a client that controls flows itself."""
    label = {
        "integrity": "untrusted" if labels.sees_untrusted or not labels.trusts_text else "trusted",
        "confidentiality": ["private" if labels.reads_private else "public"],
    }
    return {**result, "_meta": {**(result.get("_meta") or {}), "ifc": label}}

"""What one conversation has seen: values of results as keyed hashes, the user's words, and people's answers.

Values are kept as keyed hashes of 64 bits (SipHash). The key is random and stays in this process.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import orjson

from assent.rules.flow.result_values import MOST_FIELD, MOST_IN_RESULT, ResultValues, Sighting, phrases_of
from assent.rules.flow.user_words import UserWords
from assent.rules.flow.values import Reading, Readings, amount_of, host_of, number_of

MOST_REMEMBERED = 8_192
"""How many values and phrases one conversation remembers."""
MOST_SIGHTINGS = 4
"""How many appearances of one value are remembered."""
MOST_EVENTS = 200
"""How many results and decisions the console can show per conversation."""

MOST_RESULTS = 32
"""How many results of a conversation are known again."""
MOST_LEAVES = 1_000
"""How many values of a call are looked at."""

Hash = Callable[[str], int]


def new_hash() -> Hash:
    """A keyed hash of texts to 64 bits.

    Python hashes texts with SipHash under a random key of the process. In a process that is started with a fixed key,
    a secret of our own stands in front.
    """
    if sys.flags.hash_randomization and os.environ.get("PYTHONHASHSEED", "random") == "random":
        return hash
    secret = secrets.token_urlsafe(24)
    return lambda text: hash(secret + text)


def result_text(result: Mapping[str, Any]) -> bytes | str:
    """A whole result as text; large numbers and lone surrogates are not JSON for everybody."""
    try:
        return orjson.dumps(result)
    except TypeError:
        return repr(result)


class Origin(NamedTuple):
    """A result that values came from."""

    tool: str
    at: float
    trusted: bool
    private: bool


class Seen(NamedTuple):
    """One appearance of a value."""

    origin: Origin
    is_field: bool
    names: tuple[int, ...]
    about: str


FlowEvent = tuple[float, str, str, int | None]
"""What the console shows of a conversation, without any value: when a result entered or a decision was made, the tool,
what was decided or how the result is trusted, and how much of a result was new."""


@lru_cache(32)  # Each can have a hundred thousand names, so only the newest conversations keep them.
def _hashed_names(user: UserWords, hashed: Hash) -> frozenset[int]:
    return frozenset(map(hashed, user.record_names()))


@dataclass(slots=True)
class Conversation:
    """The memory of one conversation; bounded in every part."""

    hash: Hash
    tenant: str = ""
    principal: str = ""
    name: str = ""
    used_at: float = 0.0
    user: UserWords = field(default_factory=UserWords)
    untrusted: Origin | None = None
    """The first result with untrusted content."""
    private: Origin | None = None
    """The first result with private data."""
    forgot: bool = False
    """Whether something was too much to remember."""
    is_full_known: bool = False
    """Whether the log and an audit entry say that it is full."""
    suspicious: bool = False
    """Whether a value or phrase of untrusted text is remembered."""
    values: dict[int, tuple[Seen, ...]] = field(default_factory=dict)
    disguised: dict[int, Seen] = field(default_factory=dict)
    """Values by the form in which they are recognised in disguise."""
    phrases: dict[int, Origin] = field(default_factory=dict)
    results: dict[int, None] = field(default_factory=dict)
    """The newest results, so that the same one is read once."""
    risky: set[int] = field(default_factory=set)
    """The values that appeared in untrusted text or in a sensitive field."""
    passed: set[int] = field(default_factory=set)
    """What calls have passed in: it proves nothing when it comes back in a result."""
    vouched: set[int] = field(default_factory=set)
    """What people have said yes to: tool, argument and value."""
    events: deque[FlowEvent] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))

    def __len__(self) -> int:
        return len(self.values) + len(self.disguised) + len(self.phrases) + len(self.passed) + len(self.user.words)

    def as_json(self) -> dict[str, Any]:
        """What can be shown of it: no value and no word of the user."""
        return {
            "principal": self.principal,
            "name": self.name,
            "used_at": self.used_at,
            "remembered": len(self),
            "forgot": self.forgot,
            "full": self.is_full,
            "user_text": bool(self.user),
            "untrusted": self.untrusted.tool if self.untrusted else None,
            "private": self.private.tool if self.private else None,
            "events": [_event_as_json(*event) for event in reversed(self.events)],
        }

    @property
    def is_full(self) -> bool:
        """Whether no further value is remembered: none of a result, or none that a call passes in."""
        return len(self.values) + len(self.phrases) >= MOST_REMEMBERED or len(self.passed) >= MOST_REMEMBERED

    @property
    def is_over(self) -> bool:
        """Whether it is full, and has said that it forgets: results are then no longer read."""
        return self.forgot and len(self.values) + len(self.phrases) >= MOST_REMEMBERED

    @property
    def is_harmless(self) -> bool:
        """Whether nothing that was read could make a call suspicious: it takes the user's words, untrusted text or
        private data.
        """
        return not (self.user.words or self.suspicious or self.forgot or self.untrusted or self.private)

    def look_at(self, arguments: Mapping[str, Any], readings: Readings) -> tuple[bool, list[int]]:
        """Whether a value of a call, or something that was not read, can be suspicious in itself, and its hashes.

        Without the user's words no other value is suspicious (ADR 0184).
        """
        texts, numbers, is_all = leaves_of(arguments)
        passing = [number for number in numbers if len(number) > 5]  # Equal short numbers mean many things.
        is_cut, exact = not is_all, numbers
        other: list[str] = []
        links: list[str] = []
        for text in texts:
            reading = readings[text] = Reading(text)
            _, form, bare = reading.value
            exact.append(form)
            if bare != form:
                other.append(bare)
            if len(text) <= MOST_FIELD:
                passing.append(form)
            is_cut = is_cut or reading.is_cut
            for kind, form, bare in reading.all_values:
                exact.append(form)
                if bare != form:
                    other.append(bare)
                if kind != "amount":
                    passing.append(form)
                    if kind == "link":
                        links.append(form)
        return is_cut or self._may_know(exact, other, texts, links), list(map(self.hash, passing))

    def pass_in(self, keys: list[int]) -> None:
        """Remember the values that a call passes to its tool, so that a result cannot make them trusted."""
        self.passed.update(keys[: max(0, MOST_REMEMBERED - len(self.passed))])

    def _may_know(self, exact: list[str], squeezed: list[str], texts: list[str], links: list[str]) -> bool:
        """Whether a value that is suspicious can be found by one of these forms, by a host or by an amount."""
        if not self.values or self.is_harmless:
            return False
        hashed, risky = self.hash, self.risky
        disguised, values = self.disguised.keys(), self.values.keys()
        keys = list(map(hashed, exact))
        if not (risky.isdisjoint(keys) and disguised.isdisjoint(keys)):
            return True
        keys = list(map(hashed, squeezed))
        if keys and not (values.isdisjoint(keys) and disguised.isdisjoint(keys)):
            return True
        if not risky:
            return False
        for link in links:
            host = host_of(link)
            while "." in host:
                if hashed(host) in risky:
                    return True
                host = host.partition(".")[2]
        return not risky.isdisjoint(map(hashed, map(amount_of, texts)))

    def remember(
        self,
        origin: Origin,
        result: Mapping[str, Any],
        trusts_text: bool = True,
        readings: Readings | None = None,
        whole: bytes | str | None = None,
    ) -> str:
        """Remember the values of a result; returns how it is trusted, or nothing if it was read before.

        `readings` has the texts of its call that were read already, and `whole` is the result as text. Without
        `trusts_text` its running text is untrusted whatever the labels say, because instructions need words.
        """
        if len(self.passed) >= MOST_REMEMBERED:  # Any value of it could be one that was passed in.
            origin = origin._replace(trusted=False)
        text_origin = (
            origin if trusts_text or not origin.trusted else Origin(origin.tool, origin.at, False, origin.private)
        )
        if not origin.trusted and self.untrusted is None:
            self.untrusted = origin
        if origin.private and self.private is None:
            self.private = origin
        if (digest := hash(result_text(result) if whole is None else whole)) in self.results:
            return ""
        self._mark_as_read(digest)
        trust = "trusted" if origin.trusted else "untrusted"
        if not self.is_over:
            found = ResultValues(result, readings)
            self.forgot = self.forgot or found.is_cut
            self._add_sightings(found.sightings, origin, text_origin)
            if not text_origin.trusted and any(one.words for one in found.prose):
                self.untrusted = self.untrusted or text_origin
                trust = "trusted fields, untrusted text" if origin.trusted else trust
                for one in found.prose:
                    self._add_phrases(one.words, text_origin)
        return f"{trust}, private" if origin.private else trust

    def _mark_as_read(self, digest: int) -> None:
        self.results[digest] = None
        if len(self.results) > MOST_RESULTS:
            del self.results[next(iter(self.results))]

    def draft(self) -> Conversation:
        """An empty memory for one result that is read in a thread, while other calls use this one; see `merge`."""
        return Conversation(self.hash, passed=self.passed)

    def merge(self, draft: Conversation) -> None:
        """Remember what a draft remembers, within the bound."""
        self.untrusted, self.private = self.untrusted or draft.untrusted, self.private or draft.private
        self.suspicious, self.forgot = self.suspicious or draft.suspicious, self.forgot or draft.forgot
        for digest in draft.results:
            self.results.pop(digest, None)
            self._mark_as_read(digest)
        room = MOST_REMEMBERED - len(self.values) - len(self.phrases)
        for key, found in draft.values.items():
            known = self.values.get(key)
            if known is not None:
                new = [one for one in found if one not in known]
                self.values[key] = (*known, *new)[:MOST_SIGHTINGS]
            elif room > 0:
                self.values[key] = found
                room -= 1
            else:
                self.forgot = True
                break
        for phrase, origin in draft.phrases.items():
            if phrase not in self.phrases:
                if room <= 0:
                    self.forgot = True
                    break
                self.phrases[phrase] = origin
                room -= 1
        self.risky |= draft.risky
        self.disguised = draft.disguised | self.disguised

    def _add_sightings(self, sightings: list[Sighting], origin: Origin, text_origin: Origin) -> None:
        values, passed, hashed = self.values, self.passed, self.hash
        room = MOST_REMEMBERED - len(values) - len(self.phrases)
        trusts_text, last_field, last_names, last_about = text_origin.trusted, None, None, None
        for exact, squeezed, is_field, names, about in sightings:
            key = hashed(exact)
            if key in passed and (is_field or trusts_text):
                continue
            if is_field is not last_field or names is not last_names or about is not last_about:
                last_field, last_names, last_about = is_field, names, about
                source = origin if is_field else text_origin
                seen = Seen(source, is_field, tuple(map(hashed, names)) if names else (), about)
                only = (seen,)
                is_risky = bool(about) or not (is_field or text_origin.trusted)
                self.suspicious = self.suspicious or not source.trusted
            known = values.get(key)
            if known is None:
                if room <= 0:
                    self.forgot = True
                    return
                room -= 1
                values[key] = only
                if is_risky:
                    self.risky.add(key)
            elif len(known) < MOST_SIGHTINGS and seen not in known:
                values[key] = (*known, seen)
                if is_risky:
                    self.risky.add(key)
            if squeezed != exact:
                self.disguised.setdefault(hashed(squeezed), seen)

    def _add_phrases(self, parts: list[str], origin: Origin) -> None:
        room = MOST_REMEMBERED - len(self.values) - len(self.phrases)
        self.suspicious = True
        found = dict.fromkeys(map(hash, phrases_of(parts)), origin)
        if len(found) <= room and self.phrases.keys().isdisjoint(found):
            self.phrases.update(found)
            return
        for key in found:
            if key not in self.phrases:
                if room <= 0:
                    self.forgot = True
                    return
                self.phrases[key] = origin
                room -= 1

    def note(self, at: float, tool: str, text: str, new: int | None = None) -> None:
        """Keep a decision, or a result with how much of it was new, for the console."""
        self.events.append((at, tool, text, new))

    def sightings(self, exact: str) -> tuple[Seen, ...]:
        """Where exactly this value appeared."""
        return self.values.get(self.hash(exact), ())

    def disguise(self, squeezed: str) -> Seen | None:
        """Where a value with the same letters and digits appeared first."""
        key = self.hash(squeezed)
        same = self.values.get(key)
        return self.disguised.get(key) if same is None else same[0]

    def phrase(self, phrase: tuple[str, ...]) -> Origin | None:
        """The untrusted result in whose running text these words appeared first."""
        return self.phrases.get(hash(phrase))

    def is_named(self, seen: Seen) -> bool:
        """Whether the user's words name the record in which a value appeared."""
        return bool(seen.names) and not _hashed_names(self.user, self.hash).isdisjoint(seen.names)

    def vouch(self, tool: str, place: str, value: str) -> None:
        """Remember that a person said yes to this value in this argument of this tool."""
        if len(self.vouched) < MOST_REMEMBERED:
            self.vouched.add(self.hash(f"{tool}\0{place}\0{value}"))

    def is_vouched(self, tool: str, place: str, value: str) -> bool:
        return bool(self.vouched) and self.hash(f"{tool}\0{place}\0{value}") in self.vouched


def _event_as_json(at: float, tool: str, text: str, new: int | None) -> dict[str, Any]:
    """One event for the console."""
    kind, more = ("decision", "") if new is None else ("result", f"; new values and phrases: {new}")
    return {"at": at, "kind": kind, "tool": tool, "text": text + more}


def leaves_of(arguments: Mapping[str, Any]) -> tuple[list[str], list[str], bool]:
    """The texts that a call passes to its tool, its numbers as text, and whether these are all.

    A name that is no identifier was chosen by the caller, so it is a text too.
    """
    texts: list[str] = []
    numbers: list[str] = []
    waiting: list[Any] = [arguments]
    left = MOST_LEAVES - 1
    for node in waiting:
        items = node
        if type(node) is dict or isinstance(node, Mapping):
            items = node.values()
            if not all(map(str.isidentifier, node)):
                texts += [name for name in islice(node, max(0, left)) if not name.isidentifier()]
        if len(items) > left:
            items = islice(items, max(0, left))
        left -= len(node)
        for item in items:
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind is int or kind is float:
                numbers.append(str(item) if kind is int and item >= 0 else number_of(item))
            elif kind is dict or kind is list or kind is tuple:
                waiting.append(item)
            elif item is None or kind is bool:
                continue
            elif isinstance(item, Mapping):
                waiting.append(item)
            else:
                numbers.append(number_of(item))
    size = sum(map(len, texts))
    is_all = left >= 0 and size <= MOST_IN_RESULT
    while size > MOST_IN_RESULT:
        size -= len(texts.pop())
    return texts, numbers, is_all

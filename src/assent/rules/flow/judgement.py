"""Judges where the values of a call come from.

A value is the user's if they wrote it. A value of a record that they named is as good. What a tool acts on must be one
of both. Recipients may also come from trusted results, and people and channels from any field of a result. What
untrusted text brought in, and what appears from nowhere, is asked about.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import Literal, NamedTuple

from assent.core.call import Call
from assent.rules.flow.actions import asks_for
from assent.rules.flow.conversation import MOST_LEAVES, Conversation, Origin, Seen
from assent.rules.flow.result_values import MOST_IN_RESULT, phrases_of
from assent.rules.flow.roles import Matter, Role, matters
from assent.rules.flow.user_words import stem
from assent.rules.flow.values import EXTERNAL, MOST_TEXT, Readings, Value, amount_of, host_of, number_of, word_set

Source = Literal["user", "vouched", "named", "trusted", "field", "untrusted", "unknown"]
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VERBS = frozenset(
    map(
        stem,
        [
            "get",
            "list",
            "search",
            "find",
            "read",
            "create",
            "update",
            "delete",
            "add",
            "remove",
            "set",
            "new",
            "fetch",
            "all",
            "recent",
        ],
    )
)
_SHORT_WORDS = word_set("a an the of at in on for to and or with by from my your our re fwd is are")


MOST_CONCERNS = 10
"""How many concerns a person is shown."""


class Concern(NamedTuple):
    """One value that a person should look at: its role, its place, where it comes from, and the sentence."""

    role: Role | Literal["action"]
    place: str
    source: Source
    sentence: str
    value: str = ""


class Judgement(NamedTuple):
    """The concerns about one call, and the sources of its values by place, which the record may show."""

    concerns: tuple[Concern, ...]
    sources: dict[str, Source]


def judge(call: Call, seen: Conversation, readings: Readings, *, is_sink: bool, destroys: bool) -> Judgement:
    """Judge a call by the conversation so far. `is_sink` says whether others can read what it sends."""
    judging = _Judging(call, seen, readings, is_sink)
    if call.tool.is_read:
        judging.judge_read()
    else:
        judging.judge_effect(destroys)
    return Judgement(tuple(judging.concerns[:MOST_CONCERNS]), judging.sources)


def value_of(given: object, readings: Readings) -> Value:
    """The value that an argument is, as a whole."""
    if isinstance(given, str):
        return readings[given].value
    number = number_of(given)
    return Value("number", number, number)


class _Judging:
    """One judgement in progress."""

    def __init__(self, call: Call, seen: Conversation, readings: Readings, is_sink: bool) -> None:
        self._call, self._seen, self._user, self._is_sink = call, seen, seen.user, is_sink
        self._readings = readings
        self.concerns: list[Concern] = []
        self.sources: dict[str, Source] = {}

    def judge_read(self) -> None:
        """A read sends out what is in its links, and in free queries to open systems."""
        for matter in matters(self._call.tool, self._call.arguments, MOST_LEAVES):
            if matter.role == "url" or (isinstance(matter.value, str) and "://" in matter.value[:12]):
                self._judge_link(matter)
            elif self._is_sink and isinstance(matter.value, str):
                self._judge_secrets(matter, self._readings[matter.value].all_values)

    def judge_effect(self, destroys: bool) -> None:
        found = matters(self._call.tool, self._call.arguments, MOST_LEAVES + 1)
        if len(found) > MOST_LEAVES:
            sentence = f"It has more than {MOST_LEAVES} values, which is more than can be checked"
            self.concerns.append(Concern("action", "", "unknown", sentence, self._call.fingerprint))
            return
        for matter in found:
            if matter.role in ("recipients", "target", "url"):
                self._judge_target(matter, destroys)
            elif matter.role == "amount":
                self._judge_amount(matter)
        led = {"user", "named", "vouched"} & set(self.sources.values())
        goes_out = self._is_sink or any(one.role in ("recipients", "url") for one in found)
        titles = (one.value for one in found if one.role == "title" and isinstance(one.value, str))
        if (goes_out or any(len(one) > MOST_TEXT for one in titles)) and self._is_too_long(found):
            return
        for matter in found:
            if matter.role in ("title", "content") and isinstance(matter.value, str):
                if matter.role == "title":
                    self._judge_title(matter, alone=not led)
                if goes_out:
                    values = self._readings[matter.value].all_values
                    self._judge_links_in(matter, values)
                    self._judge_secrets(matter, values)
        if not led and not self.concerns:
            self._judge_action(found)

    def _is_too_long(self, found: list[Matter]) -> bool:
        """Whether a text is longer than what is read of it: the rest could contain anything."""
        lengths = [(len(one.value), one) for one in found if isinstance(one.value, str) and one.role != "other"]
        longest, before = max(lengths, default=None, key=lambda pair: pair[0]), self._seen.untrusted
        if (
            longest is None
            or before is None
            or (longest[0] <= MOST_TEXT and sum(size for size, _ in lengths) <= MOST_IN_RESULT)
        ):
            return False
        if not self._is_vouched(longest[1], self._call.fingerprint):
            sentence = f"This text is too long to be checked, and {_told(before)} was read before"
            self.concerns.append(
                Concern(longest[1].role, longest[1].place, "unknown", sentence, self._call.fingerprint)
            )
        return True

    def _judge_target(self, matter: Matter, destroys: bool) -> None:
        value = value_of(matter.value, self._readings)
        source, at = self._source(value, matter)
        if source == "unknown" and value.kind == "text" and isinstance(matter.value, str):
            value, source, at = self._worst_inside(matter, value)
        self.sources[matter.place] = source
        if source in ("user", "vouched", "named"):
            return
        known = source == "trusted" or (source == "field" and value.kind not in EXTERNAL)
        if known and matter.role == "recipients" and not destroys:
            return
        full = source == "unknown" and self._seen.forgot and value.kind in EXTERNAL
        if not self._user and source in ("trusted", "field", "unknown") and not full:
            return  # Without the user's words only values of untrusted text are suspicious, and what may be forgotten.
        self._add(matter, source, at, value)

    def _worst_inside(self, matter: Matter, whole: Value) -> tuple[Value, Source, Origin | None]:
        """A value of untrusted text inside an argument, as in `Ann <ann@x.example>` or a list in one text."""
        for value in self._readings[str(matter.value)].all_values:
            source, at = self._source(value, matter)
            if source == "untrusted" and value.kind in EXTERNAL:
                return value, source, at
        return whole, "unknown", None

    def _judge_link(self, matter: Matter) -> None:
        """A link that is opened: also good is one that stands in a record that the user named."""
        value = value_of(matter.value, self._readings)
        source, at = self._source(value, matter)
        self.sources[matter.place] = source
        if source in ("user", "vouched", "named", "trusted") or self._stands_in_named(value):
            return
        if not self._user and source in ("field", "unknown"):
            return
        if self._seen.untrusted is not None:
            self._add(matter, source, at, value)

    def _stands_in_named(self, value: Value) -> bool:
        return any(self._seen.is_named(one) for one in self._seen.sightings(value.exact))

    def _judge_amount(self, matter: Matter) -> None:
        """An amount may be computed; one that only untrusted text states is asked about."""
        number = amount_of(str(matter.value))
        if self._user.give_number(number) or self._is_vouched(matter, number):
            self.sources[matter.place] = "user"
            return
        known = self._seen.sightings(number)
        if not known or any(one.is_field or one.origin.trusted for one in known):
            self.sources[matter.place] = "field" if known else "unknown"
            return
        self.sources[matter.place] = "untrusted"
        self._add(matter, "untrusted", known[0].origin, Value("amount", number, number))

    def _judge_title(self, matter: Matter, *, alone: bool) -> None:
        """What is made must be what the user asked for.

        If nothing else of the call is, each word of its title must come from the user or from fields of results.
        """
        parts = self._readings[str(matter.value)].words
        if self._is_vouched(matter, "".join(parts)):
            return
        for phrase in phrases_of(parts):
            at = self._seen.phrase(phrase)
            if at is not None and not self._user.name("".join(phrase)):
                self._add(matter, "untrusted", at, Value("text", "".join(parts), ""))
                return
        if alone and self._user and self._seen.untrusted is not None and not self._is_composed(parts):
            self._add(matter, "unknown", None, Value("text", "".join(parts), ""))
        elif alone and parts:
            self.sources[matter.place] = "user"

    def _is_composed(self, parts: list[str]) -> bool:
        """Whether a title is made of the user's words and of names in fields of results."""
        start = 0
        while start < len(parts):
            if parts[start] in _SHORT_WORDS or self._user.contain_form(parts[start]) or parts[start].isdigit():
                start += 1
                continue
            for size in range(min(6, len(parts) - start), 0, -1):
                known = self._seen.sightings("".join(parts[start : start + size]))
                if any(one.is_field for one in known):
                    start += size
                    break
            else:
                return False
        return True

    def _judge_links_in(self, matter: Matter, values: list[Value]) -> None:
        """Links and account numbers that a message carries lead its reader somewhere."""
        if self._seen.untrusted is None:
            return
        for value in values:
            if value.kind not in ("link", "account", "phone"):
                continue
            source, at = self._source(value, matter)
            if source == "untrusted" or (source in ("unknown", "field") and self._user and value.kind == "link"):
                self._add(matter, source, at, value)
                return

    def _judge_secrets(self, matter: Matter, values: list[Value]) -> None:
        """Sensitive fields of private results, such as a passport number, leave only if the user names them."""
        for value in values:
            at = self._sensitive(value)
            if at is None or self._user.contain_any(at.about.split()) or self._is_vouched(matter, value.exact):
                continue
            if not self._user.give(value.kind, value.exact):
                sentence = f"The {at.about} from {_told(at.origin)} is in it, and the request does not speak of it"
                self.concerns.append(Concern("content", matter.place, "trusted", sentence, value.exact))
                return

    def _sensitive(self, value: Value) -> Seen | None:
        known = [*self._seen.sightings(value.exact)]
        if (hidden := self._seen.disguise(value.squeezed)) is not None:
            known.append(hidden)
        return next((one for one in known if one.about and one.origin.private), None)

    def _judge_action(self, found: list[Matter]) -> None:
        """An action for which the user's words do not ask, after untrusted content was read."""
        if not self._user or self._seen.untrusted is None or asks_for(self._user, self._call.tool):
            return
        if self._is_vouched(Matter("other", "", "", ""), "action"):
            return
        sentence = f"The request does not ask for this action, and {_told(self._seen.untrusted)} was read before"
        self.concerns.append(Concern("action", "", "unknown", sentence, "action"))

    def _source(self, value: Value, matter: Matter) -> tuple[Source, Origin | None]:
        """Where a value comes from: the best of its appearances, and the result to mention."""
        if self._is_users(value):
            return "user", None
        if self._is_vouched(matter, value.exact):
            return "vouched", None
        known = self._seen.sightings(value.exact)
        if value.kind == "number" and len(value.exact) < 6:
            known = tuple(one for one in known if _is_about(one.origin, self._call, matter))
        for one in known:
            if one.is_field and self._seen.is_named(one):
                return "named", one.origin
        for one in known:
            if one.origin.trusted:
                return "trusted", one.origin
        for one in known:
            if one.is_field and (value.kind not in EXTERNAL or not self._in_text(known)):
                return "field", one.origin
        if known:
            return "untrusted", known[0].origin
        hidden = self._seen.disguise(value.squeezed) if len(value.squeezed) > 5 else None
        if hidden is not None and not hidden.origin.trusted:
            return "untrusted", hidden.origin
        host = self._host_in_text(value) if value.kind == "link" else None
        return ("unknown", None) if host is None else ("untrusted", host)

    def _host_in_text(self, link: Value) -> Origin | None:
        """The result in whose untrusted text alone the host of a link appeared: the rest of it may carry data out."""
        host = host_of(link.exact)
        while "." in host:
            known = self._seen.sightings(host)
            if known:
                good = any(one.is_field or one.origin.trusted for one in known)
                return None if good or self._user.give("link", host) else known[0].origin
            host = host.partition(".")[2]
        return None

    def _in_text(self, known: tuple[Seen, ...]) -> bool:
        return any(not one.is_field for one in known)

    def _is_users(self, value: Value) -> bool:
        if value.kind in ("text", "file", "id"):
            return self._user.name(value.squeezed)
        if value.kind == "number":  # A short number is an id only if the user calls it one.
            return self._user.name_id(value.exact) or (len(value.exact) > 3 and self._user.give_number(value.exact))
        if value.kind == "link":
            return self._user.give("link", value.exact) or self._user.give("link", host_of(value.exact))
        return self._user.give(value.kind, value.exact)

    def _is_vouched(self, matter: Matter, value: str) -> bool:
        return self._seen.is_vouched(self._call.tool.name, matter.role, value)

    def _add(self, matter: Matter, source: Source, at: Origin | None, value: Value) -> None:
        what = _WHAT.get(value.kind, "value") if matter.role != "title" else "title"
        if at is not None and source in ("untrusted", "field", "trusted"):
            where = "the text of " if source == "untrusted" else ""
            is_new = value.kind == "link" and not self._seen.sightings(value.exact)
            subject = "The host of this link" if is_new else f"This {what}"
            sentence = f"{subject} appeared in {where}{_told(at)}, not in the request"
        elif self._user:
            sentence = f"This {what} is neither in the request nor in a result that was read"
        else:
            sentence = f"This {what} is not in a result that was read"
        self.concerns.append(Concern(matter.role, matter.place, source, sentence, value.exact))


_WHAT = {
    "address": "address",
    "link": "link",
    "account": "account number",
    "phone": "phone number",
    "file": "file name",
    "amount": "amount",
    "number": "number",
    "id": "id",
    "text": "name",
}


def _is_about(origin: Origin, call: Call, matter: Matter) -> bool:
    """Whether a result is about the same kind of thing as an argument: short numbers are ids of many things."""
    return not _nouns(origin.tool).isdisjoint(_nouns(f"{matter.name} {call.tool.name}"))


@lru_cache(4096)
def _nouns(name: str) -> frozenset[str]:
    return frozenset(stem(part.lower()) for part in _PARTS.findall(name) if len(part) > 2) - _VERBS


def _told(origin: Origin) -> str:
    """A result as a person reads it."""
    return f"the result of {origin.tool} at {time.strftime('%H:%M', time.gmtime(origin.at))} UTC"

"""Judges whether the user asked for an action, and where the values of its call come from.

A value is the user's if they wrote it. A value of a record that they named is as good, except for payments and for
access. What a tool acts on may also come from trusted results, and people and channels from any field of a result.
What untrusted text brought in, and what appears from nowhere, is asked about. See ADR 0130.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import Literal, NamedTuple

from assent.contract.tiers import Tier
from assent.core.call import Call
from assent.rules.flow.actions import grants, kinds_of, right_in, spends
from assent.rules.flow.conversation import MOST_LEAVES, Conversation, Origin, Seen
from assent.rules.flow.result_values import MOST_IN_RESULT, phrases_of
from assent.rules.flow.roles import Matter, Role, matters
from assent.rules.flow.user_words import stem
from assent.rules.flow.values import (
    EXTERNAL,
    MOST_TEXT,
    Readings,
    Value,
    amount_of,
    host_of,
    number_of,
    word_set,
    words,
)

Source = Literal["user", "named", "trusted", "field", "untrusted", "unknown"]
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VERBS = frozenset(
    map(stem, word_set("get list search find read create update delete add remove set new fetch all recent"))
)
_SHORT_WORDS = word_set("a an the of at in on for to and or with by from my your our re fwd is are")


PASTED = "pasted text"
"""Where values come from that the user pasted, such as a mail."""
MOST_CONCERNS = 10
"""How many concerns a person is shown."""


class Concern(NamedTuple):
    """One value that a person should look at: its role, its place, where it comes from, and the sentence."""

    role: Role | Literal["action"]
    place: str
    source: Source
    sentence: str


class Judgement(NamedTuple):
    """The concerns about one call, and the sources of its values by place, which the record may show."""

    concerns: tuple[Concern, ...]
    sources: dict[str, Source]


def judge(call: Call, seen: Conversation, readings: Readings, *, is_sink: bool) -> Judgement:
    """Judge a call by the conversation so far. `is_sink` says whether others can read what it sends."""
    judging = _Judging(call, seen, readings, is_sink)
    if call.tool.is_read:
        judging.judge_read()
    else:
        judging.judge_effect()
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
        self._spends = not call.tool.is_read and spends(call.tool)
        self._grants = not call.tool.is_read and grants(call.tool)
        self.concerns: list[Concern] = []
        self.sources: dict[str, Source] = {}

    def judge_read(self) -> None:
        """A read sends out what is in its links, and in free queries to open systems."""
        leaves = self._is_sink or self._call.tool.contract.open_world
        for matter in matters(self._call.tool, self._call.arguments, MOST_LEAVES):
            if matter.role == "url" or (isinstance(matter.value, str) and "://" in matter.value[:12]):
                self._judge_link(matter)
            elif leaves and isinstance(matter.value, str):
                self._judge_secrets(matter, self._readings[matter.value].all_values)

    def judge_effect(self) -> None:
        found = matters(self._call.tool, self._call.arguments, MOST_LEAVES + 1)
        if len(found) > MOST_LEAVES:
            sentence = f"It has more than {MOST_LEAVES} values, which is more than can be checked"
            self.concerns.append(Concern("action", "", "unknown", sentence))
            return
        asked = self._user.requests.ask_for(self._call.tool) if self._user else False
        for matter in found:
            if matter.role in ("recipients", "target", "url"):
                self._judge_target(matter, asked=asked)
            elif matter.role == "amount":
                self._judge_amount(matter)
            elif matter.role == "rights":
                self._judge_rights(matter)
        self._judge_texts(found)
        if self._user and not asked and self._seen.untrusted is not None:
            origin = _origin_text(self._seen.untrusted)
            sentence = f"The request does not ask for this action, and {origin} was read before"
            self.concerns[MOST_CONCERNS - 1 :] = [Concern("action", "", "unknown", sentence)]

    def _judge_texts(self, found: list[Matter]) -> None:
        led = {"user", "named"} & set(self.sources.values())
        goes_out = self._goes_out(found)
        titles = (one.value for one in found if one.role == "title" and isinstance(one.value, str))
        if (goes_out or any(len(one) > MOST_TEXT for one in titles)) and self._is_too_long(found):
            return
        for matter in found:
            if matter.role in ("title", "content") and isinstance(matter.value, str):
                if matter.role == "title":
                    self._judge_title(matter, alone=not led)
                values = self._readings[matter.value].all_values
                self._judge_links_in(matter, values, goes_out=goes_out)
                if goes_out:
                    self._judge_secrets(matter, values)

    def _goes_out(self, found: list[Matter]) -> bool:
        """Whether others can read what the call sends."""
        speaks = not kinds_of(self._call.tool)[0].isdisjoint(("tell", "reply", "comment", "forward"))
        return self._is_sink or speaks or any(one.role in ("recipients", "url") for one in found)

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
        sentence = f"This text is too long to be checked, and {_origin_text(before)} was read before"
        self.concerns.append(Concern(longest[1].role, longest[1].place, "unknown", sentence))
        return True

    def _judge_target(self, matter: Matter, *, asked: bool) -> None:
        value = value_of(matter.value, self._readings)
        source, at = self._source(value, matter)
        if source == "unknown" and value.kind == "text" and isinstance(matter.value, str):
            value, source, at = self._worst_inside(matter, value)
        if source == "named" and at is not None and not at.trusted and self._is_outsiders(value, matter):
            source = "field"
        self.sources[matter.place] = source
        if source in ("user", "named") or self._is_known(source, value, matter, asked):
            return
        full = source == "unknown" and self._seen.forgot and value.kind in EXTERNAL
        if not self._user and source in ("trusted", "field", "unknown") and not full:
            return  # Without the user's words only values of untrusted text are suspicious, and what may be forgotten.
        self._add(matter, source, at, value)

    def _is_known(self, source: Source, value: Value, matter: Matter, asked: bool) -> bool:
        """Whether a value that is neither the user's nor of a record that they named is good enough."""
        if self._grants and matter.role == "recipients":
            return False  # Access is for those whom the user names.
        if source == "trusted":
            return matter.role == "recipients" or (asked and matter.role == "target")
        is_safe = not self._spends and self._call.tool.contract.side_effect is not Tier.DESTRUCTIVE
        return source == "field" and value.kind not in EXTERNAL and matter.role == "recipients" and is_safe

    def _is_outsiders(self, value: Value, matter: Matter) -> bool:
        """Whether a record can be an outsider's who uses a name that the user knows.

        This matters for payments and access. An address in the field of its own author is good for an answer only.
        """
        if matter.role != "recipients" or value.kind not in EXTERNAL:
            return False
        if self._spends or self._grants:
            return True
        own = self._seen.hash(value.squeezed)
        wrote = any(one.is_field and own in one.names for one in self._seen.sightings(value.exact))
        return wrote and "reply" not in self._user.requests.kinds

    def _judge_rights(self, matter: Matter) -> None:
        """A right beyond reading is for the user to give."""
        if not self._user or self._seen.untrusted is None:
            return
        asked = self._user.requests.kinds
        parts = words(str(matter.value)) or [str(matter.value)]
        for part in parts:
            right = right_in(part)
            if right == "little" or f"rights.{right}" in asked or self._user.contain_form(part):
                continue
            if right is not None or not self._call.tool.is_read:
                origin = _origin_text(self._seen.untrusted)
                sentence = f"The request does not speak of this right, and {origin} was read before"
                self.concerns.append(Concern("rights", matter.place, "unknown", sentence))
                return

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
        if source in ("user", "named", "trusted") or self._stands_in_named(value):
            return
        if not self._user and source in ("field", "unknown"):
            return
        if self._seen.untrusted is not None:
            self._add(matter, source, at, value)

    def _stands_in_named(self, value: Value) -> bool:
        return any(self._seen.is_named(one) for one in self._seen.sightings(value.exact))

    def _judge_amount(self, matter: Matter) -> None:
        """An amount that only untrusted text states is asked about, and so is a payment whose amount was computed."""
        number = amount_of(str(matter.value))
        if self._user.give_number(number):
            self.sources[matter.place] = "user"
            return
        known = self._seen.sightings(number)
        good = any(one.is_field or one.origin.trusted for one in known)
        computed = not known and not (self._spends and self._user and self._seen.untrusted is not None)
        self.sources[matter.place] = "field" if good else "untrusted" if known else "unknown"
        if not good and not computed:
            source: Source = "untrusted" if known else "unknown"
            self._add(matter, source, known[0].origin if known else None, Value("amount", number, number))

    def _judge_title(self, matter: Matter, *, alone: bool) -> None:
        """What is made must be what the user asked for.

        If nothing else of the call is, each word of its title must come from the user or from fields of results.
        """
        parts = self._readings[str(matter.value)].words
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

    def _judge_links_in(self, matter: Matter, values: list[Value], *, goes_out: bool) -> None:
        """Links, addresses and account numbers that a text carries lead its reader somewhere."""
        if self._seen.untrusted is None:
            return
        for value in values:
            if value.kind not in EXTERNAL:
                continue
            source, at = self._source(value, matter)
            is_new = goes_out and self._user and value.kind == "link" and source in ("unknown", "field")
            if is_new or source == "untrusted":
                self._add(matter, source, at, value)
                return

    def _judge_secrets(self, matter: Matter, values: list[Value]) -> None:
        """Sensitive fields of private results, such as a passport number, leave only if the user names them."""
        for value in values:
            at = self._sensitive(value)
            if at is None or self._user.contain_any(at.about.split()):
                continue
            if not self._user.give(value.kind, value.exact):
                sentence = (
                    f"The {at.about} from {_origin_text(at.origin)} is in it, and the request does not speak of it"
                )
                self.concerns.append(Concern("content", matter.place, "trusted", sentence))
                return

    def _sensitive(self, value: Value) -> Seen | None:
        known = [*self._seen.sightings(value.exact)]
        if (hidden := self._seen.disguise(value.squeezed)) is not None:
            known.append(hidden)
        return next((one for one in known if one.about and one.origin.private), None)

    def _source(self, value: Value, matter: Matter) -> tuple[Source, Origin | None]:
        """Where a value comes from: the best of its appearances, and the result to mention."""
        if self._is_users(value):
            return "user", None
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

    def _add(self, matter: Matter, source: Source, at: Origin | None, value: Value) -> None:
        what = _WHAT.get(value.kind, "value") if matter.role != "title" else "title"
        if at is not None and source in ("untrusted", "field", "trusted"):
            where = "the text of " if source == "untrusted" else ""
            is_new = value.kind == "link" and not self._seen.sightings(value.exact)
            subject = "The host of this link" if is_new else f"This {what}"
            sentence = f"{subject} appeared in {where}{_origin_text(at)}, not in the request"
        elif self._user:
            sentence = f"This {what} is neither in the request nor in a result that was read"
        else:
            sentence = f"This {what} is not in a result that was read"
        self.concerns.append(Concern(matter.role, matter.place, source, sentence))


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


def _origin_text(origin: Origin) -> str:
    """A result as a person reads it."""
    if origin.tool == PASTED:
        return "the text that the user pasted"
    return f"the result of {origin.tool} at {time.strftime('%H:%M', time.gmtime(origin.at))} UTC"

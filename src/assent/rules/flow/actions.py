"""Whether the user's words ask for the kind of action that a tool performs, and for the rights that it gives.

The words are in `verbs.toml`, in ten languages. A word of a tool's name is not a request by itself: `summarise my mail`
does not ask for a mail to be sent.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from assent.contract.tiers import Tier
from assent.core.tool import Tool
from assent.rules.flow.values import word_set, words

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CLAUSE = re.compile(
    r"[.,;:!?\n。、，；：！？()]+|\b(?:and|then|but|und|dann|et|puis|y|luego|e|poi|en|dan|i|potem)\b", re.I
)
_GRANTED = word_set(
    "collaborator collaborators permission permissions role roles owner ownership access visibility acl member members "
    "scope scopes key token invitation"
)
_MONEY = word_set("money payment payments payout payouts funds transaction transactions refund refunds")
_BY_TIER = {Tier.DESTRUCTIVE: "remove", Tier.EXTERNAL_SPEND: "pay", Tier.SHARE_EXPORT: "grant"}
_TO_SPEAKER = word_set("me us")
_SPOKEN = word_set("tell give write say ask let show report text message mail email")


class _Verbs(NamedTuple):
    """The table of `verbs.toml` as it is looked up."""

    tools: dict[str, frozenset[str]]
    """Verbs of tools, with the kinds of action that they perform."""
    plain: dict[str, frozenset[str]]
    """English verbs."""
    also: dict[str, frozenset[str]]
    """English verbs that are nouns too."""
    whole: dict[str, frozenset[str]]
    begins: dict[str, frozenset[str]]
    inside: dict[str, frozenset[str]]
    given: dict[str, frozenset[str]]
    """Words that give rights."""
    rights: dict[str, str]
    around: dict[str, frozenset[str]]


@lru_cache(1)
def _verbs() -> _Verbs:
    table = tomllib.loads(files("assent.rules.flow").joinpath("verbs.toml").read_text("utf-8"))
    around = {name: word_set(text) for name, text in table.pop("around").items()}
    given, made = table.pop("rights"), [dict[str, set[str]]() for _ in range(7)]
    rights = {word: kind for kind, row in given.items() for word in row["values"].split()}
    asked = [(f"rights.{kind}", "rights", row.get("words", "")) for kind, row in given.items()]
    asked += [(kind, column, text) for kind, row in table.items() for column, text in row.items()]
    for kind, column, text in asked:
        for word in text.split():
            made[_place(column, word)].setdefault(_plain(word), set()).add(kind)
    tools, plain, also, whole, begins, inside, words_of = (
        {word: frozenset(one) for word, one in two.items()} for two in made
    )
    return _Verbs(tools, plain, also, whole, begins, inside, words_of, rights, around)


def _place(column: str, word: str) -> int:
    if column in ("tools", "en", "en_also"):
        return ("tools", "en", "en_also").index(column)
    if not word.isascii():
        return 5 if ord(word[0]) > 0x2E80 else 3
    return 4 if word.endswith("-") else 6 if column == "rights" else 3


def _plain(word: str) -> str:
    return "".join(words(word))


class Requests:
    """The kinds of action and the rights that a text asks for."""

    __slots__ = ("_words", "kinds")

    def __init__(self, text: str) -> None:
        self.kinds: set[str] = set()
        self._words: set[str] = set()
        clauses, around = [words(clause) for clause in _CLAUSE.split(text)], _verbs().around
        said = [word for clause in clauses for word in clause]
        english = sum(word in around["english"] for word in said) > sum(word in around["foreign"] for word in said)
        for clause in clauses:
            self._read_clause(clause, english=english)

    def ask_for(self, tool: Tool) -> bool:
        """Whether they ask for what a tool does."""
        kinds, verb = kinds_of(tool)
        return not self.kinds.isdisjoint(kinds) or verb in self._words

    def _read_clause(self, parts: list[str], *, english: bool) -> None:
        table = _verbs()
        around, is_question = table.around, bool(parts) and parts[0] in table.around["questions"]
        for at, word in enumerate(parts):
            if _is_negated(parts, at, around):
                continue
            before = parts[at - 1] if at else ""
            starts = before in ("please", "you") if is_question else not at or before in around["before_verb"]
            to_speaker = word in _SPOKEN and at + 1 < len(parts) and parts[at + 1] in _TO_SPEAKER
            if not to_speaker and (starts or not is_question):
                if starts:
                    self._words.add(word)
                    self.kinds.update(table.also.get(word, ()))
                self.kinds.update(table.plain.get(word, ()))
            if before in ("be", "get"):  # `should be deleted`
                self.kinds.update(table.plain.get(_base(word, table), ()))
            self.kinds.update(table.given.get(word, ()))
            if starts and word in around["hand_over"] and "following" not in parts:
                self.kinds.update(around["handed_kinds"] if not around["handed_over"].isdisjoint(parts) else ())
            if not english and word.isascii():
                self.kinds.update(table.whole.get(word, ()))
                for size in range(2, len(word) + 1):
                    self.kinds.update(table.begins.get(word[:size], ()))
            if not word.isascii():
                self.kinds.update(_inside(word, table))


def _is_negated(parts: list[str], at: int, around: dict[str, frozenset[str]]) -> bool:
    near = parts[max(0, at - 3) : at] + [one for one in parts[at + 1 : at + 3] if one in ("nicht", "pas", "niet")]
    return not around["not"].isdisjoint(near) and around["but_do"].isdisjoint(near)


def _base(word: str, table: _Verbs) -> str:
    """The plain form of an English participle."""
    for size in (1, 2, 3):
        if word.endswith("ed") and word[:-size] in table.plain:
            return word[:-size]
    return ""


def _inside(word: str, table: _Verbs) -> Iterator[str]:
    """The kinds of action in a text without spaces between its words."""
    for verb, kinds in table.inside.items():
        at = word.find(verb)
        if at >= 0 and "ない" not in word[at + len(verb) :][:5] and word[:at][-1:] not in ("不", "别", "勿"):
            yield from kinds


def kinds_of(tool: Tool) -> tuple[frozenset[str], str]:
    """The kinds of action that a tool performs, and the first word of its name."""
    found: tuple[frozenset[str], str] | None = tool.derived.get("flow_kinds")
    if found is None:
        found = tool.derived["flow_kinds"] = _kinds_of(tool)
    return found


def _kinds_of(tool: Tool) -> tuple[frozenset[str], str]:
    table, parts = _verbs(), [part.lower() for part in _PARTS.findall(tool.wire_name or tool.name)]
    first = parts[0] if parts else ""
    verb = first if first in table.tools else next((part for part in parts if part in table.tools), "")
    kinds = table.tools.get(verb, frozenset[str]())
    tier = tool.contract.side_effect
    if grants(tool) and "remove" not in kinds:
        return frozenset({"grant"}), first
    if not _MONEY.isdisjoint(parts) or (tier is Tier.EXTERNAL_SPEND and not kinds & {"pay", "book"}):
        kinds = kinds - {"tell", "grant"} | {"pay"}
    if not kinds:
        kinds = frozenset({_BY_TIER[tier]}) if tier in _BY_TIER else frozenset({"make", "change", "run"})
    return kinds, first


def spends(tool: Tool) -> bool:
    """Whether a tool moves money."""
    return tool.contract.side_effect is Tier.EXTERNAL_SPEND or "pay" in kinds_of(tool)[0]


def grants(tool: Tool) -> bool:
    """Whether a tool gives somebody access."""
    found: bool | None = tool.derived.get("flow_grants")
    if found is None:
        parts = [part.lower() for part in _PARTS.findall(tool.wire_name or tool.name)]
        verbs = bool(parts) and parts[0] in ("share", "invite", "grant", "promote", "authorize", "authorise")
        found = (verbs or not _GRANTED.isdisjoint(parts)) and "event" not in parts and "calendar" not in parts
        tool.derived["flow_grants"] = found
    return found


def right_in(word: str) -> str | None:
    """What a word of a value allows: `little`, `edit`, `own` or `open`; None if it is not known."""
    return _verbs().rights.get(word)

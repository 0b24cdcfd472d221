"""What a result contains: values in fields of their own, values inside running text, and phrases."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import orjson

from assent.rules.flow.values import (
    EXTERNAL,
    LONGEST_VALUE,
    MOST_TEXT,
    Reading,
    Readings,
    number_of,
    squeezed,
    word_set,
    words,
)

PHRASE = 4
"""How many words a phrase has that is recognised."""
MOST_FIELD = 80
"""A text that is longer, or has more than one line, is running text and no field."""
MOST_FIELD_WORDS = 7
_NAMING = word_set(
    "name title subject filename file_name fullname full_name username user_name login label heading topic "
    "summary key slug sender from author owner_name user channel recipient repository repo project company hotel "
    "restaurant merchant payee email address_book contact path url website id_name number code symbol "
    "display_name"
)
_SENSITIVE = re.compile(
    r"passw|passphrase|passport|secret|token|api_?key|private_?key|credit|card|cvv|cvc|ssn|social_?sec|security_?code|pin$|"
    r"id_?n(?:o|umber)|bank|iban|account_?n(?:o|umber)|licen[cs]e|tax_?(?:id|number)|birth|salary|otp"
)
_NAMES = re.compile(  # It begins with the characters that a name begins with, because a search for them is fast.
    r"[\"'“‘«A-Z](?:(?<=[\"'“‘«])([^\"'”’»\n]{2,60})[\"'”’»]|"
    r"(?<=[A-Z])(?<![\w@./-].)[\w&'-]+(?: (?:of |the |de |la )?[A-Z][\w&'-]+){0,4})"
)
_LONG_NUMBER = re.compile(r"\d{5}")
_LIST = re.compile(r"[,;]\s*")
_ENTRY = re.compile(r"(?:[^@<>]{0,80}<)?[^\s@<>]+@[^\s@<>]+>?\s*")
"""An entry of a list of addresses. A text with other parts is running text, and so are the addresses in it."""
MOST_PARTS = 5_000
"""How many parts of one result are read."""
MOST_IN_RESULT = 262_144
"""How many characters of one result are read."""


Sighting = tuple[str, str, bool, tuple[str, ...], str]
"""One value of a result, and how it appeared there: its exact and its squeezed form, whether it is a field of its own
(otherwise it is inside running text), the words that name its record, and what a private field is about, such as
`passport number`; empty if it is not sensitive."""


class KeyFacts(NamedTuple):
    """What the name of a member says."""

    is_key: bool
    """Whether it is the name of a field; otherwise the caller chose it, so it is a value."""
    is_naming: bool
    about: str


class Shape(NamedTuple):
    """What the names of a record say together."""

    naming: tuple[str, ...]
    """The members that name the record."""
    abouts: tuple[str, ...]


_FACTS: dict[str, KeyFacts] = {}
_SHAPES: dict[tuple[str, ...], Shape] = {}
MOST_KEYS = 2_000
"""How many names of fields, and how many shapes of records, are kept with what they say."""
MOST_MEMBERS = 100
"""A record with more members has no shape that is kept."""
_READ_ALREADY = frozenset({"type", "text", "blob", "data", "mimeType", "uri", "name", "title", "resource"})


class ResultValues:
    """Everything in a result that can come back in a call, each text read once.

    Structured content counts; text beside it repeats it.
    """

    def __init__(self, result: Mapping[str, Any], readings: Readings | None = None) -> None:
        self.sightings: list[Sighting] = []
        self.prose: list[Reading] = []
        """Each running text."""
        self.is_cut = False
        """Whether something was too long to be read."""
        self.parts, self._characters = MOST_PARTS, MOST_IN_RESULT
        self._readings = Readings() if readings is None else readings
        self._structured = result.get("structuredContent")
        self._structured_words: frozenset[str] | None = None
        self._joined_words = ""
        if type(self._structured) is dict:
            self.parts -= 1
            self._walk_record(self._structured, ())
        elif self._structured is not None:
            self._walk((self._structured,), ("",), ())
        for block in result.get("content") or ():
            if self.parts < 0:
                break
            if isinstance(block, Mapping):
                self.read_block(block)
        if "_meta" in result:
            self.read_aside(result["_meta"])

    def read_block(self, block: Mapping[str, Any]) -> None:
        resource = block.get("resource")
        for part in [block, resource] if isinstance(resource, Mapping) else [block]:
            for text in (part.get("text"), _text_of_blob(part.get("blob"))):
                if isinstance(text, str) and text:
                    self._read_text(text)
            for key in ("uri", "name", "title"):
                if isinstance(part.get(key), str):
                    if self._afford(part[key]):
                        self._scalar(part[key], (), "")
                    else:
                        self.is_cut = True
            self.read_aside({key: item for key, item in part.items() if key not in _READ_ALREADY})

    def read_aside(self, node: Any) -> None:
        """What stands beside the content, such as descriptions and `_meta`: a client may show it to its model."""
        if isinstance(node, Mapping | list):
            for item in node.values() if isinstance(node, Mapping) else node:
                if not self._afford(item):
                    self.is_cut = True
                    return
                self.read_aside(item)
        elif isinstance(node, str):
            reading = self._readings[node[:MOST_TEXT]]
            self._add_values(reading, ())
            if len(reading.words) >= PHRASE:
                self.prose.append(reading)

    def _read_text(self, text: str) -> None:
        if len(text) <= MOST_IN_RESULT:
            if self._repeats_structured(text):  # Only values count that are not in the structured content.
                for one in self._readings[text[:MOST_TEXT]].values:
                    if one.squeezed not in self._joined_words:
                        self.sightings.append((one.exact, one.squeezed, False, (), ""))
                return
            if (document := _as_json(text)) is not None:
                self._walk((document,), ("",), ())
                return
        if self._afford(text):
            self._prose(text, ())
        else:
            self.is_cut = True

    def _repeats_structured(self, text: str) -> bool:
        """Whether a text has no word that is not in the structured content too."""
        if self._structured is None:
            return False
        if self._structured_words is None:
            written = words(_structured_text(self._structured))
            self._structured_words, self._joined_words = frozenset(written), "".join(written)
        return bool(self._structured_words) and self._structured_words.issuperset(words(text))

    def _walk(self, items: Collection[Any], abouts: Iterable[str], names: tuple[str, ...]) -> None:
        """Parts of a document, each with what it is about if it is sensitive."""
        numbers: list[str] = []
        self.parts -= len(items)
        if self.parts < 0:
            self.is_cut, items = True, list(items)[: self.parts]
        for item, about in zip(items, abouts, strict=False):
            kind = type(item)
            if kind is str:
                self._characters -= len(item) if len(item) < MOST_TEXT else MOST_TEXT
                if self._characters < 0:
                    self.is_cut = True
                    break
                self._scalar(item, names, about)
            elif kind is int or kind is float:
                numbers.append(str(item) if kind is int and item >= 0 else number_of(item))
            elif item is None or kind is bool:
                continue
            elif self.parts < 0:
                self.is_cut = True
            elif kind is dict or isinstance(item, Mapping):
                self._walk_record(item, names)
            elif kind is list or kind is tuple:
                self._walk(item, repeat(about), names)
            else:
                numbers.append(number_of(item))
        if numbers:
            self.sightings += [(number, number, True, names, "") for number in numbers]

    def _walk_record(self, node: Mapping[str, Any], names: tuple[str, ...]) -> None:
        """A record. The texts that name it are its title, sender, file name and the like."""
        shape = _SHAPES.get(members := tuple(node)) or _shape_of(members)
        own = names
        for name in shape.naming if shape is not None else members:
            item = node[name]
            if isinstance(item, str) and (shape is not None or _facts_of(name).is_naming):
                own = (*own, *self._name(item))
        if own is not names:
            own = (*own[len(names) :], *names)[:8]
        if shape is not None:
            self._walk(node.values(), shape.abouts, own)
            return
        for name, item in node.items():
            if self.parts < 0:
                return
            fact = _facts_of(name)
            if fact.is_key:
                self._walk((item,), (fact.about,), own)
            elif self._afford(name):  # A table by name, such as {"City Hub": ...}: it is a value and names its entry.
                self._scalar(name.replace("_", " "), own, "")
                self._walk((item,), (fact.about,), (*self._name(name), *own)[:8])
            else:
                self.is_cut = True

    def _name(self, text: str) -> tuple[str, ...]:
        """A name as its words; a file is also named without its ending. Numbers and very short words name nothing."""
        if len(text) > MOST_FIELD * 2:
            return ()
        whole = self._readings[text].squeezed
        if len(whole) < 3 or whole.isdigit():
            return ()
        stem = squeezed(text.rpartition(".")[0]) if "." in text[-6:] else ""
        return (whole, stem) if len(stem) > 3 else (whole,)

    def _afford(self, node: Any) -> bool:
        """Take one part and its characters from the budget; False if it is used up."""
        self.parts -= 1
        if isinstance(node, str):
            self._characters -= min(len(node), MOST_TEXT)
        return self.parts >= 0 and self._characters >= 0

    def _scalar(self, node: str, names: tuple[str, ...], about: str) -> None:
        if "@" in node and ("," in node or ";" in node) and len(node) <= LONGEST_VALUE:
            items = _LIST.split(node)
            if len(items) > 1 and all(map(_ENTRY.fullmatch, items)):
                for item in items:
                    self._field(item, names, about)
                return
        self._field(node, names, about)

    def _field(self, text: str, names: tuple[str, ...], about: str) -> None:
        """A text that is a field, unless it is running text."""
        if len(text) > LONGEST_VALUE or not _is_field(reading := self._readings[text]):
            self._prose(text, names)
            return
        found, (kind, exact, bare) = self.sightings, reading.value
        found.append((exact, bare, True, names, about))
        if reading.values and (about or kind == "text"):
            is_whole = about or "@" in text or "/" in text or "." in text
            for kind, exact, bare in reading.values:
                if is_whole or kind in EXTERNAL:
                    found.append((exact, bare, False, names, about))

    def _prose(self, text: str, names: tuple[str, ...]) -> None:
        if len(text) > MOST_TEXT:
            self.is_cut = True
            text = text[:MOST_TEXT]
        reading = self._readings[text]
        self._add_values(reading, names)
        for hidden in reading.hidden:
            self._add_values(hidden, names)
            self.prose.append(hidden)
        self.prose.append(reading)

    def _add_values(self, reading: Reading, names: tuple[str, ...]) -> None:
        found, self.is_cut = self.sightings, self.is_cut or reading.is_cut
        found += [(value.exact, value.squeezed, False, names, "") for value in reading.values]
        for name in _NAMES.finditer(reading.text):
            whole = squeezed(name[1] or name[0])
            if len(whole) > 2:
                found.append((whole, whole, False, names, ""))


def _topic_of(key: str) -> str:
    """What a sensitive field is about. A person reads it, so a name that is a sentence or a number is left out."""
    if len(key) < 3 or (found := _SENSITIVE.search(key.lower())) is None:
        return ""
    plain = len(key) <= 40 and key.isascii() and key.isidentifier() and _LONG_NUMBER.search(key) is None
    return (key if plain else found[0]).lower().replace("_", " ")


def _is_field(reading: Reading) -> bool:
    """Whether a text is a field with one value; otherwise it is running text."""
    text = reading.text
    if "\n" in text and "\n" in text.strip():
        return False
    if reading.whole is not None:
        return True
    if not reading.squeezed or len(text) > MOST_FIELD:
        return False
    has_few_gaps = len(text) - len(reading.squeezed) < MOST_FIELD_WORDS and text.isascii()
    return has_few_gaps or len(reading.words) <= MOST_FIELD_WORDS


def _text_of_blob(blob: Any) -> str | None:
    """The text that an embedded file is; None for other files."""
    if not isinstance(blob, str):
        return None
    head = blob[: MOST_TEXT // 3 * 4]
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(base64.b64decode(head))
    except ValueError:
        return None


def _structured_text(structured: Any) -> str:
    """Structured content as text, without the escapes that would become words."""
    return (
        orjson.dumps(structured)
        .replace(b"\\n", b" ")
        .replace(b"\\t", b" ")[: MOST_IN_RESULT * 2]
        .decode(errors="ignore")
    )


def _as_json(text: str) -> Any:
    """The document that a whole text is; None for other texts."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _is_key(name: str) -> bool:
    if not (name.islower() and name.isascii()):
        return False
    return name.isalpha() or (name.isidentifier() and _LONG_NUMBER.search(name) is None)


def _facts_of(name: str) -> KeyFacts:
    """What a name says. Names that callers choose are not kept: they can be values."""
    found = _FACTS.get(name)
    if found is None:
        found = KeyFacts(_is_key(name), name.lower().rstrip("_") in _NAMING, _topic_of(name))
        if found.is_key and len(_FACTS) < MOST_KEYS:
            _FACTS[name] = found
    return found


def _shape_of(members: tuple[str, ...]) -> Shape | None:
    """What the names of a record say together; None if one of them was chosen by a caller, or if they are many."""
    facts = [_facts_of(name) for name in members[:MOST_MEMBERS]]
    if len(members) > MOST_MEMBERS or not all(fact.is_key for fact in facts):
        return None
    naming = tuple(name for name, fact in zip(members, facts, strict=True) if fact.is_naming)
    shape = Shape(naming, tuple(fact.about for fact in facts))
    if len(_SHAPES) < MOST_KEYS:
        _SHAPES[members] = shape
    return shape


def phrases_of(parts: list[str]) -> Iterator[tuple[str, ...]]:
    """The phrases of a text: each few consecutive words."""
    return zip(*(parts[start:] for start in range(PHRASE)), strict=False)

"""What a result contains: values in fields of their own, values inside running text, and phrases."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from assent.rules.flow.text import MOST_TEXT, decoded, word_set, words
from assent.rules.flow.values import EXTERNAL, Value, amount_of, values_in, whole_value

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
_NAMES = re.compile(
    r"[\"'“‘«]([^\"'”’»\n]{2,60})[\"'”’»]|(?<![\w@./-])((?:[A-Z][\w&'-]+)(?: (?:of |the |de |la )?[A-Z][\w&'-]+){0,4})"
)
_LONG_NUMBER = re.compile(r"\d{5}")
_LIST = re.compile(r"[,;]\s*")
MOST_PARTS = 5_000
"""How many parts of one result are read."""
MOST_IN_RESULT = 262_144
"""How many characters of one result are read."""


class Sighting(NamedTuple):
    """One value of a result, and how it appeared there."""

    value: Value
    is_field: bool
    """Whether it is a field of its own; otherwise it is inside running text."""
    names: tuple[str, ...]
    """The words that name the record that it belongs to."""
    about: str = ""
    """What a private field is about, such as `passport number`; empty if it is not sensitive."""


class Prose(NamedTuple):
    """The words of a running text."""

    words: list[str]


class Skipped(NamedTuple):
    """Something was too long to be read."""


def read_result(result: Mapping[str, Any]) -> Iterator[Sighting | Prose | Skipped]:
    """Everything in a result that can come back in a call. Structured content counts; text beside it repeats it."""
    budget = [MOST_PARTS, MOST_IN_RESULT]
    structured = result.get("structuredContent")
    if structured is not None:
        yield from _walk(structured, (), "", budget)
    written = words(_written(structured)) if structured is not None else []
    for block in result.get("content") or ():
        if budget[0] < 0:
            break
        if isinstance(block, Mapping):
            yield from _read_block(block, budget, written)
    yield from _aside(result.get("_meta"), budget)


def _read_block(
    block: Mapping[str, Any], budget: list[int], written: list[str]
) -> Iterator[Sighting | Prose | Skipped]:
    resource = block.get("resource")
    parts = [block, resource] if isinstance(resource, Mapping) else [block]
    for part in parts:
        for text in (part.get("text"), _text_of_blob(part.get("blob"))):
            if isinstance(text, str) and text:
                yield from _read_text(text, budget, written)
        for key in ("uri", "name", "title"):
            if isinstance(part.get(key), str):
                yield from _scalar(part[key], (), key) if _afford(part[key], budget) else (Skipped(),)
        yield from _aside({key: item for key, item in part.items() if key not in _READ_ALREADY}, budget)


_READ_ALREADY = frozenset({"type", "text", "blob", "data", "mimeType", "uri", "name", "title", "resource"})


def _read_text(text: str, budget: list[int], written: list[str]) -> Iterator[Sighting | Prose | Skipped]:
    if len(text) <= MOST_IN_RESULT:
        if written and set(words(text)) <= set(written):  # It repeats the structured content: only new values count.
            whole = "".join(written)
            yield from (Sighting(one, False, ()) for one in values_in(text[:MOST_TEXT]) if one.squeezed not in whole)
            return
        if (document := _as_json(text)) is not None:
            yield from _walk(document, (), "", budget)
            return
    yield from _prose(text, ()) if _afford(text, budget) else (Skipped(),)


def _aside(node: Any, budget: list[int]) -> Iterator[Sighting | Prose | Skipped]:
    """What stands beside the content, such as descriptions and `_meta`: a client may show it to its model."""
    if isinstance(node, Mapping | list):
        for item in node.values() if isinstance(node, Mapping) else node:
            if not _afford(item, budget):
                yield Skipped()
                return
            yield from _aside(item, budget)
    elif isinstance(node, str):
        yield from _values_of_prose(node[:MOST_TEXT], ())
        if len(parts := words(node[:MOST_TEXT])) >= PHRASE:
            yield Prose(parts)


def _text_of_blob(blob: Any) -> str | None:
    """The text that an embedded file is; None for other files."""
    if not isinstance(blob, str):
        return None
    head = blob[: MOST_TEXT // 3 * 4]
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(base64.b64decode(head))
    except ValueError:
        return None


def _written(structured: Any) -> str:
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


def _walk(node: Any, names: tuple[str, ...], key: str, budget: list[int]) -> Iterator[Sighting | Prose | Skipped]:
    if not _afford(node, budget):
        yield Skipped()
        return
    if isinstance(node, Mapping):
        own = (*_names_of(node), *names)[:8]
        for name, item in node.items():
            if budget[0] < 0:
                return
            if _is_key(name):
                yield from _walk(item, own, name, budget)
            elif _afford(
                name, budget
            ):  # A table by name, such as {"City Hub": ...}: it is a value and names its entry.
                yield from _scalar(name.replace("_", " "), own, "name")
                yield from _walk(item, (*_name(name), *own)[:8], name, budget)
            else:
                yield Skipped()
    elif isinstance(node, list | tuple):
        for item in node:
            if budget[0] < 0:
                return
            yield from _walk(item, names, key, budget)
    elif node is not None and not isinstance(node, bool):
        yield from _scalar(node, names, key)


def _afford(node: Any, budget: list[int]) -> bool:
    """Take one part and its characters from the budget; False if it is used up."""
    budget[0] -= 1
    budget[1] -= min(len(node), MOST_TEXT) if isinstance(node, str) else 0
    return budget[0] >= 0 and budget[1] >= 0


def _is_key(name: str) -> bool:
    return name.islower() and name.isascii() and name.isidentifier() and _LONG_NUMBER.search(name) is None


def _names_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that name a record: its title, sender, file name and the like."""
    found: list[str] = []
    for key, item in record.items():
        if isinstance(item, str) and key.lower().rstrip("_") in _NAMING:
            found += _name(item)
    return tuple(found)


def _name(text: str) -> tuple[str, ...]:
    """A name as its words; a file is also named without its ending. Numbers and very short words name nothing."""
    if len(text) > MOST_FIELD * 2:
        return ()
    parts = words(text)
    whole = "".join(parts)
    if len(whole) < 3 or whole.isdigit():
        return ()
    stem = words(text.rpartition(".")[0]) if "." in text[-6:] else []
    return (whole, "".join(stem)) if stem and len("".join(stem)) > 3 else (whole,)


def _scalar(node: Any, names: tuple[str, ...], key: str) -> Iterator[Sighting | Prose | Skipped]:
    if not isinstance(node, str):
        number = amount_of(str(node))
        yield Sighting(Value("number", number, number), True, names)
        return
    about = _about(key)
    for item in _LIST.split(node) if len(node) < 2000 and "@" in node else (node,):
        if (value := _field(item)) is not None:
            yield Sighting(value, True, names, about)
            if (value.kind == "text" and any(mark in item for mark in "@/.")) or about:
                yield from (Sighting(one, False, names, about) for one in values_in(item))
            elif value.kind == "text":
                yield from (Sighting(one, False, names) for one in values_in(item) if one.kind in EXTERNAL)
        else:
            yield from _prose(item, names)


def _about(key: str) -> str:
    """What a sensitive field is about. A person reads it, so a name that is a sentence or a number is left out."""
    if (found := _SENSITIVE.search(key.lower())) is None:
        return ""
    plain = len(key) <= 40 and key.isascii() and key.isidentifier() and _LONG_NUMBER.search(key) is None
    return (key if plain else found[0]).lower().replace("_", " ")


def _field(text: str) -> Value | None:
    """The value that a whole field is; None if the field is running text."""
    if len(text) > 2000 or "\n" in text.strip():
        return None
    value = whole_value(text)
    if value is not None:
        return value
    parts = words(text)
    if not parts or len(text) > MOST_FIELD or len(parts) > MOST_FIELD_WORDS:
        return None
    whole = "".join(parts)
    return Value("number", amount_of(text), whole) if whole.isdigit() else Value("text", whole, whole)


def _prose(text: str, names: tuple[str, ...]) -> Iterator[Sighting | Prose | Skipped]:
    if len(text) > MOST_TEXT:
        yield Skipped()
        text = text[:MOST_TEXT]
    yield from _values_of_prose(text, names)
    for hidden in decoded(text):
        yield from _values_of_prose(hidden, names)
        yield Prose(words(hidden))
    yield Prose(words(text))


def _values_of_prose(text: str, names: tuple[str, ...]) -> Iterator[Sighting]:
    for value in values_in(text):
        yield Sighting(value, False, names)
    for found in _NAMES.finditer(text):
        whole = "".join(words(found[1] or found[2]))
        if len(whole) > 2:
            yield Sighting(Value("text", whole, whole), False, names)


def phrases_of(parts: list[str]) -> Iterator[tuple[str, ...]]:
    """The phrases of a text: each few consecutive words."""
    return zip(*(parts[start:] for start in range(PHRASE)), strict=False)

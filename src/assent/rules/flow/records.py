"""The newest results of conversations, kept to tell a person what an id in a call stands for.

They are read only when a question is asked. They stay in this process, and are bounded in number and size.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from assent.core.call import Call
from assent.core.question import SeenRecord, leaves_of

MOST_OF_A_RESULT = 256_000
"""Bytes: a longer result is not kept."""
MOST_IN_ALL = 16_000_000
MOST_RESULTS = 4_000
MOST_READ = 500_000
"""Bytes of results that one question looks at, the newest first."""
MOST_RECORDS = 8
MOST_NAMED = 50
"""Arguments of a call that are looked at."""
MOST_SHOWN = 120

ConversationKey = tuple[str, str, str]
Fields = tuple[tuple[str, str], ...]
_ID = re.compile(
    r"(?:^|[_.-])(?:ids?|uid|uuid|key|number|nr|sha|ref|reference|iban|account|slug|path|uri|handle|code|email|address)$"
    r"|[a-z](?:Ids?|Uuid|Key|Number)$",
    re.IGNORECASE | re.ASCII,
)
_OPAQUE = re.compile(r"(?=.*\d)[A-Za-z0-9_.:/=+-]{1,80}")
_LINE = re.compile(r"^[\s\-*]*[\"']?([A-Za-z][A-Za-z _-]{0,30})[\"']?\s*[:=]\s*(.+)$", re.MULTILINE)
_PARTS = re.compile(r"\n\s*\n|\n(?=- )")
_SHOWN: dict[str, tuple[str, ...]] = {
    "title": (
        "title", "subject", "name", "summary", "displayname", "filename", "label", "headline", "description", "text",
        "content", "body", "message",
    ),
    "from": ("from", "sender", "author", "organizer", "owner", "createdby", "creator", "user", "reporter"),
    "to": ("to", "recipient", "recipients", "participants", "attendees", "assignee", "sharedwith", "customer"),
    "amount": ("amount", "total", "price", "balance"),
    "date": ("date", "start", "starttime", "due", "duedate", "createdat", "timestamp"),
}  # fmt: skip
"""What a question shows of a record, each with the names of fields that can hold it, without underscores."""


class _Result(NamedTuple):
    conversation: ConversationKey
    tool: str
    at: float
    body: str | bytes | Mapping[str, Any]
    size: int


class RecordMemory:
    """The newest results of all conversations of this process."""

    def __init__(self) -> None:
        self._results: deque[_Result] = deque()
        self._size = 0

    def keep(
        self, conversation: ConversationKey, tool: str, result: Mapping[str, Any], at: float, whole: bytes | str
    ) -> None:
        """Keep a result: its text, or if it has none, all of it as JSON, for its structured content."""
        if len(whole) > MOST_OF_A_RESULT:
            return
        content, structured = result.get("content"), result.get("structuredContent")
        texts = [one.get("text") for one in content if isinstance(one, Mapping)] if isinstance(content, list) else ()
        body: Any = "\n\n".join(one for one in texts if isinstance(one, str)) if texts else ""
        if not body and structured:
            body = whole if type(structured) is dict and type(whole) is bytes else structured
        if not body:
            return
        self._results.append(_Result(conversation, tool, at, body, len(whole)))
        self._size += len(whole)
        while self._size > MOST_IN_ALL or len(self._results) > MOST_RESULTS:
            self._size -= self._results.popleft().size

    def named_by(self, conversation: ConversationKey, call: Call, words: str, since: float) -> tuple[SeenRecord, ...]:
        """What the ids in a call stand for, as far as results of its conversation say it."""
        wanted = _short_values(call)
        found, left = dict[str, SeenRecord](), MOST_READ
        for kept in reversed(self._results):
            if kept.conversation != conversation or kept.at < since:
                continue
            left -= kept.size
            missing = {text: one for text, one in wanted.items() if text not in found}
            if left < 0 or not missing:
                break
            for text, fields in _fields_in(kept.body, {text: name for text, (name, _) in missing.items()}):
                found.setdefault(text, SeenRecord(*wanted[text], kept.tool, fields))
        for text, (name, leaf) in wanted.items():
            if text not in found and _ID.search(name) and _OPAQUE.fullmatch(text) and text not in words:
                found[text] = SeenRecord(name, leaf, "", ())
        return tuple(found[text] for text in wanted if text in found)[:MOST_RECORDS]


def _short_values(call: Call) -> dict[str, tuple[str, Any]]:
    """The short texts and whole numbers of a call, each with its first place."""
    wanted = dict[str, tuple[str, Any]]()
    for name, leaf in leaves_of(call.stated):
        if isinstance(leaf, str | int) and not isinstance(leaf, bool) and 0 < len(str(leaf)) <= 200:
            wanted.setdefault(str(leaf), (name, leaf))
        if len(wanted) == MOST_NAMED:
            break
    return wanted


def _fields_in(body: str | bytes | Mapping[str, Any], wanted: Mapping[str, str]) -> Iterator[tuple[str, Fields]]:
    """What the records with these values say of themselves; `wanted` has the argument of each value."""
    parsed: Any = orjson.loads(body)["structuredContent"] if isinstance(body, bytes) else body
    if isinstance(body, str):
        wanted = {text: name for text, name in wanted.items() if text in body}
        try:
            parsed = orjson.loads(body) if wanted else None
        except orjson.JSONDecodeError:
            for text, name in wanted.items():
                if fields := _fields_in_text(text, body, name):
                    yield text, fields
            return
    for record in _records(parsed):
        for text, name in wanted.items():
            keyed = record.get(text) if _ID.search(name) or _OPAQUE.fullmatch(text) else None
            named = keyed if isinstance(keyed, Mapping) else record if _names(record, text, name) else None
            if named is not None and (fields := _shown_fields(named, text)):
                yield text, fields


def _records(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a value, the inner ones first."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _records(item)
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _records(item)


def _names(record: Mapping[str, Any], text: str, argument: str) -> bool:
    """Whether a record has this value as its id."""
    own = argument.rsplit(".", 1)[-1].partition("[")[0].casefold()
    return any(
        str(value) == text and (_ID.search(key) or key.casefold() == own)
        for key, value in record.items()
        if isinstance(value, str | int)
    )


def _shown_fields(record: Mapping[str, Any], text: str) -> Fields:
    plain = {key.replace("_", "").replace(" ", "").casefold(): value for key, value in record.items()}
    found = []
    for what, names in _SHOWN.items():
        said = next((said for name in names if (said := _short_text(plain.get(name))) and said != text), "")
        if said:
            found.append((what, said))
    return tuple(found) if any(what in ("title", "from", "to") for what, _ in found) else ()


def _short_text(value: Any) -> str:
    """A field as one short text: a person by their name, of a list the first three."""
    if isinstance(value, Mapping):
        return next(
            (said for key in ("name", "email", "login", "title", "address") if (said := _short_text(value.get(key)))),
            "",
        )
    if isinstance(value, list):
        said = ", ".join(filter(None, map(_short_text, value[:3])))
        return f"{said} and {len(value) - 3} more" if said and len(value) > 3 else said
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split())
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"


def _fields_in_text(text: str, body: str, argument: str) -> Fields:
    """The same in running text: the part around the value, by its lines `name: value`, or else its own line."""
    whole = re.compile(rf"(?<![\w-]){re.escape(text)}(?![\w-])")
    for part in _PARTS.split(body):
        if not whole.search(part):
            continue
        record = {key.strip(): value.strip().strip("'\",") for key, value in _LINE.findall(part)}
        if _names(record, text, argument) and (fields := _shown_fields(record, text)):
            return fields
        line = _short_text(next((line for line in part.splitlines() if whole.search(line)), ""))
        if not record and len(line) > len(text) + 3:
            return (("in", line),)
    return ()

"""The text of a confirmation that a person reads before deciding about a call.

Everything shown comes from the real arguments: all of them, each on its own line, with invisible and bidirectional
characters escaped, so that no text can imitate another line or change the reading order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from assent.core.deceptive_characters import BLANK, HIDDEN_CATEGORIES, describe_look_alikes, look_alikes
from assent.core.link_hosts import misread_host

if TYPE_CHECKING:
    from assent.core.call import Call
    from assent.core.shown_arguments import ShownArguments

MOST_TEXT = 4_000
"""Characters of a text on one line; the rest follows on further lines, which a page can fold."""
MORE = '  + "'
"""The start of a line that continues the text before it."""
MOST_WARNINGS = 20
MOST_MARKS = 2
"""Combining marks on one letter: a higher pile would cover its neighbours."""
_ORDINARY = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PLAIN = re.compile(r"[\x20-\x5b\x5d-\x7e]*\Z")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")


class SeenRecord(NamedTuple):
    """What an argument of a call stands for, as a result said it. Everything in it is as it came."""

    argument: str
    value: Any
    tool: str
    """The tool that answered with it; empty if no earlier result says what it is."""
    fields: tuple[tuple[str, str], ...]


class Background(NamedTuple):
    """What a conversation tells of a call: the user's words, and what its ids stand for."""

    words: str = ""
    records: tuple[SeenRecord, ...] = ()


MOST_WORDS = 600
"""Characters of the user's words that a question shows, the newest."""


def visible(text: str) -> str:
    """Escape every character that is invisible or piles up on others as `\\u{...}`, and double backslashes.

    Different texts look different: an escape and the same characters as sent differ in their backslashes.
    """
    if _PLAIN.match(text):
        return text
    marks = "".join(re.escape(character) for character in set(text) if unicodedata.category(character)[0] == "M")
    if not marks:
        return text.translate(_ESCAPES)
    # Every second piece is a pile of marks.
    pieces = re.split(f"([{marks}]{{{MOST_MARKS + 1},}})", text)
    return "".join(_pile(piece) if odd % 2 else piece.translate(_ESCAPES) for odd, piece in enumerate(pieces))


def counted(number: int, what: str) -> str:
    """A number with its noun: `1 tool`, `2 tools`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def waiting(seconds: float) -> str:
    """A time to wait, in whole seconds."""
    return counted(max(1, ceil(seconds)), "second")


def _pile(marks: str) -> str:
    return marks[:MOST_MARKS].translate(_ESCAPES) + "".join(map(_escape, marks[MOST_MARKS:]))


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _show_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character in _ORDINARY:
        return _ORDINARY[character]
    return _escape(character) if _is_hidden(character) else character


class _Table(dict[int, str]):
    """The escaped form of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        self[code] = shown = _show_character(chr(code))
        return shown


_ESCAPES = _Table()


def _is_hidden(character: str) -> bool:
    if " " <= character <= "~":
        return False
    category = unicodedata.category(character)
    return character in BLANK or category == "Cn" or category in HIDDEN_CATEGORIES or character.isspace()


def quoted(text: str) -> str:
    return '"' + visible(text).replace('"', '\\"') + '"'


def has_hidden(value: Any) -> bool:
    """Whether a value has invisible characters; line ends and tabs do not count."""
    if isinstance(value, str):
        return not _PLAIN.match(value) and any(_is_hidden(c) for c in set(value) if c not in _ORDINARY)
    if isinstance(value, Mapping):
        return any(has_hidden(key) or has_hidden(item) for key, item in value.items())
    return isinstance(value, list) and any(has_hidden(item) for item in value)


def question(
    call: Call,
    shown: ShownArguments,
    *,
    why: str | None,
    price: str | None = None,
    leads_to: Sequence[tuple[str, str]] = (),
    background: Background = Background(),  # noqa: B008 - immutable
) -> str:
    """The whole text of a confirmation; `leads_to` holds the arguments that are paths, each with its real path."""
    contract = call.tool.contract
    lines = [f"{visible(contract.title)} ({contract.name}) — {contract.side_effect}, {contract.risk} risk"]
    lines += [f"On the server {visible(call.tool.upstream)}"] if call.tool.upstream else []
    lines += [f"Asked for by {visible(call.principal.id)} ({call.principal.kind})"]
    if background.words:
        lines.append(f"The user's words, as the client reports them: {quoted(last_words(background.words))}")
    lines += _section("What it is about", [record_line(one) for one in background.records])
    if call.principal.mode == "test":
        lines.append("Against the test endpoint.")
    elif call.tool.has_test:
        lines.append("Against the live endpoint.")
    if why:
        lines.append(f"Asked because {visible(why)}.")
    if price:
        lines.append(f"Price: {visible(price)}")
    if contract.confirmation.uses > 1:
        lines.append(f"An approval covers {contract.confirmation.uses} calls with exactly these arguments.")
    lines += _section("What it does", [visible(effect) for effect in contract.side_effects])
    lines += [f"Warning: {sentence}" for sentence in shown.cut]
    lines += _section("Arguments, as sent", argument_lines(shown.arguments))
    if shown.preview is not None:
        lines += _section("Preview, as the tool reported it", list(argument_lines(shown.preview)))
    real = [f"{name} leads to {quoted(path)} on this machine." for name, path in leads_to]
    warnings = (*real, *unknown_warnings(shown.unknown), *argument_warnings(call.stated))
    return "\n".join([*lines, *(f"Warning: {warning}" for warning in warnings)])


def last_words(words: str) -> str:
    """The newest words of the user."""
    return words if len(words) <= MOST_WORDS else "…" + words[-MOST_WORDS:]


def record_line(one: SeenRecord) -> str:
    """What an argument stands for, on one line, with everything that cannot be seen written out."""
    said = ", ".join(f"{what} {quoted(text)}" for what, text in one.fields)
    known = f"{said} (as {visible(one.tool)} answered)" if said else "no earlier result says what it is"
    return f"{visible(one.argument)} {shown_value(one.value)}: {known}"


def unknown_warnings(names: Sequence[str]) -> list[str]:
    """Warnings about arguments that the tool does not have."""
    return [f"the tool does not list the argument {quoted(name)}. It may ignore it." for name in names]


def argument_warnings(arguments: Any) -> list[str]:
    """Warnings for the person who reads the arguments: misleading hosts, and characters that are invisible or look
    like others.
    """
    hosts = ((label, misread_host(text)) for label, text in texts_in(arguments) if ":" in text)
    found = [f"{label} leads to the host {quoted(host)}." for label, host in hosts if host is not None]
    if has_hidden(arguments):
        found.append("the arguments hold invisible or direction-changing characters, written here as \\u{...}.")
    twins = [(label, alike) for label, text in texts_in(arguments) if (alike := look_alikes(text))]
    for label, alike in twins[:MOST_WARNINGS]:
        found.append(f"{label or 'the text'} holds characters that look like others: {describe_look_alikes(alike)}.")
    if len(twins) > MOST_WARNINGS:
        found.append(f"{len(twins) - MOST_WARNINGS} more texts hold characters that look like others.")
    return found


def texts_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a value with its path; field names count as texts too."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            below = field_path(name, str(key))
            if not _PLAIN_NAME.match(str(key)):
                yield f"the name {below}", str(key)
            yield from texts_in(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts_in(item, f"{name}[{index}]")


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def argument_lines(value: Any) -> list[str]:
    """One line for every value, however deep it lies; a long text goes on in lines that begin with `MORE`."""
    lines: list[str] = []
    for name, leaf in leaves_of(value):
        first, *more = _value(leaf)
        lines += [f"{name}: {first}" if name else first, *more]
    return lines


def leaves_of(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that holds no others, with its path: texts, numbers, true, false, null, empty lists and objects."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves_of(item, field_path(name, str(key)))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves_of(item, f"{name}[{index}]")
    else:
        yield name, value


def field_path(name: str, key: str) -> str:
    """The path of a field; a name that could pose as a path, or as more than a name, is quoted."""
    label = key if _PLAIN_NAME.match(key) else quoted(key)
    return f"{name}.{label}" if name else label


def _value(value: Any) -> list[str]:
    if isinstance(value, str):
        return _fold(value) if len(value) > MOST_TEXT else [quoted(value)]
    return [shown_value(value)]


def shown_value(value: Any) -> str:
    """A value that holds no others on one line: a text in quotes, with everything that cannot be seen written out."""
    if isinstance(value, str):
        return quoted(value)
    return "{}" if isinstance(value, Mapping) else "[]" if isinstance(value, list) else _scalar(value)


def _fold(text: str) -> list[str]:
    """A long text, whole, in pieces."""
    pieces = [quoted(text[at : at + MOST_TEXT]) for at in range(0, len(text), MOST_TEXT)]
    return [f"{pieces[0]} … and {len(text) - MOST_TEXT} more characters:", *(MORE[:-1] + piece for piece in pieces[1:])]


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return visible(str(value))

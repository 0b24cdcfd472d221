"""What does a person see who is asked about a call?

Everything shown comes from the real arguments: all of them, on lines of their own, with invisible and bidirectional
characters escaped, so that nothing can pose as another line or reorder what is read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from assent.contract.model import PLACEHOLDER, Contract
from assent.core.call import Call

MOST_TEXT = 4_000
MOST_MARKS = 2
"""On one letter: a higher pile hides its neighbours."""
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters, marks and symbols that draw nothing although their category does not say so.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159") | {
    chr(code) for start, end in ((0xFE00, 0xFE10), (0xE0100, 0xE01F0)) for code in range(start, end)
}
_ORDINARY = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PLAIN = re.compile(r"[\x20-\x5b\x5d-\x7e]*\Z")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")


def visible(text: str) -> str:
    """The text with every character that cannot be seen, or that piles up on others, written out as `\\u{...}`, and
    backslashes doubled.

    No two texts look the same: what is written out and what was sent that way differ in their backslashes.
    """
    if _PLAIN.match(text):
        return text
    shown, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        shown.append(_written_out(character) if marks > MOST_MARKS else _shown(character))
    return "".join(shown)


def counted(number: int, what: str) -> str:
    """A number of things, as it is said: `1 tool`, `2 tools`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _written_out(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _shown(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character in _ORDINARY:
        return _ORDINARY[character]
    return _written_out(character) if _is_hidden(character) else character


def _is_hidden(character: str) -> bool:
    if " " <= character <= "~":
        return False
    return character in BLANK or unicodedata.category(character) in _HIDDEN or character.isspace()


def _quoted(text: str) -> str:
    return '"' + visible(text).replace('"', '\\"') + '"'


def has_hidden(value: Any) -> bool:
    """Whether anything in a value cannot be seen; line ends and tabs are ordinary."""
    if isinstance(value, str):
        return not _PLAIN.match(value) and any(_is_hidden(c) for c in value if c not in _ORDINARY)
    if isinstance(value, Mapping):
        return any(has_hidden(key) or has_hidden(item) for key, item in value.items())
    return isinstance(value, list) and any(has_hidden(item) for item in value)


def question(call: Call, *, why: str | None, preview: Any = None, price: str | None = None) -> str:
    """The whole text of a confirmation."""
    contract = call.tool.contract
    lines = [f"{visible(contract.title)} ({contract.name}) — {contract.side_effect}, {contract.risk} risk"]
    lines += [f"On the server {visible(call.tool.upstream)}"] if call.tool.upstream else []
    lines += [f"Asked for by {visible(call.principal.id)} ({call.principal.kind})"]
    if call.principal.mode == "test":
        lines.append("Against the test endpoint.")
    if why:
        lines.append(f"Asked because {visible(why)}.")
    if price:
        lines.append(f"Price: {visible(price)}")
    if contract.confirmation.uses > 1:
        lines.append(f"A yes is good for {contract.confirmation.uses} calls with exactly these arguments.")
    lines += _section("What it does", [visible(effect) for effect in contract.side_effects])
    stated = call.stated
    lines += _section("Arguments, as sent", argument_lines(stated))
    if preview is not None:
        lines += _section("Preview, as the tool reported it", list(argument_lines(preview)))
    if has_hidden(stated):
        lines.append(
            "Warning: the arguments hold invisible or direction-changing characters, written here as \\u{...}."
        )
    return "\n".join(lines)


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def argument_lines(value: Any, name: str = "") -> list[str]:
    """One line for every value, however deep it lies."""
    if isinstance(value, Mapping) and value:
        return [line for key, item in value.items() for line in argument_lines(item, _below(name, str(key)))]
    if isinstance(value, list) and value:
        return [line for index, item in enumerate(value) for line in argument_lines(item, f"{name}[{index}]")]
    return [f"{name}: {_value(value)}" if name else _value(value)]


def _below(name: str, key: str) -> str:
    """The path of a field; a name that could pose as a path, or as more than a name, is quoted."""
    label = key if _PLAIN_NAME.match(key) else _quoted(key)
    return f"{name}.{label}" if name else label


def _value(value: Any) -> str:
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            return f"{_quoted(value[:MOST_TEXT])} … and {len(value) - MOST_TEXT} more characters, not shown"
        return _quoted(value)
    return "{}" if isinstance(value, Mapping) else "[]" if isinstance(value, list) else _word(value)


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return visible(str(value))


def activity(contract: Contract, arguments: Mapping[str, Any]) -> str:
    """The contract's action template filled from the arguments; hostile text stays text."""
    if contract.activity is None:
        return visible(contract.title)
    # Every second piece is the path of a placeholder: what is filled in is never looked at again.
    pieces = PLACEHOLDER.split(contract.activity)
    return "".join(_filled(piece, arguments) if odd % 2 else visible(piece) for odd, piece in enumerate(pieces))


def _filled(path: str, arguments: Mapping[str, Any]) -> str:
    value: Any = arguments
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        return "(none)"
    text = value if isinstance(value, str) else "…" if isinstance(value, Mapping | list) else _word(value)
    return visible(text if len(text) <= 200 else text[:199] + "…")

"""What does a person see who is asked about a call?

Everything shown comes from the real arguments: all of them, on lines of their own, with invisible and bidirectional
characters escaped, so that nothing can pose as another line or reorder what is read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from assent.contract.model import Contract
from assent.core.call import Call

MOST_TEXT = 4_000
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters that draw nothing although their category says letter or mark.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f\u2800") | {chr(c) for c in range(0xFE00, 0xFE10)}
_PLAIN = re.compile(r"[\x20-\x7e]*\Z")
_TEMPLATE = re.compile(r"\{([A-Za-z0-9_.]+)\}")


def visible(text: str) -> str:
    """The text with every character that cannot be seen written out as `\\u{...}`."""
    if _PLAIN.match(text):
        return text.replace("\\u{", "\\\\u{")
    return "".join(_shown(character) for character in text.replace("\\u{", "\\\\u{"))


def _shown(character: str) -> str:
    if character in _BLANK or unicodedata.category(character) in _HIDDEN or (character != " " and character.isspace()):
        return f"\\u{{{ord(character):x}}}"
    return character


def has_hidden(value: Any) -> bool:
    """Whether anything in a value would have to be escaped."""
    if isinstance(value, str):
        return visible(value) != value
    if isinstance(value, Mapping):
        return any(has_hidden(key) or has_hidden(item) for key, item in value.items())
    return isinstance(value, list) and any(has_hidden(item) for item in value)


def question(call: Call, *, why: str | None, preview: Any = None, price: str | None = None) -> str:
    """The whole text of a confirmation."""
    contract = call.tool.contract
    lines = [f"{visible(contract.title)} ({contract.name}) — {contract.side_effect}, {contract.risk} risk"]
    lines += [f"Asked for by {visible(call.principal.id)} ({call.principal.kind})"]
    if call.principal.mode == "test":
        lines.append("Against the test endpoint.")
    if why:
        lines.append(f"Asked because {visible(why)}.")
    if price:
        lines.append(f"Price: {visible(price)}")
    lines += _section("What it does", [visible(effect) for effect in contract.side_effects])
    lines += _section("Arguments, as sent", list(argument_lines(call.arguments)) or ["(none)"])
    if preview is not None:
        lines += _section("Preview, as the tool reported it", list(argument_lines(preview)))
    if has_hidden(dict(call.arguments)):
        lines.append(
            "Warning: the arguments hold invisible or direction-changing characters, written here as \\u{...}."
        )
    return "\n".join(lines)


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def argument_lines(value: Any, name: str = "") -> list[str]:
    """One line for every value, however deep it lies."""
    if isinstance(value, Mapping) and value:
        return [
            line for key, item in value.items() for line in argument_lines(item, f"{name}.{key}" if name else str(key))
        ]
    if isinstance(value, list) and value:
        return [line for index, item in enumerate(value) for line in argument_lines(item, f"{name}[{index}]")]
    label = visible(name)
    return [f"{label}: {_value(value)}" if label else _value(value)]


def _value(value: Any) -> str:
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            shown = visible(value[:MOST_TEXT])
            return f'"{shown}" … and {len(value) - MOST_TEXT} more characters, not shown'
        return f'"{visible(value)}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return visible(str(value)) if isinstance(value, int | float) else "{}" if isinstance(value, Mapping) else "[]"


def activity(contract: Contract, arguments: Mapping[str, Any]) -> str:
    """The contract's action template filled from the arguments; hostile text stays text."""
    template = contract.activity or f"{contract.title}"

    def fill(match: re.Match[str]) -> str:
        value: Any = arguments
        for part in match[1].split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        text = value if isinstance(value, str) else "…" if isinstance(value, Mapping | list) else str(value)
        return visible(text if len(text) <= 200 else text[:199] + "…") if value is not None else "(none)"

    return _TEMPLATE.sub(fill, template)

"""Rules about names, titles and descriptions."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding
from assent.checks.lint.target import LintedTool, Target
from assent.core.hidden_characters import hidden_in, is_plain, without_hidden

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def check_all_name_collides(target: Target) -> Iterator[tuple[str, RawFinding]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tool in target.subjects:
        groups[tool.upstream, _UNSAFE.sub("_", tool.name)[:64]].append(tool.name)
    for (_, safe), names in groups.items():
        if len(names) < 2:
            continue
        for name in dict.fromkeys(names):
            others = sorted(set(names) - {name})
            text = f"it becomes {safe}, as does {others[0]}" if others else f"{len(names)} tools have this name"
            yield name, RawFinding(text, "/name")


def check_name_dotted(tool: LintedTool) -> Iterator[RawFinding]:
    if "." in tool.name:
        yield RawFinding(
            "the name has dots, which model APIs reject", "/name", f"Call it {tool.name.replace('.', '_')}."
        )


_LONGEST = 128
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def check_name_invalid(tool: LintedTool) -> Iterator[RawFinding]:
    if len(tool.name) > _LONGEST:
        yield RawFinding(f"the name has {len(tool.name)} characters; {_LONGEST} are allowed", "/name")
    strange = sorted(set(tool.name) - _ALLOWED)
    if strange or not tool.name:
        shown = " ".join(repr(character) for character in strange[:5]) or "nothing"
        yield RawFinding(f"the name holds {shown}", "/name")


_LONGEST_JOINED = 64


def check_name_too_long(tool: LintedTool) -> Iterator[RawFinding]:
    if _LONGEST_JOINED < len(tool.name) <= 128:
        yield RawFinding(
            f"the name has {len(tool.name)} characters; some hosts cut or refuse more than {_LONGEST_JOINED}", "/name"
        )


_FORM = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")


def check_name_without_domain(tool: LintedTool) -> Iterator[RawFinding]:
    if not _FORM.fullmatch(tool.name):
        yield RawFinding("its name does not say its domain", "/name")


_WORD = re.compile(r"[A-Za-z0-9_.-]+")


def check_all_names_other_tools(target: Target) -> Iterator[tuple[str, RawFinding]]:
    names = {name for name in target.names if "_" in name or "-" in name or "." in name.strip(".")}
    for tool in target.subjects:
        words = dict.fromkeys(word.strip(".-") for word in _WORD.findall(tool.description))
        others = [word for word in words if word in names and word != tool.name]
        if others:
            shown = ", ".join(others[:5]) + (" and more" if len(others) > 5 else "")
            yield tool.name, RawFinding(f"its description names other tools: {shown}", "/description")


def check_description_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if not tool.description.strip() and not tool.partial:
        yield RawFinding("it has no description", "/description")


def check_title_in_one_place(tool: LintedTool) -> Iterator[RawFinding]:
    beside, inside = tool.title.strip(), tool.annotations.get("title")
    inside = inside.strip() if isinstance(inside, str) else ""
    if beside and not inside:
        yield RawFinding("the title stands beside the annotations only", "/annotations/title")
    elif inside and not beside:
        yield RawFinding("the title stands inside the annotations only", "/title")
    elif beside != inside:
        yield RawFinding(f"it has two titles: {beside[:60]!r} and {inside[:60]!r}", "/annotations/title")


def mend_title_in_one_place(tool: LintedTool, at: str) -> Iterator[Edit]:
    inside = tool.annotations.get("title")
    if tool.contract is None and at == "/title" and isinstance(inside, str):
        yield put(inside, "title")
    elif tool.contract is None and inside is None:
        yield put(tool.title, "annotations", "title")


def check_title_missing(tool: LintedTool) -> Iterator[RawFinding]:
    inside = tool.annotations.get("title")
    if not tool.title.strip() and not (isinstance(inside, str) and inside.strip()):
        yield RawFinding("it has no title: people will be asked about its raw name", "/title")


_WORDS = r"again|another|each|every|idempoten\w*|once|re-?run\w*|repeat\w*|repetition|retr\w+|same|second|twice"
_REPETITION = re.compile(rf"\b(?:{_WORDS})\b", re.IGNORECASE)


def check_repetition_undescribed(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or tool.tier == "read" or not contract.side_effects:
        return
    if not any(_REPETITION.search(sentence) for sentence in contract.side_effects):
        yield RawFinding("its side effects do not say what a repetition does", "side_effects")


def check_hidden_characters(tool: LintedTool) -> Iterator[RawFinding]:
    for place, text in _texts(tool):
        found = dict.fromkeys(text[at] for at in hidden_in(text) if not is_plain(text[at]))
        if found:
            shown = ", ".join(f"U+{ord(character):04X}" for character in list(found)[:5])
            yield RawFinding(f"it holds characters that nobody sees: {shown}", place)


def _texts(tool: LintedTool) -> Iterator[tuple[str, str]]:
    yield "/name", tool.text("name")
    yield from tool.texts
    for field in tool.inputs:
        yield f"/inputSchema{field.pointer}", field.name


def mend_hidden_characters(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Texts lose them; a name is what callers know a tool or an argument by, and stays."""
    path = [part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:]]
    holder: Any = tool.definition
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    if isinstance(holder, str) and path[-1] in ("title", "description") and (tool.contract is None or len(path) == 1):
        yield put(without_hidden(holder), *path)


_DATA = resources.files("assent.checks.lint.rules").joinpath("orders.toml").read_text(encoding="utf-8")
_ORDERS = tuple((one["words"], re.compile(one["pattern"], re.VERBOSE)) for one in tomllib.loads(_DATA)["orders"])


def check_description_orders(tool: LintedTool) -> Iterator[RawFinding]:
    for place, text in tool.texts:
        order = _order(without_hidden(text).lower())
        if order:
            yield RawFinding(
                f"this looks like an attack: it gives the model orders: {' '.join(order.split())[:80]!r}", place
            )


def _order(text: str) -> str | None:
    """The order that comes first in a text."""
    found = [
        match
        for words, pattern in _ORDERS
        if any(word in text for word in words)
        for match in [pattern.search(text)]
        if match
    ]
    return min(found, key=lambda match: match.start())[0] if found else None

"""How well flow control labels the values of results, and finds the result that a later argument came from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from assent.contract.profiles import profile
from assent.core.call import Call, ConversationRef
from assent.core.tool import Tool
from assent.rules.flow.control import FlowControl
from assent.rules.flow.judgement import value_of
from assent.rules.flow.values import Readings
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools
from bench.flow_quality.office import AGENT, definition, done, read

SETS_OF_VALUES = 3
TOGETHER = 15
"""How many results one conversation has."""
KINDS = {"address": "address", "link": "link", "account": "account", "amount": "number", "id": "", "person": ""}
"""What flow control calls each kind. Ids and people have no kind of their own: they are texts or numbers."""
_PLACE = re.compile(r"<([ut])\.(\w+)>")
_FIRST = ("Anna", "Bo", "Chidi", "Dörte", "Emre", "Farah", "Goran", "Hye-jin")
_LAST = ("Almeida", "Brandt", "Castro", "Dvořák", "Eze", "Fischer", "Gupta", "Haddad", "Ito")
_WORDS = ("harbor", "lantern", "meadow", "orchid", "pixel", "quartz", "raven", "sierra", "tulip", "velvet", "willow")


class Labelled(NamedTuple):
    """One value of a result with what is true of it."""

    text: str
    kind: str
    untrusted: bool


class Result(NamedTuple):
    """One result with its labelled values."""

    server: str
    tool: Tool
    content: str
    values: list[Labelled]


class Traced(NamedTuple):
    """What flow control says of one value: trusted, a field or a text of an untrusted result, or unknown."""

    label: str
    kind: str
    at: float
    rewritten_at: float
    """Where it finds the value in another spelling."""


def results() -> Iterator[Result]:
    """Each shape with each set of values. No value appears twice."""
    numbers = count(1)
    for style in range(SETS_OF_VALUES):
        for server, signature, said, shape in read("labelled.yaml"):
            policy = UpstreamPolicy(server, profile=profile("spec"))
            tool = compile_tools([definition(signature, said)], {}, policy).tools[0]
            values: list[Labelled] = []
            filled = _fill(shape, style, numbers, values)
            yield Result(server, tool, filled if isinstance(filled, str) else json.dumps(filled), values)


def _fill(node: Any, style: int, numbers: count[int], values: list[Labelled]) -> Any:
    if isinstance(node, dict):
        return {key: _fill(item, style, numbers, values) for key, item in node.items()}
    if isinstance(node, list):
        return [_fill(item, style, numbers, values) for item in node]
    if not isinstance(node, str):
        return node

    def put(found: re.Match[str]) -> str:
        values.append(Labelled(_value(found[2], style, next(numbers)), found[2], found[1] == "u"))
        return values[-1].text

    text = _PLACE.sub(put, node)
    is_number = _PLACE.fullmatch(node) and values[-1].kind in ("amount", "id")
    return json.loads(text) if is_number and re.fullmatch(r"\d+(\.\d+)?", text) else text


def _value(kind: str, style: int, n: int) -> str:
    """A value in one of three usual spellings."""
    first, last, word = _FIRST[n % len(_FIRST)], _LAST[n % len(_LAST)], _WORDS[n % len(_WORDS)]
    plain = f"{first}.{last}".encode("ascii", "ignore").decode().lower()
    if kind == "address":
        return (f"{plain}{n}@{word}.example", f"{word}+{n}@mail.{word}-group.example", f"Info{n}@{word.title()}.test")[
            style
        ]
    if kind == "link":
        return (
            f"https://{word}{n}.example/a/{n}?ref=x",
            f"www.{word}-{n}.example/start",
            f"http://192.0.2.{n % 250}:8{n:03}/x",
        )[style]
    if kind == "account":
        number = f"{n:04}50010517{n:06}"
        check = 98 - int(f"{number}131400") % 97
        account = f"DE{check:02}{number}"
        return (account, " ".join(re.findall(".{1,4}", account)), account.lower())[style]
    if kind == "amount":
        return (f"{n + 1000}.5", f"{n % 9 + 1},{n:03}.25", f"{n * 7 + 3}")[style]
    if kind == "id":
        return (
            f"{word[:3]}_{n:04}Q{n * 7919 % 99991:05}",
            f"{n:08x}-{n * 7919 % 65536:04x}-4c1d-9a2b-{n * 104729:012x}",
            f"{n + 70000}",
        )[style]
    return (
        f"{first} {last} {_WORDS[n // 11 % 11].title()}{n}",
        f"{plain.replace('.', '-')}{n}",
        f"{last.upper()} {word.title()} {n}",
    )[style]


def _rewritten(one: Labelled) -> object:
    """The value as an agent may write it later."""
    if one.kind == "amount":
        return float(one.text.replace(",", ""))
    if one.kind == "account":
        return one.text.replace(" ", "").upper()
    return one.text.lower() if one.kind == "address" else f" {one.text} "


def trace(together: list[Result]) -> list[list[Traced]]:
    """Remember all results in one conversation, then look for each value as for an argument of a later call."""
    flow, given = FlowControl("ask"), ConversationRef("labels", "")
    for at, one in enumerate(together):
        call = Call(AGENT, one.tool, {}, b"", str(at), "", conversation=given)
        done(flow.remember(call, {"content": [{"type": "text", "text": one.content}]}, float(at)))
    (seen,) = flow.conversations(AGENT.tenant)

    def find(given: object) -> tuple[str, str, float]:
        value = value_of(given, Readings())
        known = seen.sightings(value.exact)
        hidden = None if known else seen.disguise(value.squeezed)
        known = (hidden,) if hidden is not None else known
        best = min(known, key=lambda s: (not s.origin.trusted, not s.is_field), default=None)
        if best is None:
            return "unknown", value.kind, -1.0
        return "trusted" if best.origin.trusted else "field" if best.is_field else "text", value.kind, best.origin.at

    def judged(one: Labelled) -> Traced:
        label, kind, at = find(one.text)
        return Traced(label, kind, at, find(_rewritten(one))[2])

    return [[judged(value) for value in one.values] for one in together]


def show_labels(explain: bool) -> None:
    """Print precision and recall of labels, kinds and provenance."""
    found = list(results())
    counts, labels, kinds, guessed = Counter[str](), Counter[tuple[bool, str]](), Counter[str](), Counter[str]()
    servers, by_kind = Counter[tuple[str, bool, bool]](), Counter[tuple[str, bool, bool]]()
    for start in range(0, len(found), TOGETHER):
        together = found[start : start + TOGETHER]
        for at, (result, traced) in enumerate(zip(together, trace(together), strict=True)):
            for value, one in zip(result.values, traced, strict=True):
                counts["values"] += 1
                labels[value.untrusted, one.label] += 1
                by_kind[value.kind, value.untrusted, one.label in ("field", "text")] += 1
                servers[result.server, value.untrusted, one.label in ("field", "text")] += 1
                kinds[value.kind] += 1
                kinds[f"{value.kind} right"] += one.kind == KINDS[value.kind]
                guessed[one.kind] += 1
                guessed[f"{one.kind} right"] += one.kind == KINDS[value.kind]
                counts["right"] += one.at == at
                counts["unknown"] += one.at < 0
                counts["rewritten"] += one.rewritten_at == at
                counts["rewritten unknown"] += one.rewritten_at < 0
                if explain and (value.untrusted != (one.label in ("field", "text")) or one.at != at):
                    print(f"    {result.server} {result.tool.name}: {value}: {one}")
    print(f"{len(found)} results of {len(found) // SETS_OF_VALUES} shapes, {counts['values']} labelled values")
    for untrusted in (True, False):
        row = ", ".join(f"{name} {labels[untrusted, name]}" for name in ("trusted", "field", "text", "unknown"))
        print(f"  {'untrusted' if untrusted else 'trusted'} values are labelled: {row}")
    hit = labels[True, "field"] + labels[True, "text"]
    wrong, good = labels[False, "field"] + labels[False, "text"], labels[False, "trusted"]
    missed = labels[True, "trusted"]
    every = [sum(labels[truth, name] for name in ("trusted", "field", "text", "unknown")) for truth in (True, False)]
    print(f"  untrusted: precision {hit / (hit + wrong):.2f}, recall {hit / every[0]:.2f}")
    print(f"  trusted: precision {good / (good + missed):.2f}, recall {good / every[1]:.2f}")
    for kind, name in KINDS.items():
        if name:
            precision, recall = guessed[f"{name} right"] / guessed[name], kinds[f"{kind} right"] / kinds[kind]
            print(f"  kind {kind}: {kinds[kind]} values, precision {precision:.2f}, recall {recall:.2f}")
    for case, right in (("", "right"), ("rewritten ", "rewritten")):
        lost = counts[f"{case}unknown"]
        traced_to = counts["values"] - lost
        print(
            f"  provenance, {case or 'as it stood '}argument: right result {counts[right]}, another one "
            f"{traced_to - counts[right]}, none {lost}; precision {counts[right] / traced_to:.2f}, "
            f"recall {counts[right] / counts['values']:.2f}"
        )
    for title, names, table in (
        ("kind", list(KINDS), by_kind),
        ("server", list(dict.fromkeys(one.server for one in found)), servers),
    ):
        print(f"  {title:12} untrusted values found, trusted values not called untrusted")
        for name in names:
            every = [table[name, truth, True] + table[name, truth, False] for truth in (True, False)]
            print(
                f"  {name:12} {table[name, True, True]:4} of {every[0]:3} {table[name, False, False]:4} of {every[1]:3}"
            )

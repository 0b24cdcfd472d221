"""Rules about hints that the names, the methods or the other tools of a server contradict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from assent.checks.lint.fields import takes_key
from assent.checks.lint.rule import DESTRUCTIVE, IDEMPOTENT, READ_ONLY, RawFinding
from assent.checks.lint.target import LintedTool, Target
from assent.contract.infer.features.name import read_name

_ADDING = {"add", "append", "comment", "create", "enqueue", "insert", "post", "reply", "send", "submit", "upload"}


def check_idempotent_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    if not tool.claims.idempotent or tool.claims.read_only or tool.contract is not None:
        return
    verb = read_name(tool.name).verb
    if verb in _ADDING and not takes_key(tool) and "already exist" not in tool.description.lower():
        yield RawFinding(f"idempotentHint is true, but to {verb} twice usually does it twice", IDEMPOTENT)


_WRITING = ("PUT", "PATCH", "DELETE")


def check_method_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    method = tool.method.upper() or _method_in(tool.description)
    if tool.claims.read_only and method in _WRITING:
        yield RawFinding(f"it claims to be read-only, but it is a {method}", READ_ONLY)
    if tool.claims.destructive is False and not tool.claims.read_only and method == "DELETE":
        yield RawFinding("destructiveHint is false, but it is a DELETE", DESTRUCTIVE)


def _method_in(description: str) -> str:
    """The method a generated description begins with: `DELETE /orders/{id}`."""
    first, _, rest = description.strip().strip("`").partition(" ")
    return first if rest.lstrip().startswith("/") else ""


_ENOUGH = 5
_MAJORITY = 0.9
_ALL_BUT_ONE = 0.85


def check_all_convention_broken(target: Target) -> Iterator[tuple[str, RawFinding]]:
    groups: dict[str, list[tuple[LintedTool, bool]]] = defaultdict(list)
    for tool in target.subjects:
        kind = _kind(tool)
        if kind and tool.claims.destructive is not None and tool.contract is None:
            groups[kind].append((tool, tool.claims.destructive))
    for kind, members in groups.items():
        yes = sum(1 for _, said in members if said)
        usual = yes * 2 > len(members)
        agreeing = yes if usual else len(members) - yes
        share = _ALL_BUT_ONE if agreeing == len(members) - 1 else _MAJORITY
        if len(members) < _ENOUGH or agreeing == len(members) or agreeing < share * len(members):
            continue
        for tool, said in members:
            if said is not usual:
                counted = f"{agreeing} of {len(members)} tools of this server that {kind}"
                text = f"destructiveHint is {_hint_word(said)}; {counted} say {_hint_word(usual)}"
                yield tool.name, RawFinding(text, DESTRUCTIVE)


def _kind(tool: LintedTool) -> str:
    """The kinds on which vendors differ; what deletes has a rule of its own."""
    if tool.claims.read_only or tool.inference.read_only or tool.inference.destructive or not tool.confident:
        return ""
    if tool.inference.overwrites:
        return "change what is there"
    return "only add" if tool.inference.tier == "write" else ""


def _hint_word(said: bool) -> str:
    return "true" if said else "false"

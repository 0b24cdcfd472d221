"""Rules about hints that the names, the methods or the other tools of a server contradict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from assent.checks.lint.fields import takes_key
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target
from assent.contract.infer.features.name import read_name

_ADDING = {"add", "append", "comment", "create", "enqueue", "insert", "post", "reply", "send", "submit", "upload"}


def check_idempotent_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    if not tool.claims.idempotent or tool.claims.read_only or tool.contract is not None:
        return
    verb = read_name(tool.name).verb
    if verb in _ADDING and not takes_key(tool) and "already exist" not in tool.description.lower():
        yield RawFinding(
            f"idempotentHint is true, but to {verb} twice usually does it twice", "/annotations/idempotentHint"
        )


IDEMPOTENT_CONTRADICTED = Rule(
    name="idempotent-contradicted",
    severity="note",
    summary="A tool that adds something claims to be idempotent and takes no key to know a repetition by.",
    why="Clients repeat idempotent calls after a lost answer. If the claim is wrong, things happen twice.",
    fix="Set idempotentHint to false, or take an idempotency key, or say in the description what a repetition does.",
    each=check_idempotent_contradicted,
    flags=({"name": "send_message", "annotations": {"readOnlyHint": False, "idempotentHint": True}},),
    passes=(
        {"name": "send_message", "annotations": {"readOnlyHint": False, "idempotentHint": False}},
        {"name": "set_status", "annotations": {"readOnlyHint": False, "idempotentHint": True}},
        {
            "name": "create_order",
            "inputSchema": {"type": "object", "properties": {"idempotencyKey": {"type": "string"}}},
            "annotations": {"idempotentHint": True},
        },
    ),
)


_WRITING = ("PUT", "PATCH", "DELETE")


def check_method_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    method = tool.method.upper() or _method_in(tool.description)
    if tool.claims.read_only and method in _WRITING:
        yield RawFinding(f"it claims to be read-only, but it is a {method}", "/annotations/readOnlyHint")
    if tool.claims.destructive is False and not tool.claims.read_only and method == "DELETE":
        yield RawFinding("destructiveHint is false, but it is a DELETE", "/annotations/destructiveHint")


def _method_in(description: str) -> str:
    """The method a generated description begins with: `DELETE /orders/{id}`."""
    first, _, rest = description.strip().strip("`").partition(" ")
    return first if rest.lstrip().startswith("/") else ""


METHOD_CONTRADICTED = Rule(
    name="method-contradicted",
    severity="error",
    summary="A tool's hints contradict the HTTP method it stands for.",
    why="PUT, PATCH and DELETE change things by definition, whatever the operation is called.",
    fix="Correct the hint; or offer the operation under GET if it changes nothing.",
    each=check_method_contradicted,
    flags=(
        {"name": "orders_remove", "method": "DELETE", "annotations": {"readOnlyHint": True}},
        {"name": "orders_remove", "description": "DELETE /orders/{id}", "annotations": {"destructiveHint": False}},
    ),
    passes=(
        {"name": "orders_remove", "method": "DELETE", "annotations": {"readOnlyHint": False, "destructiveHint": True}},
        {"name": "orders_list", "method": "GET", "annotations": {"readOnlyHint": True}},
        {"name": "orders_search", "method": "POST", "annotations": {"readOnlyHint": True}},
    ),
)


_ENOUGH = 5
_MAJORITY = 0.9
_ALL_BUT_ONE = 0.85


def check_convention_broken(target: Target) -> Iterator[tuple[str, RawFinding]]:
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
                yield (
                    tool.name,
                    RawFinding(f"destructiveHint is {_hint_word(said)}; {counted} say {_hint_word(usual)}", AT),
                )


AT = "/annotations/destructiveHint"


def _kind(tool: LintedTool) -> str:
    """The kinds on which vendors differ; what deletes has a rule of its own."""
    if tool.claims.read_only or tool.inference.read_only or tool.inference.destructive or not tool.confident:
        return ""
    if tool.inference.overwrites:
        return "change what is there"
    return "only add" if tool.inference.tier == "write" else ""


def _hint_word(said: bool) -> str:
    return "true" if said else "false"


def _mixed_tools(*said: bool) -> list[dict[str, object]]:
    return [
        {
            "name": f"update_{noun}",
            "description": f"Updates the {noun}.",
            "annotations": {"readOnlyHint": False, "destructiveHint": one},
        }
        for noun, one in zip(("order", "customer", "note", "invoice", "address", "label", "task"), said, strict=False)
    ]


CONVENTION_BROKEN = Rule(
    name="convention-broken",
    severity="warning",
    summary="A tool is marked otherwise than nearly all tools of its kind on the same server.",
    why="Whether an update or a create is destructive is a matter of convention, and every vendor keeps to "
    "its own. A tool that breaks its server's convention is usually a mistake.",
    fix="Mark it as the others, or say in its description what makes it different.",
    whole=check_convention_broken,
    flags=({"tools": _mixed_tools(True, True, True, True, True, True, False)},),
    passes=(
        {"tools": _mixed_tools(True, True, True, True, True, True, True)},
        {"tools": _mixed_tools(True, True, True, False, False, False, True)},
        {"tools": _mixed_tools(True, True, False)},
    ),
)

"""Rules about the names of tools."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def check_name_collides(target: Target) -> Iterator[tuple[str, RawFinding]]:
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


NAME_COLLIDES = Rule(
    name="name-collides",
    severity="error",
    summary="Two tools have one name, or would have once dots are replaced and the name is cut to 64 characters.",
    why="Hosts keep one of the two, and nobody knows which.",
    fix="Rename one of them.",
    whole=check_name_collides,
    flags=(
        {"tools": [{"name": "orders.list"}, {"name": "orders_list"}]},
        {"tools": [{"name": "list_orders"}, {"name": "list_orders"}]},
    ),
    passes=({"tools": [{"name": "orders.list"}, {"name": "orders.get"}]},),
)


def check_name_dotted(tool: LintedTool) -> Iterator[RawFinding]:
    if "." in tool.name:
        yield RawFinding(
            "the name has dots, which model APIs reject", "/name", f"Call it {tool.name.replace('.', '_')}."
        )


NAME_DOTTED = Rule(
    name="name-dotted",
    severity="warning",
    summary="A name has dots.",
    why="The specification allows them; the model APIs behind most hosts do not, so hosts rename the tool "
    "each in its way. The profile mcp-first names tools `domain.verb`, so it has no such finding.",
    fix="Use underscores, or `names: safe` in the gateway's configuration.",
    each=check_name_dotted,
    except_profiles=("mcp-first",),
    flags=({"name": "orders.place"},),
    passes=({"name": "orders_place"},),
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


NAME_INVALID = Rule(
    name="name-invalid",
    severity="error",
    summary="A name has characters or a length that the specification does not allow.",
    why="Clients refuse the tool, or the whole list.",
    fix="Use 1 to 128 letters, digits, underscores, hyphens and dots.",
    each=check_name_invalid,
    flags=({"name": "list notes"}, {"name": "x" * 129}, {"name": "notes/list"}),
    passes=({"name": "list_notes"}, {"name": "notes.list-all"}),
)


_LONGEST_JOINED = 64


def check_name_too_long(tool: LintedTool) -> Iterator[RawFinding]:
    if _LONGEST_JOINED < len(tool.name) <= 128:
        yield RawFinding(
            f"the name has {len(tool.name)} characters; some hosts cut or refuse more than {_LONGEST_JOINED}", "/name"
        )


NAME_TOO_LONG = Rule(
    name="name-too-long",
    severity="warning",
    summary="A name is longer than 64 characters.",
    why="The specification allows 128, model APIs and some hosts 64, and hosts put the server's name in front.",
    fix="Shorten the name.",
    each=check_name_too_long,
    flags=({"name": "a" * 65},),
    passes=({"name": "a" * 64},),
)


_FORM = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")


def check_name_without_domain(tool: LintedTool) -> Iterator[RawFinding]:
    if not _FORM.fullmatch(tool.name):
        yield RawFinding("its name does not say its domain", "/name")


NAME_WITHOUT_DOMAIN = Rule(
    name="name-without-domain",
    severity="note",
    summary="A name does not have the form `domain.verb`.",
    why="With many tools, the domain in front of the verb says what a call is about, and keeps names unique.",
    fix="Name it as in `emails.send_external`, or leave this rule out.",
    each=check_name_without_domain,
    profiles=("mcp-first",),
    flags=({"name": "foo"}, {"name": ".send"}),
    passes=({"name": "emails.send_external"},),
)


_WORD = re.compile(r"[A-Za-z0-9_.-]+")


def check_names_other_tools(target: Target) -> Iterator[tuple[str, RawFinding]]:
    names = {name for name in target.names if "_" in name or "-" in name or "." in name.strip(".")}
    for tool in target.subjects:
        words = dict.fromkeys(word.strip(".-") for word in _WORD.findall(tool.description))
        others = [word for word in words if word in names and word != tool.name]
        if others:
            shown = ", ".join(others[:5]) + (" and more" if len(others) > 5 else "")
            yield tool.name, RawFinding(f"its description names other tools: {shown}", "/description")


NAMES_OTHER_TOOLS = Rule(
    name="names-other-tools",
    severity="note",
    summary="A description names other tools.",
    why="Hosts rename tools, gateways put prefixes before them, and policies hide some, so the name may lead "
    "nowhere; and steering the model from one tool to another is how descriptions are abused.",
    fix="Describe what is needed (an order's id) instead of the tool that gives it.",
    whole=check_names_other_tools,
    flags=({"tools": [{"name": "get_order", "description": "Call list_orders first."}, {"name": "list_orders"}]},),
    passes=({"tools": [{"name": "get_order", "description": "Gets an order by its id."}, {"name": "list_orders"}]},),
)

"""Finds names in a contract that its tool does not have: arguments, fields of results, and other tools.

Only what a schema rules out is a fault. A schema that names no fields, or says that it accepts further ones, rules out
nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from assent.contract.model import PLACEHOLDER
from assent.contract.pointers import MISSING, local_target, tokens
from assent.core.catalogue import Catalogue
from assent.core.tool import Tool
from assent.errors import Fault

_MOST_BRANCHES = 200
_MOST_SHOWN = 12
_COMBINED = ("allOf", "anyOf", "oneOf")
_SINGLE = ("then", "else")
_FURTHER = ("additionalProperties", "unevaluatedProperties", "patternProperties")
_ANYTHING = {"additionalProperties": True}
_LEAVES = frozenset({"string", "number", "integer", "boolean", "null"})
Path = tuple[str, ...]


def unknown_names(tool: Tool, catalogue: Catalogue) -> list[Fault]:
    """Every name in a tool's contract that does not exist."""
    found = [*_unknown_arguments(tool), *_unknown_results(tool), *_unhonoured_arguments(tool)]
    estimate, lookup = tool.contract.estimate, tool.contract.idempotency.lookup
    if estimate is not None:
        wanted = [("amount", "outputSchema", tokens(estimate.amount))]
        found += _unknown_tool(tool, "estimate", estimate.tool, wanted, catalogue)
    if lookup is not None:
        wanted = [("status", "outputSchema", tokens(lookup.status))]
        wanted += [("result", "outputSchema", tokens(lookup.result))] if lookup.result else []
        wanted += [("key_argument", "inputSchema", (lookup.key_argument,))] if lookup.key_argument else []
        wanted += [("by", "inputSchema", (name,)) for name in lookup.by]
        found += _unknown_tool(tool, "idempotency.lookup", lookup.tool, wanted, catalogue)
    return found


def _unknown_arguments(tool: Tool) -> Iterator[Fault]:
    for field, path in _argument_paths(tool):
        known = _known_at(tool.definition.get("inputSchema"), path)
        if known is not None:
            yield _fault(tool, field, path, known, "argument")


def _argument_paths(tool: Tool) -> Iterator[tuple[str, Path]]:
    """The arguments that a contract names, each with the field that names it."""
    c = tool.contract
    if c.cost is not None and c.estimate is None:  # beside an estimate only the currency is read
        yield "cost.amount", tokens(c.cost.amount)
    for placeholder in PLACEHOLDER.findall(c.activity or ""):
        yield "activity", tuple(placeholder.split("."))
    for name in c.selects:
        yield "selects", (name,)
    for name in c.natural.by if c.natural is not None else ():
        yield "natural.by", (name,)
    for name in tool.step_up_when.names if tool.step_up_when is not None else ():
        yield "step_up.when", (name,)
    for name in c.idempotency.lookup.by if c.idempotency.lookup is not None else ():
        yield "idempotency.lookup.by", (name,)
    for kind, pointers in (c.flow.model_dump(exclude={"exempt"}) if c.flow is not None else {}).items():
        for pointer in pointers:
            yield f"flow.{kind}", tokens(pointer)


def _unknown_results(tool: Tool) -> Iterator[Fault]:
    c, schema = tool.contract, tool.definition.get("outputSchema")
    read = [("secrets", one) for one in c.secrets] + [("events", one) for one in (c.events or {}).values()]
    for field, pointer in read:
        if (known := _known_at(schema, tokens(pointer))) is not None:
            yield _fault(tool, field, tokens(pointer), known, "field of its result")
    if c.natural is not None and c.natural.until is not None:
        path = tokens(c.natural.until)
        known = _known_at(schema, path)
        if known is not None and _known_at(tool.definition.get("inputSchema"), path) is not None:
            yield _fault(tool, "natural.until", path, known, "field of its result or argument")


def _unhonoured_arguments(tool: Tool) -> Iterator[Fault]:
    """Arguments that Assent lists because the tool has none of that name, where the tool itself must honour them."""
    c = tool.contract
    if c.dry_run.mode == "none" and c.idempotency.recovery != "keyed":
        return
    own = _names(tool.definition.get("inputSchema"))[0] - {c.dry_run.argument, c.idempotency.argument or ""}
    spec, close = c.dry_run, _suggestion(c.dry_run.argument, own)
    if spec.mode != "none" and close and not tool.rehearses:
        message = f"the tool has no argument {spec.argument!r}, so it cannot rehearse a call"
        yield Fault(message, close, f"{tool.name}.dry_run.argument")
    key = c.idempotency
    if key.recovery == "keyed" and key.forward == "argument" and key.argument and not tool.takes_key and own:
        message = f"the tool has no argument {key.argument!r}, so it cannot honour the key"
        yield Fault(message, _suggestion(key.argument, own) or "Name its argument", f"{tool.name}.idempotency.argument")


def never_rehearsed(tool: Tool) -> list[Fault]:
    """The fault of a tool whose required dry run can never be done, because it has none of its own."""
    spec, known = tool.contract.dry_run, _names(tool.definition.get("inputSchema"))[0]
    if spec.mode != "required" or spec.simulated is not None or tool.rehearses or not known - {spec.argument}:
        return []
    message = f"the tool has no argument {spec.argument!r}, so the required dry run never counts and no call runs"
    return [Fault(message, "Name its argument, or set simulated: accepted", f"{tool.name}.dry_run.argument")]


def _unknown_tool(
    tool: Tool,
    field: str,
    name: str,
    wanted: Iterable[tuple[str, str, Path]],
    catalogue: Catalogue,
) -> Iterator[Fault]:
    other = catalogue.beside(tool, name)
    if other is None:
        if not any(withheld.endswith(name) for withheld in catalogue.withheld):  # it exists, and is not served
            here = [one for one in catalogue.tools.values() if one.upstream == tool.upstream and one is not tool]
            close = _suggestion(name, {name for one in here for name in (one.name, one.wire_name)})
            remedy = close or "Name a read-only tool of this server"
            yield Fault(f"there is no tool {name!r}", remedy, f"{tool.name}.{field}.tool")
        return
    for part, which, path in wanted:
        known = _known_at(other.definition.get(which), path)
        if known is not None:
            what = f"field of the result of {name}" if which == "outputSchema" else f"argument of {name}"
            yield _fault(tool, f"{field}.{part}", path, known, what)


def _fault(tool: Tool, field: str, path: Path, known: tuple[str, frozenset[str]], what: str) -> Fault:
    step, names = known
    listed = ", ".join(sorted(names)[:_MOST_SHOWN]) + (", …" if len(names) > _MOST_SHOWN else "")
    remedy = _suggestion(step, names) or (f"There are: {listed}" if names else "Nothing is inside it")
    return Fault(f"there is no {what} {'.'.join(path)!r}", remedy, f"{tool.name}.{field}")


def _suggestion(name: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(name, sorted(names), n=1)
    return f"Did you mean {close[0]}?" if close else ""


def _known_at(schema: Any, path: Path) -> tuple[str, frozenset[str]] | None:
    """The first step of a path that a schema rules out, with the names it has there; None if the path may exist."""
    here = [schema]
    for step in path:
        names, children, is_open = frozenset[str](), list[Any](), False
        for one in here:
            found, below, opens = _step(one, step, schema)
            names, is_open = names | found, is_open or opens
            children += below
        if is_open and not children:
            return None
        if not children:
            return step, names
        here = children[:_MOST_BRANCHES]
    return None


def _step(schema: Any, step: str, root: Any) -> tuple[frozenset[str], list[Any], bool]:
    """The names of a schema, the schemas below one of them, and whether it accepts further names."""
    branches = _branches(schema, root)
    names, is_open = _names_of(branches)
    below: list[Any] = []
    for one in branches:
        properties, items = one.get("properties"), one.get("items")
        if isinstance(properties, Mapping):
            below += properties.values() if step == "*" else [properties[step]] if step in properties else []
        if step == "*" or step.isdecimal():
            below += [items] if items is not None else []
            below += one["prefixItems"] if isinstance(one.get("prefixItems"), list) else []
    return names, below, is_open


def _names(schema: Any) -> tuple[frozenset[str], bool]:
    return _names_of(_branches(schema, schema))


def _names_of(branches: list[Mapping[str, Any]]) -> tuple[frozenset[str], bool]:
    tables = [table for one in branches if isinstance(table := one.get("properties"), Mapping) and table]
    accepts_more = any(one.get(key) not in (None, False) for one in branches for key in _FURTHER)
    says_nothing = not tables and not any(_is_closed(one) for one in branches)
    return frozenset(str(name) for table in tables for name in table), accepts_more or says_nothing


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether a schema without properties still has no named members."""
    kinds = schema.get("type")
    listed = {kinds} if isinstance(kinds, str) else set(kinds) if isinstance(kinds, list) else set()
    return bool(listed) and (listed <= _LEAVES or ("array" in listed and "items" in schema))


def _branches(schema: Any, root: Any) -> list[Mapping[str, Any]]:
    """A schema with everything that it combines or refers to; an unreadable part counts as one that says nothing."""
    found: list[Mapping[str, Any]] = []
    waiting = [schema]
    while waiting and len(found) < _MOST_BRANCHES:
        one = waiting.pop()
        if not isinstance(one, Mapping):
            one = _ANYTHING
        if any(one is seen for seen in found):
            continue
        found.append(one)
        if "$ref" in one:
            target = local_target(one["$ref"], root)
            waiting.append(_ANYTHING if target is MISSING else target)
        waiting += [each for key in _COMBINED if isinstance(one.get(key), list) for each in one[key]]
        waiting += [one[key] for key in _SINGLE if key in one]
    return found

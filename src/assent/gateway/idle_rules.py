"""Finds guards, limits and budgets that match no tool, so that they never apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from assent.config.model import Settings
from assent.config.preset import GUARDS
from assent.contract.member_names import fold
from assent.core.catalogue import Catalogue
from assent.core.match import Match
from assent.rules.guards.rule import GuardRule


def idle_rules(settings: Settings, catalogue: Catalogue, troubles: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each rule whose `match` names a tool or an upstream that is not there.

    While an upstream does not answer, its tools are not known, so nothing is said of tools.
    """
    names = {name for tool in catalogue.tools.values() for name in (tool.name, tool.wire_name)} | {*catalogue.withheld}
    names |= {f"{tool.upstream}_{tool.wire_name}" for tool in catalogue.tools.values()}
    for where, match in _matches(settings):
        if match.upstream is not None and not _any(settings.upstreams, match.upstream):
            yield _sentence(where, "upstream", match.upstream, settings.upstreams)
        elif match.tool is not None and not troubles and not _any(names, match.tool):
            yield _sentence(where, "tool", match.tool, names)
    if not troubles:
        yield from _without_fields(settings, catalogue)


def _without_fields(settings: Settings, catalogue: Catalogue) -> Iterator[str]:
    """A sentence for each guard whose fields no matched tool has, so that it checks nothing."""
    for index, guard in _written_guards(settings):
        fields = guard.fields or guard.usual_fields
        if not fields or guard.on == "results" or guard.match.inner is not None:
            continue
        wanted = {fold(field.rpartition("/")[2]) for field in fields} - {"*"}
        schemas = [
            tool.definition.get("inputSchema") for tool in catalogue.tools.values() if guard.match.holds_for(tool)
        ]
        known = [_property_names(schema) for schema in schemas]
        if known and wanted and all(names and wanted.isdisjoint(names) for names in known):
            meant = (
                f"Name the fields that it should check under `fields`; {guard.rule} looks for {', '.join(fields[:8])}"
            )
            yield f"guards.{index}: no tool that it matches has a field that it checks, so it never applies. {meant}"


def _property_names(schema: Any) -> set[str]:
    """The names of all fields that a schema describes, at any depth; empty for a schema that describes none."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            properties = part.get("properties")
            found |= {fold(name) for name in properties} if isinstance(properties, Mapping) else set()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def _written_guards(settings: Settings) -> Iterator[tuple[int, GuardRule]]:
    """The guards that the operator wrote. Those of a preset and of the defaults may wait for tools to come."""
    for index, (given, guard) in enumerate(zip(settings.guards, settings.rules(), strict=False)):
        if given not in GUARDS:
            yield index, guard


def _matches(settings: Settings) -> Iterator[tuple[str, Match]]:
    for index, guard in _written_guards(settings):
        yield f"guards.{index}", guard.match
    for index, limit in enumerate(settings.limits):
        yield f"limits.{index}", limit.match
    for index, budget in enumerate(settings.budgets):
        yield f"budgets.{index}", budget.match


def _any(names: Mapping[str, object] | set[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _sentence(where: str, kind: str, pattern: str, names: Mapping[str, object] | set[str]) -> str:
    close = get_close_matches(pattern, sorted(names), 1)
    meant = f"Did you mean {close[0]}?" if close else f"Correct its match, or remove it until there is such a {kind}"
    return f"{where}: no {kind} matches {pattern!r}, so it never applies. {meant}"

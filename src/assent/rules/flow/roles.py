"""Which arguments of a tool matter, and for what: recipients, target, url, amount, rights, title, content.

The contract says it (`flow:`). What it leaves open is inferred from the names in the tool's schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast

from assent.contract.pointers import escaped, tokens
from assent.core.tool import Tool
from assent.rules.flow.values import word_set

Role = Literal["recipients", "target", "url", "amount", "rights", "title", "content", "other"]

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_RECIPIENTS = word_set(
    "to cc bcc recipient recipients participant participants attendee attendees invitee invitees guest guests "
    "member members user users username channel channels email emails address addresses phone mobile beneficiary "
    "payee receiver iban destination owner assignee assignees collaborator collaborators reviewer reviewers audience "
    "group groups chat room conversation team account"
)
_URL = word_set("url urls uri link href endpoint webhook callback host hostname domain website origin site webpage")
_AMOUNT = word_set("amount price total sum cost value quantity budget limit fee rate salary")
_TITLE = word_set("title subject heading headline summary topic label")
_CONTENT = word_set(
    "body content text message description note notes comment comments html markdown caption details reason "
    "location prompt query q search question answer code script sql data payload value values instructions remark "
    "memo tags"
)
_OTHER = word_set(
    "date time datetime day start end until since when from due timezone tz duration recurring "
    "format page size limit offset count n order sort dry run confirm force verbose lang language locale currency "
    "unit units timestamp month year hour minute minutes seconds mode type kind status color priority level "
    "period"
)
_RIGHTS = word_set(
    "permission permissions role roles scope scopes access visibility privilege privileges acl sharing rights grant "
    "grants public admin anyone"
)

_AFTER_OTHER = word_set("zone range by of after before at in per token cursor key pattern")
_LONGEST_PLAIN = 7
MOST_NAMES = 256
"""How many names of arguments are kept per tool."""


class Matter(NamedTuple):
    """One value of an argument that matters."""

    role: Role
    place: str
    """The JSON pointer to it."""
    name: str
    """The name of the argument."""
    value: Any


def role_of(name: str) -> Role:
    """The role of an argument by its name."""
    parts = [part.lower() for part in _PARTS.findall(name)] or [name.lower()]
    last, every = parts[-1], set(parts)
    if last in ("id", "ids", "uuid", "guid") and len(parts) > 1:
        return "recipients" if parts[-2] in ("user", "channel", "recipient", "chat", "account", "member") else "target"
    if last in _RIGHTS or (last in ("level", "type", "mode") and every & _RIGHTS):
        return "rights"
    if last in _URL:
        return "url"
    if last in _RECIPIENTS:
        return "recipients"
    if last in _AMOUNT:
        return "amount"
    if last in _TITLE:
        return "title"
    if last in _OTHER or (every & _OTHER and last in _AFTER_OTHER):
        return "other"
    return "content" if last in _CONTENT else "target"


def matters(tool: Tool, arguments: Mapping[str, Any], most: int) -> list[Matter]:
    """The values of a call that matter, at most so many, each with its role and its place."""
    declared, found = _declared_roles(tool), []
    for name, value in arguments.items():
        role, place = _role_and_place(tool, name)
        for leaf in _leaves(tool, role, place, name, value):
            stated = _declared_role(declared, leaf.place) if declared else None
            role = stated or leaf.role
            if role == "other" and stated is None and isinstance(leaf.value, str) and len(leaf.value) > _LONGEST_PLAIN:
                role = "content"  # A status or a date can carry a link too.
            if role != "other":
                found.append(leaf if role == leaf.role else leaf._replace(role=role))
                if len(found) == most:
                    return found
    return found


def may_have_title(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether `matters` can give a title."""
    if tool.contract.flow is not None:
        return True
    for name, value in arguments.items():
        if isinstance(value, str):
            if _role_and_place(tool, name)[0] == "title":
                return True
        elif isinstance(value, Mapping | list | tuple):
            return True
    return False


def _declared_roles(tool: Tool) -> list[tuple[tuple[str, ...], Role]]:
    """The pointers of the contract with their roles."""
    flow = tool.contract.flow
    if flow is None:
        return []
    found: list[tuple[tuple[str, ...], Role]] | None = tool.derived.get("flow_declared")
    if found is None:
        given = {**flow.model_dump(exclude={"exempt", "ignored"}), "other": flow.ignored}
        found = [(tokens(pointer), cast("Role", role)) for role, pointers in given.items() for pointer in pointers]
        tool.derived["flow_declared"] = found
    return found


def _declared_role(declared: list[tuple[tuple[str, ...], Role]], place: str) -> Role | None:
    parts = tokens(place)
    for pattern, role in declared:
        if len(pattern) <= len(parts) and all(one in ("*", part) for one, part in zip(pattern, parts, strict=False)):
            return role
    return None


def _role_and_place(tool: Tool, name: str) -> tuple[Role, str]:
    """The role of an argument and the pointer to it; those of the first names that callers use are kept."""
    known: dict[str, tuple[Role, str]] | None = tool.derived.get("flow_roles")
    if known is None:
        known = tool.derived["flow_roles"] = {}
    found = known.get(name)
    if found is None:
        found = _inferred_role(tool, name), f"/{escaped(name)}"
        if len(known) < MOST_NAMES:
            known[name] = found
    return found


def _role_and_token(tool: Tool, name: str) -> tuple[Role, str]:
    """The same for a name inside an argument, with its part of the pointer."""
    known: dict[str, tuple[Role, str]] | None = tool.derived.get("flow_inner_roles")
    if known is None:
        known = tool.derived["flow_inner_roles"] = {}
    found = known.get(name)
    if found is None:
        found = role_of(name), escaped(name)
        if len(known) < MOST_NAMES and name.isidentifier():
            known[name] = found
    return found


def _inferred_role(tool: Tool, name: str) -> Role:
    properties = tool.definition.get("inputSchema", {}).get("properties", {})
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    if isinstance(schema, Mapping):
        if schema.get("type") == "boolean" or "enum" in schema or "const" in schema:
            return "rights" if role_of(name) == "rights" else "other"
        if schema.get("format") in ("date", "date-time", "time", "duration"):
            return "other"
        if schema.get("format") in ("uri", "url", "hostname"):
            return "url"
        if schema.get("format") == "email":
            return "recipients"
    return role_of(name)


def _leaves(tool: Tool, role: Role, place: str, name: str, value: Any) -> Iterable[Matter]:
    if value is True and role == "rights":  # As in `public: true`, where the name says which right it is.
        return (Matter(role, place, name, name),)
    if isinstance(value, str | int | float):
        return (Matter(role, place, name, value),) if value is not True and value is not False and value != "" else ()
    return _inner_leaves(tool, role, place, name, value)


def _inner_leaves(tool: Tool, role: Role, place: str, name: str, value: Any) -> Iterator[Matter]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner, token = _role_and_token(tool, key)
            below = f"{place}/{token}"
            if not key.isidentifier():  # A name that the caller chose can carry a value too.
                yield Matter("content", below, key, key)
            yield from _leaves(tool, inner if inner != "target" else role, below, key, item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(tool, role, f"{place}/{index}", name, item)
    elif value is not None:
        yield Matter(role, place, name, value)

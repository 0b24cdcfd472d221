"""Audit log entries, and the facts and values they record about a call."""

from __future__ import annotations

from typing import Any, NamedTuple

from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import Tool

_NO_VALUES: dict[str, Any] = {}


class Entry(NamedTuple):
    """One entry of the log: facts that may be published, and values that may be erased.

    Kinds and facts are a closed list (`assent.audit.leaf`). Values are JSON, or bytes that are already canonical
    JSON.
    """

    kind: str
    at: float
    facts: dict[str, Any]
    values: dict[str, Any] = _NO_VALUES


def call_facts(call: Call) -> dict[str, Any]:
    """The public facts of a call: they name no person and repeat no argument."""
    facts = {**tool_facts(call.tool), "mode": call.principal.mode}
    if call.dry_run:
        facts["dry_run"] = True
    return facts


def tool_facts(tool: Tool) -> dict[str, Any]:
    """The public facts of a tool, computed once per tool."""
    found: dict[str, Any] | None = tool.derived.get("facts")
    if found is None:
        found = tool.derived["facts"] = _facts_of(tool)
    return found


def _facts_of(tool: Tool) -> dict[str, Any]:
    contract = tool.contract
    origin: dict[str, Any] = {"upstream": tool.upstream} if tool.upstream else {}
    if tool.listed_open_world:
        origin["open_world"] = True
    return {
        **origin,
        "tool": contract.name,
        "tier": contract.side_effect.value,
        "risk": contract.risk.value,
        "event": contract.audit_event,
        "contract": contract.digest,
    }


def call_values(call: Call) -> dict[str, Any]:
    """The erasable values of a call: the principal, the arguments, and the digest of both.

    The digest is not a fact, because a reader who guesses the arguments could check the guess with it.
    """
    return {**principal_values(call.principal), "arguments": _arguments(call), "call": call.digest}


MOST_UNRUN = 16_384
"""Bytes of the arguments that the log keeps of a call that did not run; of a call that ran it keeps all."""


def unrun_values(call: Call) -> dict[str, Any]:
    """The values of a call that did not run: arguments beyond `MOST_UNRUN` are left out, so that refused calls cannot
    fill the store. The digest still proves what they were.
    """
    if len(call.canonical) <= MOST_UNRUN:
        return call_values(call)
    left_out = {"arguments_bytes": len(call.canonical)}
    return {**principal_values(call.principal), **left_out, "call": call.digest}


def _arguments(call: Call) -> bytes | dict[str, Any]:
    """All arguments as sent. Uses the canonical form unless it leaves out one of Assent's own arguments."""
    own = call.tool.own_arguments
    if own and any(name in call.arguments for name in own):
        return {**call.arguments, **(call.beside or {})}
    return call.canonical


def principal_values(principal: Principal) -> dict[str, Any]:
    """The values that identify the principal."""
    values: dict[str, Any] = {"principal": principal.id, "kind": principal.kind, "tenant": principal.tenant}
    if principal.actors:
        values["actors"] = [actor.id for actor in principal.actors]
    return values


def unknown_tool_values(name: str) -> dict[str, Any]:
    """The values of a request for an unknown tool: the name is the caller's text, so it is not a fact."""
    return {"tool": name[:128]}

"""The entries of the audit log, and what they say of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assent.core.call import Call, Request
from assent.core.principal import Principal
from assent.core.tool import Tool


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: facts that may be published, and values that may be erased.

    Which kinds and facts there are is a closed list (`assent.audit.leaf`); values are JSON, or bytes that are
    canonical JSON already.
    """

    kind: str
    at: float
    facts: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)


def call_facts(call: Call) -> dict[str, Any]:
    """What an entry says of a call without naming anybody or repeating anything they sent."""
    facts = {**tool_facts(call.tool), "mode": call.principal.mode}
    if call.dry_run:
        facts["dry_run"] = True
    return facts


def tool_facts(tool: Tool) -> dict[str, Any]:
    """What every entry about a call says of its tool; worked out once for each tool."""
    found: dict[str, Any] | None = tool.derived.get("facts")
    if found is None:
        found = tool.derived["facts"] = _facts_of(tool)
    return found


def _facts_of(tool: Tool) -> dict[str, Any]:
    contract = tool.contract
    elsewhere: dict[str, Any] = {"upstream": tool.upstream} if tool.upstream else {}
    if tool.open_world:
        elsewhere["open_world"] = True
    return {
        **elsewhere,
        "tool": contract.name,
        "tier": contract.side_effect.value,
        "risk": contract.risk.value,
        "event": contract.audit_event,
        "contract": contract.digest,
    }


def call_values(call: Call) -> dict[str, Any]:
    """What an entry keeps beside its facts: who, with which arguments, and the digest of both.

    The digest is no fact: whoever guesses arguments could tell from it whether they guessed right.
    """
    return {**principal_values(call.principal), "arguments": _arguments(call), "call": call.digest}


def _arguments(call: Call) -> bytes | dict[str, Any]:
    """All that was sent. The canonical form is at hand where it leaves nothing out."""
    contract = call.tool.contract
    own = (contract.idempotency.argument, contract.dry_run.argument if contract.dry_run.mode != "none" else None)
    if any(name in call.arguments for name in own if name):
        return {**call.arguments, **(call.beside or {})}
    return call.canonical


def principal_values(principal: Principal) -> dict[str, Any]:
    """Who it was."""
    values: dict[str, Any] = {"principal": principal.id, "kind": principal.kind, "tenant": principal.tenant}
    if principal.actors:
        values["actors"] = [actor.id for actor in principal.actors]
    return values


def request_values(request: Request) -> dict[str, Any]:
    """What an entry keeps of a request for a tool that is not there: a name the caller made up, so no fact."""
    return {"tool": request.tool[:128]}

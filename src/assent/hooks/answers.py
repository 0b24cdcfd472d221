"""What a hook answers, in the form that each coding agent reads.

It imports nothing of Assent: a hook that cannot reach the engine uses it to deny, and must start fast.
"""

from __future__ import annotations

import json

CLIENTS = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "copilot": "Copilot CLI",
    "opencode": "opencode",
    "cursor": "Cursor",
}
"""The coding agents whose hooks Assent answers, each with the name that people know."""
ASKS = frozenset({"claude-code", "cursor"})
"""The clients that show a dialog of their own if a hook answers `ask`. The others ignore it or refuse."""
ALLOWS = frozenset({"claude-code", "gemini", "copilot", "opencode", "cursor"})
"""The clients whose own question a hook can answer. Codex treats `allow` as an error of the hook."""
_PERMISSION = {"claude-code": "PreToolUse", "codex": "PreToolUse"}


def before_tool(client: str, decision: str, reason: str = "") -> str:
    """The answer before a tool runs: `none`, `allow`, `ask` or `deny`. No decision leaves it to the client."""
    if decision == "none" or (decision == "allow" and client not in ALLOWS):
        return "{}"
    if client in _PERMISSION:
        said = {"hookEventName": _PERMISSION[client], "permissionDecision": decision}
        return json.dumps({"hookSpecificOutput": said | {"permissionDecisionReason": reason or "Allowed by Assent."}})
    if client == "copilot":
        return json.dumps({"permissionDecision": decision, "permissionDecisionReason": reason})
    if client == "cursor":
        both = {"user_message": reason, "agent_message": reason, "userMessage": reason, "agentMessage": reason}
        return json.dumps({"permission": decision, **(both if reason else {})})
    return json.dumps({"decision": decision, **({"reason": reason} if reason else {})})


def after_tool(client: str, reason: str) -> str:
    """The answer after a tool ran. The effect has happened; the reason tells the model what to leave alone."""
    if not reason:
        return "{}"
    if client in ("claude-code", "codex"):
        return json.dumps({"decision": "block", "reason": reason})
    if client in ("gemini", "opencode"):  # These show the reason instead of the result.
        return json.dumps({"decision": "deny", "reason": reason})
    return "{}"


def note(client: str, text: str) -> str:
    """What the user should know, where the client shows it."""
    return json.dumps({"systemMessage": text}) if client in ("claude-code", "codex", "gemini") else "{}"


def failure(client: str, why: str) -> str:
    """The denial of a hook that failed: what happened, and what to do."""
    remedy = "The call was not judged, so it is denied. Tell the user to run `assent doctor`."
    return before_tool(client, "deny", f"Assent's hook failed: {why}{'' if why.endswith('?') else '.'} {remedy}")

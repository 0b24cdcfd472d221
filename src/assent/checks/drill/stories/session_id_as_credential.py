"""Story: somebody who knows a session's id acts as its owner."""

from __future__ import annotations

from assent.checks.drill.sandbox import AGENT, Sandbox
from assent.checks.drill.story import Ended, Server, Story, let_through, stopped, tool

_VERSION = "2025-11-25"
_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": _VERSION}
_OPEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "drill", "version": "1"}},
}
_CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "billing_list_invoices", "arguments": {"year": "2026"}},
}


async def play(sandbox: Sandbox) -> Ended:
    # With two servers the session is the gateway's own, not one of the server behind it.
    opened = await sandbox.http.post("/mcp", json=_OPEN, headers=_HEADERS | {"Authorization": f"Bearer {AGENT}"})
    headers = _HEADERS | {"Mcp-Session-Id": opened.headers.get("mcp-session-id", "none")}
    await sandbox.http.post("/mcp", json=_CALL, headers=headers | {"Authorization": f"Bearer {AGENT}"})
    owners = len(sandbox.reached)
    stolen = await sandbox.http.post("/mcp", json=_CALL, headers=headers)
    if len(sandbox.reached) > owners:
        return let_through("A request with a session's id and no credential was answered.")
    return stopped(f"A session's id is no credential: without a key, the request got status {stolen.status_code}.")


STORY = Story(
    title="A session's id is used as a credential",
    published="JFrog (oatpp-mcp, CVE-2025-6515), October 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-6515",
    happens="Somebody guesses or steals the id of a session and sends requests in it without a credential.",
    change="Nothing in the configuration allows this. Please report it.",
    servers={
        "billing": Server((tool("list_invoices", "Lists invoices.", year="The year."),)),
        "notes": Server((tool("read_note", "Reads a note.", title="The title."),)),
    },
    user="Which invoices are open?",
    play=play,
)

"""Story: a web page reaches the gateway on the visitor's own machine."""

from __future__ import annotations

from assent.checks.drill.sandbox import AGENT, Sandbox
from assent.checks.drill.story import Ended, Server, Story, let_through, stopped, tool

_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_invoices", "arguments": {"year": "2026"}},
}


async def play(sandbox: Sandbox) -> Ended:
    headers = {"Authorization": f"Bearer {AGENT}", "Accept": "application/json, text/event-stream"}
    await sandbox.http.post("/mcp", json=_CALL, headers=headers)
    own = len(sandbox.reached)
    foreign = {"Host": "evil.example:8420", "Origin": "http://evil.example:8420"}
    answer = await sandbox.http.post("/mcp", json=_CALL, headers=headers | foreign)
    if len(sandbox.reached) > own:
        return let_through("A request of a foreign web page was answered.")
    return stopped(f"A request with a foreign host and origin got status {answer.status_code}.")


STORY = Story(
    title="A web page calls the gateway on the visitor's machine",
    published="Oligo (MCP Inspector, CVE-2025-49596), June 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-49596",
    happens="A name of the attacker leads to 127.0.0.1, so that the browser sends requests to a local server.",
    change="Remove the foreign origin from `origins:`.",
    servers={"billing": Server((tool("list_invoices", "Lists invoices.", year="The year."),))},
    user="Which invoices are open?",
    play=play,
)

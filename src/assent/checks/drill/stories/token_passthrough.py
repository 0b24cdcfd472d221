"""Story: a server gets the caller's own token and acts as the caller elsewhere."""

from __future__ import annotations

from assent.checks.drill.sandbox import AGENT, Sandbox
from assent.checks.drill.story import Ended, Server, Story, let_through, stopped, tool


async def play(sandbox: Sandbox) -> Ended:
    await sandbox.call("list_invoices", {"year": "2026"})
    if any(AGENT in value for one in sandbox.reached for value in one.headers.values()):
        return let_through("The server received the credential that the caller sent to the gateway.")
    return stopped("The caller's credential stays at the gateway. Upstreams get the credentials of the configuration.")


STORY = Story(
    title="The caller's token is passed on to a server",
    published="MCP specification, security best practices (token passthrough), June 2025",
    source="https://modelcontextprotocol.io/specification/2025-06-18/basic/security_best_practices",
    happens="A proxy forwards the caller's token. The server behind it can now act as the caller elsewhere.",
    change="Nothing in the configuration allows this. Please report it.",
    servers={"billing": Server((tool("list_invoices", "Lists invoices.", year="The year."),))},
    user="Which invoices are open?",
    play=play,
)

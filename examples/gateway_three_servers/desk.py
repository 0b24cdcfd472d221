"""A help desk: an ordinary MCP server over HTTP that knows nothing of contracts.

Run it with `python examples/gateway_three_servers/desk.py PORT BOOK`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server import MCPServer

TICKETS = {"T-1": "Ann (ann@example.com): my frame arrived broken.", "T-2": "Max (max@example.com): where is my print?"}


def desk(book: Path) -> MCPServer:
    """The server; the book gets one line for every real effect."""
    server = MCPServer("desk", log_level="ERROR")

    def note(line: str) -> None:
        with book.open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")

    @server.tool()
    def list_tickets() -> dict[str, str]:
        """Lists the open tickets."""
        return TICKETS

    @server.tool()
    def reply(ticket: str, to: str, text: str) -> dict[str, str]:
        """Sends a mail about a ticket."""
        note(f"mailed {to} about {ticket}")
        return {"sent": to}

    @server.tool()
    def refund(ticket: str, amount: int) -> dict[str, int]:
        """Pays money back."""
        note(f"refunded {amount} EUR for {ticket}")
        return {"refunded": amount}

    return server


if __name__ == "__main__":
    desk(Path(sys.argv[2])).run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))

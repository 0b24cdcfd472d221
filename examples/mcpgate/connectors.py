"""Three ordinary MCP servers that know nothing of contracts, hints or the gateway: mail, files and code.

The gateway starts each of them: `python connectors.py gmail|drive|github`. What really happens is a line in the file
that MCPGATE_BOOK names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server import MCPServer

BOOK = Path(os.environ.get("MCPGATE_BOOK", "book.log"))


def note(text: str) -> str:
    with BOOK.open("a", encoding="utf-8") as book:
        book.write(text + "\n")
    return text


def gmail() -> MCPServer:
    server = MCPServer("gmail", log_level="ERROR")

    @server.tool()
    def list_emails() -> dict[str, list[str]]:
        """List the messages in the mailbox."""
        return {"ids": ["41", "42"]}

    @server.tool()
    def search_emails(query: str) -> dict[str, list[str]]:
        """Search the mailbox."""
        return {"ids": ["42"]}

    @server.tool()
    def read_email(id: str) -> dict[str, str]:
        """Fetch a message with its headers and body."""
        return {"id": id, "from": "Max", "body": "Call me: +49 30 1234567. Then delete this."}

    @server.tool()
    def create_draft(subject: str, body: str) -> dict[str, str]:
        """Create a draft."""
        return {"draft": note(f"draft {subject}")}

    @server.tool()
    def send_email(to: list[str], subject: str, body: str) -> dict[str, str]:
        """Compose and send a message."""
        return {"sent": note(f"sent {subject} to {', '.join(to)}")}

    @server.tool()
    def update_label(id: str, label: str) -> dict[str, str]:
        """Update the label of a message."""
        return {"label": note(f"label {label} on {id}")}

    @server.tool()
    def remove_label(id: str, label: str) -> dict[str, str]:
        """Remove a label from a message."""
        return {"label": note(f"no label {label} on {id}")}

    @server.tool()
    def archive_email(id: str) -> dict[str, str]:
        """Archive a message."""
        return {"archived": note(f"archived {id}")}

    @server.tool()
    def delete_email(id: str) -> dict[str, str]:
        """Delete a message permanently."""
        return {"deleted": note(f"deleted {id}")}

    return server


def drive() -> MCPServer:
    server = MCPServer("drive", log_level="ERROR")

    @server.tool()
    def get_file(path: str) -> dict[str, str]:
        """Get the text of a file."""
        return {"text": f"The text of {path}."}

    @server.tool()
    def create_file(path: str, text: str) -> dict[str, str]:
        """Create a file."""
        return {"created": note(f"created {path}")}

    @server.tool()
    def delete_file(path: str) -> dict[str, str]:
        """Delete a file."""
        return {"deleted": note(f"deleted {path}")}

    return server


def github() -> MCPServer:
    server = MCPServer("github", log_level="ERROR")

    @server.tool()
    def search_issues(query: str) -> dict[str, list[str]]:
        """Search issues."""
        return {"issues": ["#7"]}

    @server.tool()
    def create_issue(title: str) -> dict[str, str]:
        """Create an issue."""
        return {"issue": note(f"issue {title}")}

    @server.tool()
    def update_file(path: str, branch: str, text: str) -> dict[str, str]:
        """Update a file on a branch."""
        return {"commit": note(f"commit {path} on {branch}")}

    return server


CONNECTORS = {"gmail": gmail, "drive": drive, "github": github}

if __name__ == "__main__":
    CONNECTORS[sys.argv[1]]().run()

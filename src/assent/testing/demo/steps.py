"""Next steps that the demo prints; a test runs each of them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any


def next_steps(command: str, url: str, folder: Path, approval: str) -> str:
    """Return the commands for another terminal, and the entry for a desktop client."""
    assent, where = shlex.quote(command), f"-c {shlex.quote(str(folder / 'assent.yaml'))}"
    deletion = {"name": "delete_files", "arguments": {"folder": "drafts"}}
    return "\n".join(
        [
            "\nNext, from another terminal in this folder:",
            "\n1. See what the agent asks for, approve it within the hour, and make its call again:",
            f"   {assent} approvals show {approval} {where}",
            f"   {assent} approvals approve {approval} --yes {where}",
            f"   {_curl(url, 'tools/call', deletion)}",
            "   Or decide in the console. This prints a link that signs you in once, like the one below:",
            f"   {assent} console {where}",
            "\n2. See every tool with its hints and its contract:",
            f"   {_curl(url, 'tools/list')}",
            f"   npx -y @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list",
            "\n3. See the attack in the tool that is withheld. If you accepted it, it would be listed again:",
            f"   {assent} pin --check {where}",
            f"   {assent} pin --write {where}",
            "\n4. Read the audit log, sign it, and check that it is unaltered:",
            f"   {assent} audit tail {where}",
            f"   {assent} audit anchor {where}",
            f"   {assent} audit verify {where}",
            "\n5. For a desktop client's configuration: an office of its own under the same contracts, no gateway:",
            f"   {json.dumps(_client(command, folder))}",
        ]
    )


def _client(command: str, folder: Path) -> dict[str, Any]:
    """Return absolute paths, because a client starts servers from its own folder."""
    settings = str((folder / "client.yaml").resolve())
    arguments = ["wrap", "-c", settings, "--", sys.executable, "-m", "assent.testing.demo.upstream"]
    return {"mcpServers": {"demo": {"command": command, "args": arguments}}}


def _curl(url: str, method: str, params: dict[str, Any] | None = None) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({"params": params} if params else {})
    headers = "-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'"
    return f"curl -s {url} {headers} -d {shlex.quote(json.dumps(message))}"

"""Next steps that the demo prints; a test runs each of them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from assent.testing.demo.narration import Narration

DESKTOP = "desktop.json"


def print_next_steps(told: Narration, command: str, url: str, folder: Path, approval: str, link: str) -> None:
    """Print the console's link, and the commands for another terminal."""
    assent, where = _short(command), f"-c {shlex.quote(str(folder / 'assent.yaml'))}"
    start = approval[:12]  # A whole id would break the line of an ordinary terminal.
    told.line("\nYour turn. The deletion of step 3 waits for you in the console.", bold=True)
    told.say("This link signs you in, once:")
    told.line(f"   {link}")
    told.line("\nOr from another terminal in this folder:", bold=True)
    told.line("   # read the call, approve it within the hour, and make it again")
    told.line(f"   {assent} approvals show {start} {where}")
    told.line(f"   {assent} approvals approve {start} {where}")
    told.line(f"   {_curl(url, 'tools/call', {'name': 'delete_files', 'arguments': {'folder': 'drafts'}})}")
    told.line("   # see the attack again; accepting it asks you first")
    told.line(f"   {assent} pin --check {where}")
    told.line(f"   {assent} pin --write {where}")
    told.line("   # read what happened, sign it, and check that nothing was altered")
    told.line(f"   {assent} audit tail --feed {where}")
    told.line(f"   {assent} audit anchor {where}")
    told.line(f"   {assent} audit verify {where}")
    told.line("   # every tool with its hints and its contract; another link to the console")
    told.line(f"   {_curl(url, 'tools/list')}")
    told.line(f"   npx -y @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list")
    told.line(f"   {assent} console {where}")
    told.line(f"   # the entry for a desktop client: {folder / DESKTOP}")


def desktop_entry(command: str, folder: Path) -> str:
    """A desktop client's configuration: an office of its own under the same contracts, without the gateway.

    Paths are absolute, because a client starts servers from its own folder.
    """
    settings = str((folder / "client.yaml").resolve())
    arguments = ["wrap", "-c", settings, "--", sys.executable, "-m", "assent.testing.demo.upstream"]
    return json.dumps({"mcpServers": {"demo": {"command": command, "args": arguments}}}, indent=2) + "\n"


def _short(command: str) -> str:
    """The command as one types it here: relative where it is below this folder."""
    path = Path(command)
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _curl(url: str, method: str, params: dict[str, Any] | None = None) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({"params": params} if params else {})
    headers = "-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'"
    return f"curl -s {url} {headers} -d {shlex.quote(json.dumps(message))}"

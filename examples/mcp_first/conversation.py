"""A scripted agent and a scripted person use the MCP-first office.

Run it with `python examples/mcp_first/conversation.py`. It keeps everything in a temporary folder and ends by itself.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client, MCPError

from assent import Assent

sys.path.insert(0, str(Path(__file__).parent.parent))
from mcp_first.server import CALLER, build

MAIL = {"to": ["anna@example.com"], "subject": "Hello", "body": "Dear Anna"}
CAMPAIGN = {"templateId": "tmpl_newsletter_q3", "segmentId": "seg_active_customers"}
LINK = {"fileId": "f_abc123", "expiresAt": "2025-12-31T23:59:00Z"}
BEFORE, AFTER = 1_767_225_000.0, 1_767_226_000.0  # ten minutes before and after that link expires


class Story:
    """Prints what the agent calls, what the person is asked, and what comes back."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Make one call and print its answer in one line."""
        try:
            result = await self.client.call_tool(tool, arguments)
        except MCPError as error:
            print(f"  agent   {tool} → {error.message}")
            return None
        problem = (result.meta or {}).get("dev.assent/problem") or (
            result.structured_content if result.is_error else None
        )
        said = f"{problem['code']}: {problem['detail']}" if problem else result.structured_content
        print(f"  agent   {tool} → {str(said)[:150]}")
        return result


async def say_yes(_context: Any, question: types.ElicitRequestParams) -> types.ElicitResult:
    """The person at the client: reads the question and agrees."""
    print("  person  is asked and agrees: " + " | ".join(question.message.split("\n")[:2])[:120])
    return types.ElicitResult(action="accept")


async def discover(story: Story) -> None:
    tools = (await story.client.list_tools()).tools
    levels = Counter((tool.meta or {})["riskLevel"] for tool in tools)
    print("\n1 The agent discovers its tools. Forbidden ones do not exist for it.")
    print(f"  listed  {len(tools)} of 26: " + ", ".join(f"{count} {level}" for level, count in levels.items()))
    await story.call("read_password", account="root")


async def follow_the_levels(story: Story) -> None:
    print("\n2 Low and medium run alone; a broad selection, high and critical are asked about.")
    await story.call("list_projects")
    await story.call("update_task_status", taskIds=["t-1"], status="done")
    await story.call("update_task_status", taskIds=["*"], status="done")
    await story.call("change_project_status", projectId="apollo", status="closed")
    await story.call("emails.send_external", **MAIL)
    await story.call("emails.send_external", **{**MAIL, "body": "The key is AKIAIOSFODNN7EXAMPLE"})


async def send_a_campaign(story: Story) -> None:
    print("\n3 A campaign must be rehearsed. The preview is part of the question.")
    await story.call("emails.bulk_send", **CAMPAIGN)
    await story.call("emails.bulk_send", **CAMPAIGN, dryRun=True)
    await story.call("emails.bulk_send", **CAMPAIGN)


async def pay(story: Story, stronger: Story) -> None:
    print("\n4 A payment needs a login of the last five minutes.")
    await story.call("execute_payment", account="DE02", amount=250)
    print("  agent   logs in again with a second factor")
    await stronger.call("execute_payment", account="DE02", amount=250)
    await stronger.call("execute_payment", account="DE02", amount=5000)


async def link(story: Story, clock: list[float]) -> None:
    print("\n5 The same file and time give the same link while it is valid.")
    clock[0] = BEFORE
    await story.call("create_download_link", **LINK)
    await story.call("create_download_link", **LINK)
    clock[0] = AFTER
    print("  clock   the link has expired")
    await story.call("create_download_link", **LINK)


async def show_log(assent: Assent) -> None:
    await assent.store.flush()
    entries = [logged.entry for logged in await assent.store.entries(limit=100_000)]
    print("\n6 The audit log has an intent and an outcome for every effect, and what the campaign recorded itself.")
    for (kind, event), count in sorted(Counter((one.kind, one.facts.get("event", "")) for one in entries).items()):
        if kind in ("intent", "event", "denial"):
            print(f"  log     {count:>5} × {kind:<8} {event}")


async def main() -> None:
    clock = [time.time()]
    with tempfile.TemporaryDirectory() as folder:
        store, outbox = f"sqlite:///{folder}/office.db", Path(folder) / "outbox.log"
        strong = replace(CALLER, acr="mfa", auth_time=clock[0])
        server, assent = build(store, outbox, now=lambda: clock[0])
        again, other = build(store, outbox, now=lambda: clock[0], stdio=strong)
        try:
            async with (
                Client(server, elicitation_callback=say_yes) as client,
                Client(again, elicitation_callback=say_yes) as strong_client,
            ):
                story = Story(client)
                await discover(story)
                await follow_the_levels(story)
                await send_a_campaign(story)
                await pay(story, Story(strong_client))
                await link(story, clock)
            await show_log(assent)
        finally:
            await assent.close()
            await other.close()


if __name__ == "__main__":
    asyncio.run(main())

"""A question tells what a person needs: the user's words, and what an id stands for."""

from __future__ import annotations

import asyncio
from html import unescape
from pathlib import Path
from typing import Any

import mcp_types as types
import orjson
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.server.mcpserver import MCPServer

from assent.cli import cli
from assent.core.approval_details import sentence_of
from assent.core.call import Call
from assent.core.outcome import Pause
from assent.core.question import SeenRecord
from assent.mcp.requests import CONVERSATION, USER_TEXT
from assent.rules.flow.control import FlowControl
from assent.rules.flow.records import MOST_IN_ALL, MOST_OF_A_RESULT, RecordMemory
from assent.testing import World
from support.clients.transports import over_http
from support.console.plain_browser import signed_in
from support.gateway.gateways import gateway

WORDS = "Please delete the invitation to the offsite"
MAILS = [
    {"id": "m-81f3", "subject": "Offsite in May", "sender": "bob@example.com", "recipients": ["ann@example.com"]},
    {"id": "m-77aa", "subject": "Payroll", "sender": {"name": "HR"}, "recipients": []},
]
CONTRACTS = "tools: {list_mails: {side_effect: read}, delete_mail: {side_effect: destructive}}"
META = {CONVERSATION: "c1", USER_TEXT: WORDS}


def mailbox(deleted: list[str]) -> MCPServer:
    server = MCPServer("mail", log_level="ERROR")

    @server.tool()
    def list_mails() -> dict[str, Any]:
        """Lists mails."""
        return {"mails": MAILS}

    @server.tool()
    def delete_mail(mail_id: str) -> dict[str, str]:
        """Deletes a mail."""
        deleted.append(mail_id)
        return {"deleted": mail_id}

    return server


EXPECTED = (
    f'The user\'s words, as the client reports them: "{WORDS}"',
    'mail_id "m-81f3": title "Offsite in May", from "bob@example.com", to "ann@example.com" (as list_mails answered)',
)


async def test_form_page_api_and_terminal_show_the_users_words_and_what_an_id_stands_for(tmp_path: Path) -> None:
    asked: list[str] = []

    async def read(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="cancel")

    (tmp_path / "own.yaml").write_text(CONTRACTS)
    more = {"flow": {"mode": "observe"}, "defaults": {"confirmation": {"critical": "user"}}}
    async with (
        over_http(mailbox([])) as upstream,
        gateway(tmp_path, {"mail": {"url": upstream}}, contracts=[str(tmp_path / "own.yaml")], **more) as (url, app),
        Client(url, mode="legacy", elicitation_callback=read) as client,
        signed_in(url, app.store) as person,
    ):
        await client.call_tool("list_mails", {}, meta=META)
        await client.call_tool("delete_mail", {"mail_id": "m-81f3"}, meta={CONVERSATION: "c1"})
        approval = (await app.store.approvals())[0]
        page = unescape((await person.get(f"/console/approvals/{approval.id}")).text)
        inbox = unescape((await person.get("/console/approvals")).text)
    for line in EXPECTED:
        assert line in asked[0]
    for part in (WORDS, "Offsite in May", "bob@example.com", "ann@example.com"):
        assert part in page
    assert '"m-81f3" ("Offsite in May")' in inbox
    assert "Payroll" not in page
    (tmp_path / "assent.yaml").write_text(f"store: sqlite:///{tmp_path}/assent.db\n")
    command = ["approvals", "show", approval.id, "-c", str(tmp_path / "assent.yaml")]
    shown = (await asyncio.to_thread(CliRunner().invoke, cli, command)).output
    for line in EXPECTED:
        assert line in shown


def text(body: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": body}]}


async def call_of(arguments: dict[str, Any]) -> Call:
    """The call that a question is about."""
    world = World({"act": {"side_effect": "destructive"}})
    found: list[Call] = []

    class Watch(FlowControl):
        def background(self, call: Call, now: float) -> Any:
            found.append(call)
            return super().background(call, now)

    world.ports = world.ports._replace(rules=world.ports.rules._replace(flow=Watch()))
    assert isinstance(await world.call("act", arguments, can_ask=True), Pause)
    return found[0]


@pytest.mark.parametrize(
    ("result", "arguments", "fields"),
    [
        (text('[{"id": 7, "title": "Rent", "amount": 900}]'), {"id": 7}, {"title": "Rent", "amount": "900"}),
        ({"structuredContent": {"file_id": "f1", "filename": "a.txt"}}, {"file_id": "f1"}, {"title": "a.txt"}),
        (text("- id: '26'\n  subject: Dinner\n  sender: eve@x.org\n- id: '27'\n  subject: Lunch"), {"email_id": "26"},
         {"title": "Dinner", "from": "eve@x.org"}),
        (text("Order 4711: two chairs for Ann\nOrder 4712: a desk"), {"order": "4711"},
         {"in": "Order 4711: two chairs for Ann"}),
        (text('{"all": [{"id": "x1", "name": "x1", "owner": {"login": "ann"}}]}'), {"item_id": "x1"}, {"from": "ann"}),
        (text('{"id": "z9", "subject": "\\u202eevil"}'), {"id": "z9"}, {"title": "\u202eevil"}),
        (text('{"orders": {"o-1": {"customer": "Ann", "total": 9}}}'), {"order": "o-1"}, {"to": "Ann", "amount": "9"}),
        ({"structuredContent": {"by_id": {"ann": {"name": "Ann Lee"}}}}, {"user_id": "ann"}, {"title": "Ann Lee"}),
        (text("Nothing of it"), {"file_id": "f-200"}, {}),
    ],
)  # fmt: skip
async def test_an_id_is_found_in_results_of_every_form(
    result: dict[str, Any], arguments: dict[str, Any], fields: dict[str, str]
) -> None:
    memory, key = RecordMemory(), ("t", "p", "c")
    memory.keep(key, "look", result, 1.0, orjson.dumps(result))
    (found,) = memory.named_by(key, await call_of(arguments), "", 0.0)
    assert dict(found.fields) == fields
    assert memory.named_by(("t", "other", "c"), await call_of(arguments), "", 0.0)[:1] in (
        (),
        (found._replace(tool="", fields=()),),
    )


async def test_an_id_that_the_user_wrote_needs_no_explanation_and_a_plain_word_is_no_id() -> None:
    memory, key = RecordMemory(), ("t", "p", "c")
    assert memory.named_by(key, await call_of({"file_id": "f-200", "folder_id": "inbox"}), "Delete f-200", 0.0) == ()


async def test_a_field_is_no_id_of_the_object_that_it_holds() -> None:
    memory, key = RecordMemory(), ("t", "p", "c")
    result = text('{"order": 7, "customer": {"name": "Ann"}}')
    memory.keep(key, "look", result, 1.0, orjson.dumps(result))
    assert memory.named_by(key, await call_of({"role": "customer"}), "", 0.0) == ()


async def test_a_value_of_two_lines_is_no_id() -> None:
    memory, key = RecordMemory(), ("t", "p", "c")
    result = text("Dear Ann\nLee, your order is here")
    memory.keep(key, "look", result, 1.0, orjson.dumps(result))
    assert memory.named_by(key, await call_of({"name": "Ann\nLee"}), "", 0.0) == ()


async def test_hidden_characters_of_a_title_are_written_out() -> None:
    call = await call_of({"id": "z9"})
    said = sentence_of(call, None, [SeenRecord("id", "z9", "look", (("title", "\u202eevil"),))])
    assert '"z9" ("\\u{202e}evil")' in said


def test_the_memory_is_bounded() -> None:
    memory = RecordMemory()
    for number in range(100):
        memory.keep(("t", "p", "c"), "look", text("x"), 1.0, b"x" * (MOST_OF_A_RESULT - number))
    memory.keep(("t", "p", "c"), "look", text("x"), 2.0, b"x" * (MOST_OF_A_RESULT + 1))
    assert memory._size <= MOST_IN_ALL
    assert all(kept.at == 1.0 for kept in memory._results), "a result that is too long is not kept"

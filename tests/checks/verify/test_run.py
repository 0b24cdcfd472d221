"""Servers that break each promise, and one that keeps them all."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assent.checks.verify.observe import Command, Hook, Observer, SqliteDatabase
from assent.checks.verify.promises import promises_of
from assent.checks.verify.run import Verdict, verify
from assent.contract.reader import read_contract
from assent.errors import AssentError, EndedError, SilentError, UnansweredError

Function = Callable[[dict[str, Any]], Any]
ITEM = {"type": "object", "properties": {"item": {"type": "string", "maxLength": 5}}, "required": ["item"]}


class Server:
    """Functions and contracts, called directly; it remembers every call."""

    def __init__(self, **tools: tuple[dict[str, Any], Function]) -> None:
        self.tools = tools
        self.called: list[str] = []
        self.questions_asked = 0
        self.responsive = True

    async def call(self, tool: str, arguments: Any, **_: Any) -> dict[str, Any]:
        self.called.append(tool)
        given = self.tools[tool][1](dict(arguments))
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, dict) and "isError" in given else {"content": [], "structuredContent": given}

    async def responds(self) -> bool:
        return self.responsive

    async def verdict(self, *observers: Observer, calls: Any = "all", schema: Any = ITEM) -> Verdict:
        promises = [
            promises_of({"name": name, "inputSchema": schema, **extra}, read_contract(name, fields))
            for name, (given, _) in self.tools.items()
            for extra in ({key: given[key] for key in ("outputSchema",) if key in given},)
            for fields in ({key: value for key, value in given.items() if key != "outputSchema"},)
        ]
        return await verify(self, promises, observers=observers, calls=calls, examples=3)


def promises_broken(verdict: Verdict) -> list[tuple[str, str]]:
    return [(one.tool, one.promise) for one in verdict.broken]


async def test_a_read_that_changes_state_is_caught() -> None:
    state: list[str] = []
    server = Server(list_items=({"side_effect": "read"}, lambda given: state.append("seen") or {}))
    verdict = await server.verdict(Hook(lambda: len(state)))
    assert promises_broken(verdict) == [("list_items", "it reads only")]


async def test_a_dry_run_that_writes_is_caught() -> None:
    state: list[str] = []
    contract = {"side_effect": "write", "dry_run": {"mode": "offered"}}
    server = Server(add_item=(contract, lambda given: state.append(given["item"]) or {}))
    assert promises_broken(await server.verdict(Hook(lambda: state))) == [("add_item", "a dry run changes nothing")]


async def test_a_repeatable_call_that_does_it_twice_is_caught() -> None:
    state: list[str] = []
    contract = {"side_effect": "write", "idempotency": {"recovery": "natural"}}
    server = Server(add_item=(contract, lambda given: state.append(given["item"]) or {}))
    found = promises_broken(await server.verdict(Hook(lambda: state)))
    assert found == [("add_item", "a repeated call has no further effect")]


async def test_a_repeated_call_that_answers_something_else_is_caught_without_any_observer() -> None:
    numbers = iter(range(1000))
    contract = {"side_effect": "write", "idempotency": {"recovery": "natural"}}
    server = Server(make_link=(contract, lambda given: {"id": next(numbers)}))
    assert (await server.verdict()).broken[0].happened == "the second call answered something else"


@pytest.mark.parametrize(
    "answer",
    [
        {"isError": True, "content": [], "structuredContent": {"code": "melted"}},
        {"isError": True, "content": []},
        UnansweredError("Internal error"),
    ],
)
async def test_an_undeclared_failure_is_caught(answer: Any) -> None:
    contract = {"side_effect": "write", "failure_modes": {"card_declined": {"class": "no_effect"}}}
    server = Server(place=(contract, lambda given: answer))
    assert promises_broken(await server.verdict()) == [("place", "it fails only as declared")]


async def test_declared_failures_and_our_own_refusals_are_no_breach() -> None:
    contract = {"side_effect": "write", "failure_modes": {"card_declined": {"class": "no_effect"}}}

    def answer(code: str) -> Function:
        return lambda given: {"isError": True, "content": [], "structuredContent": {"code": code}}

    server = Server(place=(contract, answer("card_declined")), wait=(contract, answer("confirm.approval_pending")))
    verdict = await server.verdict()
    assert verdict.broken == ()
    assert verdict.checked[1].skipped == "calls were refused (confirm.approval_pending)"


@pytest.mark.parametrize(
    ("code", "promise"),
    [
        ("execute.undeclared_failure", "it fails only as declared"),
        ("execute.output_invalid", "its output fits its schema"),
    ],
)
async def test_what_the_library_says_of_a_call_that_was_made_is_no_refusal(code: str, promise: str) -> None:
    contract = {"side_effect": "read", "failure_modes": {"gone": {"class": "no_effect"}}}
    answer = {"isError": True, "content": [], "structuredContent": {"code": code}}
    verdict = await Server(get_item=(contract, lambda given: answer)).verdict()
    assert promises_broken(verdict) == [("get_item", promise)]
    assert (verdict.checked[0].skipped, verdict.checked[0].calls) == ("", 3)


async def test_refused_calls_are_not_counted_as_calls() -> None:
    answer = {"isError": True, "content": [], "structuredContent": {"code": "confirm.approval_pending"}}
    verdict = await Server(place=({"side_effect": "write"}, lambda given: answer)).verdict()
    assert (verdict.checked[0].skipped, verdict.checked[0].calls) == (
        "calls were refused (confirm.approval_pending)",
        0,
    )


async def test_output_off_its_schema_is_caught() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    server = Server(count=({"side_effect": "read", "outputSchema": schema}, lambda given: {"n": "three"}))
    assert promises_broken(await server.verdict()) == [("count", "its output fits its schema")]


async def test_a_secret_that_comes_twice_is_caught() -> None:
    contract = {"side_effect": "share_export", "secrets": ["/token"]}
    server = Server(export_all=(contract, lambda given: {"token": "the-same-token"}))
    assert promises_broken(await server.verdict()) == [("export_all", "a secret is shown once")]


async def test_a_secret_that_a_read_shows_again_is_caught() -> None:
    tokens: list[str] = []

    def export(given: dict[str, Any]) -> dict[str, str]:
        tokens.append(f"one-time-{len(tokens)}")
        return {"token": tokens[-1]}

    server = Server(export_all=({"side_effect": "share_export", "secrets": ["/token"]}, export))
    verdict = await server.verdict(Hook(lambda: tokens))
    assert verdict.broken[0].happened == "the secret can be read again in the snapshot"


async def test_a_server_that_keeps_its_promises_is_clean() -> None:
    state: dict[str, str] = {}
    setting = {"side_effect": "write", "overwrites": True, "idempotency": {"recovery": "natural"}}
    server = Server(
        list_items=({"side_effect": "read"}, lambda given: dict(state)),
        set_item=(setting, lambda given: state.update({given["item"]: "x"}) or {"done": True}),
    )
    verdict = await server.verdict(Hook(lambda: state))
    assert verdict.broken == ()
    assert all(one.calls for one in verdict.checked)


async def test_only_reads_are_called_unless_all_is_said() -> None:
    server = Server(
        list_items=({"side_effect": "read"}, lambda given: {}),
        drop_items=({"side_effect": "destructive"}, lambda given: {}),
        delete_all=({"side_effect": "read", "description": "Deletes everything."}, lambda given: {}),
    )
    verdict = await server.verdict(calls="reads")
    assert set(server.called) == {"list_items"}
    assert {one.tool for one in verdict.checked if one.skipped} == {"drop_items", "delete_all"}


async def test_what_differs_by_itself_proves_nothing() -> None:
    ticks = iter(range(10_000))
    server = Server(list_items=({"side_effect": "read"}, lambda given: {}))
    verdict = await server.verdict(Hook(lambda: next(ticks)))
    assert verdict.broken == ()
    assert verdict.notes == ("the snapshot differs by itself and proves nothing",)


async def test_a_change_is_seen_through_the_servers_own_reads() -> None:
    state: list[str] = []
    server = Server(
        list_items=({"side_effect": "read"}, lambda given: {"items": list(state)}),
        peek_item=({"side_effect": "read"}, lambda given: state.append("peeked") or {}),
    )
    promises = [
        promises_of(
            {"name": "list_items", "inputSchema": {"type": "object"}},
            read_contract("list_items", {"side_effect": "read"}),
        ),
        promises_of({"name": "peek_item", "inputSchema": ITEM}, read_contract("peek_item", {"side_effect": "read"})),
    ]
    verdict = await verify(server, promises, examples=2)
    assert [(one.tool, one.happened) for one in verdict.broken] == [
        ("peek_item", "a read changed what list_items returns")
    ]


async def test_a_lying_read_is_caught_through_others_and_nobody_else_is_blamed() -> None:
    state: list[str] = []
    plain = {"type": "object"}
    server = Server(
        list_items=({"side_effect": "read"}, lambda given: {"items": list(state)}),
        get_time=({"side_effect": "read"}, lambda given: {"hour": 12}),
        find_items=({"side_effect": "read"}, lambda given: state.append("found") or {}),
    )
    verdict = await server.verdict(schema=plain)
    assert [one.tool for one in verdict.broken] == ["find_items"]


async def test_a_read_that_changes_state_once_is_caught_though_it_is_looked_at_first() -> None:
    settings: dict[str, str] = {}
    server = Server(
        get_settings=({"side_effect": "read"}, lambda given: {"theme": settings.setdefault("theme", "dark")}),
        list_items=({"side_effect": "read"}, lambda given: {}),
    )
    verdict = await server.verdict(Hook(lambda: settings), schema={"type": "object"})
    assert [(one.tool, one.happened) for one in verdict.broken] == [("get_settings", "a read changed the snapshot")]


@pytest.mark.parametrize("more", [{"required": ["item", "dryRun"]}, {"required": ["item"]}])
async def test_a_call_in_earnest_is_made_where_saying_nothing_would_rehearse_or_fail(more: dict[str, Any]) -> None:
    state: list[str] = []
    rehearsing = {"type": "boolean", "default": True} if "dryRun" not in more["required"] else {"type": "boolean"}
    schema = {"type": "object", "properties": {**ITEM["properties"], "dryRun": rehearsing}, **more}

    def add(given: dict[str, Any]) -> Any:
        if not given.get("dryRun", True):
            state.append(given["item"])
        return {}

    contract = {"side_effect": "write", "dry_run": {"mode": "offered"}, "idempotency": {"recovery": "natural"}}
    verdict = await Server(add_item=(contract, add)).verdict(Hook(lambda: state), schema=schema)
    assert promises_broken(verdict) == [("add_item", "a repeated call has no further effect")]


async def test_a_change_is_seen_in_a_database_and_by_a_command(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("create table orders (item text)")
    connection.commit()

    def peek(given: dict[str, Any]) -> dict[str, Any]:
        connection.execute("insert into orders values (?)", (given["item"],))
        connection.commit()
        return {}

    server = Server(peek=({"side_effect": "read"}, peek))
    read = f"import sqlite3; print(sqlite3.connect({str(path)!r}).execute('select * from orders').fetchall())"
    in_rows = await server.verdict(SqliteDatabase(f"sqlite:///{path}"))
    by_command = await server.verdict(Command([sys.executable, "-c", read]))
    connection.close()
    assert in_rows.broken[0].happened == "a read changed table orders"
    assert by_command.broken[0].happened == "a read changed the snapshot command's output"


async def test_tables_of_any_name_and_text_of_any_encoding_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table sqlite3data (item text)")
        connection.execute("insert into sqlite3data values (cast(x'ff' as text))")
    assert await SqliteDatabase(f"sqlite:///{path}").look() == {"table sqlite3data": repr(("\udcff",))}


async def test_a_snapshot_command_that_does_not_end_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def kept(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start(*arguments, **options))
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", kept)
    with pytest.raises(AssentError, match=r"the snapshot command did not end within 0\.01 s"):
        await Command([sys.executable, "-c", "import signal; signal.pause()"], patience=0.01).look()
    assert started[0].returncode == -signal.SIGKILL


async def test_a_tool_that_does_not_answer_is_waited_for_once() -> None:
    server = Server(
        list_items=({"side_effect": "read"}, lambda given: SilentError("timed out")),
        get_item=({"side_effect": "read"}, lambda given: {"item": 1}),
    )
    verdict = await server.verdict(schema={"type": "object", "properties": {"page": {"type": "integer"}}})
    assert [(one.tool, one.happened) for one in verdict.broken] == [("list_items", "it did not answer: timed out")]
    assert server.called.count("list_items") == 2


async def test_a_secret_that_a_read_gives_away_every_time_is_caught() -> None:
    server = Server(get_key=({"side_effect": "read", "secrets": ["/key"]}, lambda given: {"key": "always-the-same"}))
    verdict = await server.verdict()
    assert promises_broken(verdict) == [("get_key", "a secret is shown once")]


async def test_a_tool_that_only_fails_is_said_to_have_shown_nothing() -> None:
    failing = {"isError": True, "content": []}
    server = Server(
        set_flag=({"side_effect": "write"}, lambda given: failing), list_flags=({"side_effect": "read"}, dict)
    )
    verdict = await server.verdict()
    assert verdict.notes == ("every call of set_flag failed, so nothing of what it does was seen",)


async def test_a_read_that_ends_the_server_while_it_is_looked_at_is_blamed_and_no_other() -> None:
    server = Server(
        list_flags=({"side_effect": "read"}, lambda given: EndedError("the server ended")),
        set_flag=({"side_effect": "write"}, dict),
    )
    verdict = await server.verdict(schema={"type": "object"})
    assert promises_broken(verdict) == [("list_flags", "it fails only as declared")]
    assert server.called == ["list_flags"]


async def test_a_secret_that_can_be_fetched_again_by_the_id_it_came_with_is_caught() -> None:
    keys = iter(range(1000))

    def create(given: dict[str, Any]) -> dict[str, Any]:
        number = next(keys)
        return {"id": f"key-{number}", "secret": f"secret-{number}"}

    def get(given: dict[str, Any]) -> dict[str, Any]:
        return {"item": given["item"], "shown": given["item"].replace("key", "secret")}

    contract = {"side_effect": "share_export", "secrets": ["/secret"]}
    server = Server(create_key=(contract, create), get_key=({"side_effect": "read"}, get))
    (broken,) = (await server.verdict()).broken
    assert (broken.tool, broken.promise) == ("create_key", "a secret is shown once")
    assert broken.happened == 'the secret can be read again in what get_key returns for item "key-0"'
    honest = Server(create_key=(contract, create), get_key=({"side_effect": "read"}, lambda given: {"item": "x"}))
    assert (await honest.verdict()).broken == ()


@pytest.mark.parametrize("start", ["-----BEGIN KEY-----\nab", 'with "quotes" and \\', "schlüssel"])
@pytest.mark.parametrize("show", [list, json.dumps, repr])
async def test_a_secret_is_known_again_however_it_is_written(start: str, show: Callable[[Any], Any]) -> None:
    keys: list[str] = []

    def create(given: dict[str, Any]) -> dict[str, Any]:
        keys.append(f"{start}-{len(keys)}")
        return {"secret": keys[-1]}

    contract = {"side_effect": "share_export", "secrets": ["/secret"]}
    verdict = await Server(create_key=(contract, create)).verdict(Hook(lambda: show(keys)))
    assert [one.happened for one in verdict.broken] == ["the secret can be read again in the snapshot"]


async def test_a_secret_that_only_the_text_of_a_second_call_repeats_is_caught() -> None:
    answers = iter([{"token": "always-the-same"}, {"token": ""}])
    text = {"type": "text", "text": '{"token": "always-the-same"}'}

    def export(given: dict[str, Any]) -> dict[str, Any]:
        return {"isError": False, "content": [text], "structuredContent": next(answers, {"token": ""})}

    verdict = await Server(export_all=({"side_effect": "share_export", "secrets": ["/token"]}, export)).verdict()
    assert [one.happened for one in verdict.broken] == ["a second call returned the same secret"]


async def test_a_secret_that_can_be_fetched_by_an_id_further_down_is_caught() -> None:
    keys = iter(range(1000))

    def create(given: dict[str, Any]) -> dict[str, Any]:
        number = next(keys)
        return {"key": {"id": f"key-{number}", "secret": f"secret-{number}"}}

    contract = {"side_effect": "share_export", "secrets": ["/key/secret"]}
    server = Server(
        create_key=(contract, create),
        get_key=({"side_effect": "read"}, lambda given: {"shown": given["item"].replace("key", "secret")}),
    )
    assert promises_broken(await server.verdict()) == [("create_key", "a secret is shown once")]


async def test_what_is_forbidden_or_hidden_is_not_called_even_to_look() -> None:
    server = Server(
        read_key=({"side_effect": "read", "risk": "forbidden"}, dict),
        read_log=({"side_effect": "read", "visibility": "hidden"}, dict),
        list_notes=({"side_effect": "read"}, dict),
    )
    verdict = await server.verdict(schema={"type": "object"})
    assert {one.tool: one.skipped for one in verdict.checked if one.skipped} == dict.fromkeys(
        ("read_key", "read_log"), "its contract forbids or hides it"
    )
    assert set(server.called) == {"list_notes"}


def lists(*answers: Any) -> tuple[dict[str, Any], Function]:
    """A read tool whose answers come one after the other, the last of them again and again."""
    left = list(answers)
    return {"side_effect": "read"}, lambda given: left.pop(0) if len(left) > 1 else left[0]


FAILED = {"isError": True, "content": [{"type": "text", "text": "rate limit exceeded"}]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


async def test_a_read_that_fails_while_it_is_looked_at_accuses_nobody() -> None:
    server = Server(get_item=lists({}), list_items=lists({"a": 1}, {"a": 1}, {"a": 1}, {"a": 1}, FAILED))
    verdict = await server.verdict(schema=NOTHING)
    assert promises_broken(verdict) == []
    told = "what list_items returns can no longer be seen since get_item was called"
    assert told in [note.partition(":")[0] for note in verdict.notes]


async def test_a_read_that_no_longer_answers_does_not_hide_the_others() -> None:
    state: list[int] = []
    answers = iter([{}, {}, {}, {}])
    server = Server(
        get_a=({"side_effect": "read"}, lambda given: next(answers, None) or SilentError("no answer came")),
        get_b=({"side_effect": "read"}, lambda given: {"b": len(state)}),
        get_item=({"side_effect": "read"}, lambda given: state.append(1) or {}),
    )
    verdict = await server.verdict(schema=NOTHING)
    assert ("get_item", "it reads only") in promises_broken(verdict)


async def test_a_read_that_failed_from_the_start_and_no_longer_does_shows_a_change() -> None:
    state: list[str] = []
    server = Server(
        list_items=({"side_effect": "read"}, lambda given: {"a": 1} if state else FAILED),
        open_item=({"side_effect": "write", "dry_run": {"mode": "offered"}}, lambda given: state.append("x") or {}),
    )
    assert promises_broken(await server.verdict(schema=NOTHING)) == [("open_item", "a dry run changes nothing")]


async def test_after_a_server_that_no_longer_answers_no_other_tool_is_called_or_accused() -> None:
    silent = {"side_effect": "read"}, lambda given: SilentError("no answer came within 3 s")
    given = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    server = Server(get_hang=silent, get_other=lists({}))
    server.responsive = False
    verdict = await server.verdict(schema=given)
    assert promises_broken(verdict) == [("get_hang", "it fails only as declared")]
    assert verdict.notes == ("the server no longer answers: no other tool was called after get_hang",)
    assert "get_other" not in server.called


async def test_what_changes_once_while_only_reads_are_called_is_told() -> None:
    state = [3]
    server = Server(
        get_unread=({"side_effect": "read"}, lambda given: {"unread": state[0]}),
        list_inbox=({"side_effect": "read"}, lambda given: {"inbox": state.__setitem__(0, 0)}),
    )
    verdict = await server.verdict(schema=NOTHING)
    assert promises_broken(verdict) == []
    assert verdict.notes == (
        "what get_unread returns changed although only reads were called: list_inbox may not only read",
    )


@pytest.mark.parametrize(("answer", "noted"), [({"name": "a"}, True), ({"token": "s3cr3t"}, False)])
async def test_a_secret_that_no_answer_holds_is_told(answer: dict[str, Any], noted: bool) -> None:
    contract = {"side_effect": "share_export", "secrets": ["/token"]}
    verdict = await Server(create_key=(contract, lambda given: dict(answer))).verdict()
    note = "create_key names a secret at /token that no answer held: nothing was seen of it"
    assert (note in verdict.notes) == noted


async def test_a_server_that_is_silenced_while_it_is_first_looked_at_has_one_tool_to_blame() -> None:
    server = Server(
        get_hang=({"side_effect": "read"}, lambda given: SilentError("no answer came")), get_other=lists({})
    )
    server.responsive = False
    verdict = await server.verdict(schema=NOTHING)
    assert [(one.tool, one.happened) for one in verdict.broken] == [
        ("get_hang", "it did not answer, and no later call was answered")
    ]
    assert server.called == ["get_hang"]

"""The MCP-first office, statement by statement: `examples/mcp_first/STATEMENTS.md` names the test of each."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from assent import Assent, Principal
from assent.checks.lint.run import lint
from assent.errors import ContractError
from assent.testing import Clock
from support.clients.transports import ERAS, ROOT, Person, connect, over_stdio
from support.documents.lint_examples import target_of
from support.documents.statements import check_statements

sys.path.insert(0, str(ROOT / "examples"))
from mcp_first import conversation
from mcp_first.server import CALLER, build, preview

from support.decisions.problems import problem

MAIL = {"to": ["anna@example.com"], "subject": "Hello", "body": "Dear Anna"}
CAMPAIGN = {"templateId": "tmpl_newsletter_q3", "segmentId": "seg_active_customers"}
CONTRACT = "dev.assent/contract"
PREVIEWED = ("missingPermissions", "expectedSideEffects", "estimatedDurationMs")
RUNTIME_FAILURES = [
    *("authentication_required", "invalid_input", "budget_exceeded", "confirmation_declined", "unavailable", "failed"),
    *("undeclared_failure", "invalid_output", "step_up_required"),
    *("idempotency_conflict", "in_progress", "in_doubt", "expired"),
]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def mail(
    era: str, folder: Path, person: Person | None = None, **options: Any
) -> AsyncIterator[tuple[Client, Assent]]:
    server, assent = build(f"sqlite:///{folder}/mail.db", folder / "outbox.log", **options)
    try:
        async with connect(server, era, person) as client:
            yield client, assent
    finally:
        await assent.close()


def outbox(folder: Path) -> list[dict[str, Any]]:
    log = folder / "outbox.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def entries(assent: Assent) -> list[Any]:
    await assent.store.flush()
    return [logged.entry for logged in await assent.store.entries(limit=20_000)]


async def test_name_description_category_risk_and_schemas_are_what_an_agent_sees(era: str, tmp_path: Path) -> None:
    async with mail(era, tmp_path) as (client, _):
        tool = next(t for t in (await client.list_tools()).tools if t.name == "emails.send_external")
    assert tool.description == "Sends an external email to one or more recipients."
    assert sorted(tool.input_schema["properties"]) == ["attachments", "body", "projectId", "subject", "to"]
    assert (tool.output_schema or {})["properties"]["status"] == {"enum": ["sent", "scheduled", "failed"]}
    meta = {key: value for key, value in (tool.meta or {}).items() if key != CONTRACT}
    assert meta == {
        "riskLevel": "critical",
        "autonomousExecution": False,
        "confirmation": "user",
        "stepUpAuth": "conditional",
        "stepUpAuthDependsOn": ["to"],
        "permissions": ["emails:send", "contacts:read", "files:read"],
        "sideEffects": [
            "One external email is sent to every recipient.",
            "Repeating the call with the same idempotency key sends nothing.",
        ],
        "auditEvent": "email.external.sent",
        "failureModes": [
            "permission_denied",
            "confirmation_required",
            "invalid_recipient",
            "attachment_too_large",
            "rate_limit_exceeded",
            "policy_violation",
        ],
        "runtimeFailureModes": RUNTIME_FAILURES,
        "category": "communication",
    }


async def test_permissions_decide_what_is_listed_and_what_may_be_called(era: str, tmp_path: Path) -> None:
    poor = replace(CALLER, scopes=frozenset({"emails:send"}))
    async with mail(era, tmp_path, stdio=poor) as (client, _):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        refused = await client.call_tool("emails.send_external", MAIL)
    assert sorted(listed) == ["create_reminder", "emails.bulk_send", "get_current_user", "get_help_article"]
    assert problem(refused)["code"] == "authorize.missing_permissions"
    assert problem(refused)["failure"] == "permission_denied"
    assert problem(refused)["missing_permissions"] == ["contacts:read", "files:read"]
    assert outbox(tmp_path) == []


async def test_nothing_is_sent_before_a_person_agreed(era: str, tmp_path: Path) -> None:
    async with mail(era, tmp_path) as (client, _):
        waiting = await client.call_tool("emails.send_external", MAIL)
    assert problem(waiting)["code"] == "confirm.approval_pending"
    assert problem(waiting)["failure"] == "confirmation_required"
    assert outbox(tmp_path) == []
    person = Person(["accept"])
    async with mail(era, tmp_path, person) as (client, _):
        sent = await client.call_tool("emails.send_external", {**MAIL, "subject": "Again"})
    assert sent.structured_content == {"emailId": "m-1", "status": "sent"}
    assert "  One external email is sent to every recipient." in person.asked[0].splitlines()


async def test_many_recipients_need_a_fresh_and_strong_login(era: str, tmp_path: Path) -> None:
    crowd = {**MAIL, "to": [f"p{n}@example.com" for n in range(11)]}
    clock = Clock()
    async with mail(era, tmp_path, Person(["accept"]), now=clock) as (client, _):
        weak = await client.call_tool("emails.send_external", crowd)
    assert problem(weak)["code"] == "step_up.required"
    assert problem(weak)["acr_values"] == ["mfa"]
    assert problem(weak)["max_age"] == 300
    assert outbox(tmp_path) == []
    strong: Principal = replace(CALLER, acr="mfa", auth_time=clock.at - 299)
    async with mail(era, tmp_path, Person(["accept"]), stdio=strong, now=clock) as (client, _):
        sent = await client.call_tool("emails.send_external", crowd)
    assert sent.structured_content["status"] == "sent"
    old: Principal = replace(CALLER, acr="mfa", auth_time=clock.at - 300)
    async with mail(era, tmp_path, Person(["accept"]), stdio=old, now=clock) as (client, _):
        stale = await client.call_tool("emails.send_external", {**crowd, "subject": "Later"})
    assert problem(stale)["code"] == "step_up.required"


async def test_failures_are_the_closed_list_of_the_contract(era: str, tmp_path: Path) -> None:
    person = Person(["accept"] * 3)
    async with mail(era, tmp_path, person) as (client, assent):
        wrong = await client.call_tool("emails.send_external", {**MAIL, "to": ["nobody"]})
        large = await client.call_tool("emails.send_external", {**MAIL, "attachments": ["f" * 65]})
        undeclared = await client.call_tool("emails.send_external", {**MAIL, "subject": "mail bomb"})
        log = await entries(assent)
    assert (problem(wrong)["code"], problem(wrong)["status"]) == ("invalid_recipient", 422)
    assert (problem(large)["code"], problem(large)["status"]) == ("attachment_too_large", 413)
    assert problem(undeclared)["code"] == "execute.undeclared_failure"
    assert "server_on_fire" not in undeclared.model_dump_json()
    violations = [entry for entry in log if entry.kind == "violation"]
    assert [entry.values for entry in violations] == [{"failure": "server_on_fire"}]


async def test_a_policy_violation_names_rule_and_field(era: str, tmp_path: Path) -> None:
    async with mail(era, tmp_path, Person()) as (client, _):
        refused = await client.call_tool("emails.send_external", {**MAIL, "body": "AKIAIOSFODNN7EXAMPLE"})
    assert problem(refused)["code"] == "guard.denied"
    assert problem(refused)["failure"] == "policy_violation"
    assert (problem(refused)["rule"], problem(refused)["field"]) == ("secrets", "body")


async def test_the_audit_event_is_written_before_and_after(era: str, tmp_path: Path) -> None:
    async with mail(era, tmp_path, Person(["accept"])) as (client, assent):
        await client.call_tool("emails.send_external", MAIL)
        log = await entries(assent)
    told = [(entry.kind, entry.facts.get("event")) for entry in log if entry.kind in ("intent", "outcome")]
    assert told == [("intent", "email.external.sent"), ("outcome", "email.external.sent")]
    assert all("anna" not in json.dumps(entry.facts) for entry in log), "facts name nobody"


async def test_a_campaign_must_be_rehearsed_and_its_preview_is_complete(era: str, tmp_path: Path) -> None:
    person = Person(["accept"])
    async with mail(era, tmp_path, person) as (client, _):
        skipped = await client.call_tool("emails.bulk_send", CAMPAIGN)
        rehearsed = await client.call_tool("emails.bulk_send", {**CAMPAIGN, "dryRun": True})
        unknown = await client.call_tool("emails.bulk_send", {**CAMPAIGN, "segmentId": "seg_none", "dryRun": True})
        sent = await client.call_tool("emails.bulk_send", CAMPAIGN)
    assert problem(skipped)["code"] == "rehearse.dry_run_required"
    shown = rehearsed.structured_content
    assert shown == preview("tmpl_newsletter_q3", 4821)
    assert shown.keys() == {"dryRun", "recipientCount", "sampleMessages", "warnings", *PREVIEWED}, "as printed"
    assert (shown["recipientCount"], len(shown["sampleMessages"]), shown["estimatedDurationMs"]) == (4821, 2, 18400)
    assert shown["sampleMessages"][0].keys() == {"to", "subject", "previewText"}
    assert shown["expectedSideEffects"][1] == "4821 audit events of type email.external.sent will be created."
    assert json.loads(rehearsed.content[0].text) == rehearsed.structured_content  # type: ignore[union-attr]
    assert problem(unknown)["code"] == "unknown_segment"
    assert sent.structured_content == {"campaignStatus": "sent", "recipientCount": 4821}
    assert "  recipientCount: 4821" in person.asked[0].splitlines()
    assert len(outbox(tmp_path)) == 1


async def test_the_example_runs_over_stdio(era: str, tmp_path: Path) -> None:
    server = over_stdio(
        "examples/mcp_first/server.py",
        MAIL_STORE=f"sqlite:///{tmp_path}/mail.db",
        MAIL_OUTBOX=str(tmp_path / "outbox.log"),
    )
    async with connect(server, era, Person(["accept"])) as client:
        sent = await client.call_tool("emails.send_external", MAIL)
    assert sent.structured_content == {"emailId": "m-1", "status": "sent"}
    assert [line["to"] for line in outbox(tmp_path)] == [["anna@example.com"]]


MODERN = ERAS[0]
LEVELS = {
    "low": {"list_projects", "get_current_user", "search_contacts", "get_help_article", "create_reminder"},
    "medium": {"create_note", "update_task_status", "generate_summary", "create_draft", "create_download_link"},
    "high": {"change_project_status", "invite_calendar_attendee", "share_file_link", "update_customer_data"},
    "critical": {"bulk_export", "delete_user", "change_permissions", "execute_payment", "send_contract"}
    | {"emails.send_external", "emails.bulk_send"},
    "forbidden": {"read_private_key", "read_password", "read_raw_access_token", "disable_audit_log"}
    | {"export_full_database_without_approval"},
}
CALLS: dict[str, dict[str, Any]] = {
    "list_projects": {},
    "get_current_user": {},
    "search_contacts": {"query": "an"},
    "get_help_article": {"articleId": "start"},
    "create_reminder": {"text": "call Anna"},
    "create_note": {"text": "Anna called"},
    "update_task_status": {"taskIds": ["t-1"], "status": "done"},
    "generate_summary": {"projectId": "apollo"},
    "create_draft": {"subject": "Hello", "body": "Dear Anna"},
    "create_download_link": {"fileId": "f_abc123", "expiresAt": "2025-12-31T23:59:00Z"},
    "change_project_status": {"projectId": "apollo", "status": "closed"},
    "invite_calendar_attendee": {"eventId": "e-1", "email": "anna@example.com"},
    "share_file_link": {"fileId": "f_abc123", "email": "anna@example.com"},
    "update_customer_data": {"customerId": "c-1", "data": {"city": "Rome"}},
    "emails.send_external": MAIL,
    "bulk_export": {},
    "delete_user": {"userId": "max"},
    "change_permissions": {"userId": "max", "permissions": []},
    "execute_payment": {"account": "DE02", "amount": 250},
    "send_contract": {"contractId": "k-1", "recipient": "anna@example.com"},
    "read_private_key": {},
    "read_password": {"account": "root"},
    "read_raw_access_token": {},
    "disable_audit_log": {},
    "export_full_database_without_approval": {},
}
HUMAN = Principal("ann", "human", scopes=frozenset({"*"}), asks="person")


def fresh(caller: Principal, clock: Clock) -> Principal:
    """The caller with a strong login of just now."""
    return replace(caller, acr="mfa", auth_time=clock.at)


async def listed(folder: Path, caller: Principal) -> dict[str, dict[str, Any]]:
    async with mail(MODERN, folder, stdio=caller) as (client, _):
        tools = (await client.list_tools()).tools
    return {tool.name: tool.model_dump(mode="json", by_alias=True) for tool in tools}


async def test_every_tool_of_the_document_is_there_at_its_level(tmp_path: Path) -> None:
    tools = await listed(tmp_path, HUMAN)
    found = {level: {name for name, one in tools.items() if one["_meta"]["riskLevel"] == level} for level in LEVELS}
    assert found == LEVELS
    assert len(tools) == 26


async def test_every_tool_has_every_field_of_the_contract_before_it_is_called(tmp_path: Path) -> None:
    for tool in (await listed(tmp_path, HUMAN)).values():
        meta = tool["_meta"]
        assert tool["name"] and tool["description"] and tool["inputSchema"] and tool["outputSchema"]
        assert {
            "riskLevel",
            "autonomousExecution",
            "confirmation",
            "stepUpAuth",
            "auditEvent",
            "category",
        } <= meta.keys()
        assert {"permissions", "side_effects", "failure_modes"} <= meta[CONTRACT].keys()
        assert meta["runtimeFailureModes"]


async def test_a_name_is_unique_and_may_be_a_domain_and_a_verb(tmp_path: Path) -> None:
    assert {"emails.send_external", "emails.bulk_send"} <= (await listed(tmp_path, HUMAN)).keys()
    twice = tmp_path / "twice.yaml"
    twice.write_text("tools:\n  emails.send: {side_effect: write}\n  emails.send: {side_effect: read}\n")
    with pytest.raises(ContractError, match=r"emails\.send"):
        Assent(contracts=twice)


def test_lint_accepts_domain_and_verb_under_this_profile_and_finds_a_bulk_send_without_dry_run() -> None:
    schema = {"type": "object", "properties": {"segmentId": {"type": "string"}}}
    description = "Sends a template to all contacts of a segment."
    tool = {"name": "emails.bulk_send", "description": description, "inputSchema": schema}
    found = {name: {one.rule for one in lint(target_of(tool, name)).findings} for name in ("spec", "mcp-first")}
    assert "name-dotted" in found["spec"] and "name-dotted" not in found["mcp-first"]
    assert "bulk-without-dry-run" in found["mcp-first"]


@pytest.mark.parametrize("name", sorted(LEVELS["low"] | LEVELS["medium"]))
async def test_low_and_medium_run_without_a_person(name: str, tmp_path: Path) -> None:
    async with mail(MODERN, tmp_path) as (client, _):
        result = await client.call_tool(name, CALLS[name])
    assert not result.is_error, result


async def test_medium_asks_where_the_selection_is_broad(tmp_path: Path) -> None:
    person = Person(["accept", "accept"])
    async with mail(MODERN, tmp_path, person) as (client, _):
        for ids in (["t-1"], ["*"], [f"t-{number}" for number in range(21)]):
            result = await client.call_tool("update_task_status", {"taskIds": ids, "status": "done"})
            assert not result.is_error
    assert len(person.asked) == 2


@pytest.mark.parametrize("name", sorted(LEVELS["high"] | LEVELS["critical"] - {"emails.bulk_send"}))
async def test_high_and_critical_wait_for_a_person(name: str, tmp_path: Path) -> None:
    clock = Clock()
    async with mail(MODERN, tmp_path, stdio=fresh(CALLER, clock), now=clock) as (client, _):
        waiting = await client.call_tool(name, CALLS[name])
    assert problem(waiting)["failure"] == "confirmation_required"
    assert outbox(tmp_path) == []
    person = Person(["accept"])
    async with mail(MODERN, tmp_path, person, stdio=fresh(HUMAN, clock), now=clock) as (client, _):
        done = await client.call_tool(name, CALLS[name])
    assert not done.is_error
    assert len(person.asked) == len(outbox(tmp_path)) == 1


async def test_no_level_above_medium_is_autonomous(tmp_path: Path) -> None:
    for name, tool in (await listed(tmp_path, HUMAN)).items():
        assert tool["_meta"]["autonomousExecution"] is (name in LEVELS["low"] | LEVELS["medium"])


@pytest.mark.parametrize("name", ["delete_user", "change_permissions", "execute_payment"])
async def test_payments_deletions_and_permissions_need_a_login_of_just_now(name: str, tmp_path: Path) -> None:
    person = Person()
    async with mail(MODERN, tmp_path, person) as (client, _):
        refused = await client.call_tool(name, CALLS[name])
    assert problem(refused)["failure"] == "step_up_required"
    assert person.asked == [], "nobody is asked about a call that cannot run"


@pytest.mark.parametrize("name", sorted(LEVELS["forbidden"]))
async def test_forbidden_tools_are_unknown_to_agents_and_not_to_people(name: str, tmp_path: Path) -> None:
    said = []
    async with mail(MODERN, tmp_path, Person(["accept"])) as (client, _):
        assert name not in [tool.name for tool in (await client.list_tools()).tools]
        for asked in (name, "no_such_tool"):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(asked, CALLS[name])
            said.append(refused.value.error.model_dump_json().replace(asked, "NAME"))
    assert said[0] == said[1]
    async with mail(MODERN, tmp_path, Person(["accept"]), stdio=HUMAN) as (client, _):
        assert not (await client.call_tool(name, CALLS[name])).is_error


async def test_no_scope_and_no_mode_lifts_the_boundary(tmp_path: Path) -> None:
    mighty = Principal("root", "agent", scopes=frozenset({"*"}))
    for options in ({"mode": "observe"}, {}):
        async with mail(MODERN, tmp_path, Person(["accept"]), stdio=mighty, **options) as (client, _):
            assert LEVELS["forbidden"].isdisjoint(tool.name for tool in (await client.list_tools()).tools)
            with pytest.raises(MCPError, match="Unknown tool: read_password"):
                await client.call_tool("read_password", CALLS["read_password"])


async def test_a_download_link_is_the_same_while_it_is_valid(tmp_path: Path) -> None:
    clock, links = Clock(), []
    for clock.at in (1_767_225_000, 1_767_225_000, 1_767_226_000):
        async with mail(MODERN, tmp_path, now=clock) as (client, _):
            result = await client.call_tool("create_download_link", CALLS["create_download_link"])
            links.append(result.structured_content["linkId"])
    other = {**CALLS["create_download_link"], "expiresAt": "2026-12-31T23:59:00Z"}
    async with mail(MODERN, tmp_path, now=clock) as (client, _):
        links.append((await client.call_tool("create_download_link", other)).structured_content["linkId"])
    assert links == ["l-1", "l-1", "l-2", "l-3"]


async def test_side_effects_say_what_a_repetition_does(tmp_path: Path) -> None:
    tools = await listed(tmp_path, HUMAN)
    for name in ("create_download_link", "emails.send_external", "emails.bulk_send", "execute_payment", "create_note"):
        assert any(text.startswith("Repeating") for text in tools[name]["_meta"]["sideEffects"])


async def test_the_rate_limit_answers_by_its_name(tmp_path: Path) -> None:
    limits = [{"match": {"tool": "emails.send_external"}, "calls": 1, "per": "1m"}]
    person = Person(["accept"] * 2)
    async with mail(MODERN, tmp_path, person, limits=limits) as (client, _):
        await client.call_tool("emails.send_external", MAIL)
        refused = await client.call_tool("emails.send_external", {**MAIL, "subject": "Again"})
    assert problem(refused)["failure"] == "rate_limit_exceeded"
    assert len(person.asked) == 1, "nobody is asked about a call that cannot run"


async def test_the_policy_engine_decides_over_the_contract(tmp_path: Path) -> None:
    clock, person = Clock(), Person()
    async with mail(MODERN, tmp_path, person, stdio=fresh(CALLER, clock), now=clock) as (client, _):
        refused = await client.call_tool("execute_payment", {"account": "DE02", "amount": 1001})
    assert (problem(refused)["code"], problem(refused)["failure"]) == ("guard.policy_denied", "policy_violation")
    assert person.asked == []


async def test_a_campaign_writes_an_event_for_every_message_and_a_repetition_writes_none(tmp_path: Path) -> None:
    async with mail(MODERN, tmp_path, Person(["accept"])) as (client, assent):
        await client.call_tool("emails.bulk_send", {**CAMPAIGN, "dryRun": True})
        first = await client.call_tool("emails.bulk_send", CAMPAIGN)
        again = await client.call_tool("emails.bulk_send", CAMPAIGN)
        log = await entries(assent)
    assert first.structured_content == again.structured_content
    assert sum(one.kind == "event" and one.facts["event"] == "email.external.sent" for one in log) == 4821
    assert len(outbox(tmp_path)) == 1


async def test_one_rehearsal_serves_one_real_call(tmp_path: Path) -> None:
    person = Person(["accept", "accept"])
    async with mail(MODERN, tmp_path, person) as (client, _):
        for key in ("first", "second"):
            await client.call_tool("emails.bulk_send", {**CAMPAIGN, "dryRun": True})
            sent = await client.call_tool("emails.bulk_send", CAMPAIGN, meta={"dev.assent/idempotencyKey": key})
            again = await client.call_tool(
                "emails.bulk_send", CAMPAIGN, meta={"dev.assent/idempotencyKey": f"{key} too"}
            )
            assert not sent.is_error
            assert problem(again)["code"] == "rehearse.dry_run_required"
    assert ["  recipientCount: 4821" in text.splitlines() for text in person.asked] == [True, True]
    assert len(outbox(tmp_path)) == 2, "two rehearsals, two campaigns, and nobody was asked about the others"


async def test_a_dry_run_lists_the_permissions_that_are_missing(tmp_path: Path) -> None:
    poor = replace(CALLER, scopes=frozenset({"contacts:read"}))
    async with mail(MODERN, tmp_path, stdio=poor) as (client, _):
        rehearsed = await client.call_tool("emails.bulk_send", {**CAMPAIGN, "dryRun": True})
    assert rehearsed.structured_content["missingPermissions"] == ["emails:send"]
    assert rehearsed.structured_content["simulated"] is True


async def test_a_dry_run_checks_what_the_call_would_check_and_changes_nothing(tmp_path: Path) -> None:
    async with mail(MODERN, tmp_path) as (client, _):
        unknown = await client.call_tool("delete_user", {"userId": "nobody", "dryRun": True})
        found = await client.call_tool("delete_user", {"userId": "max", "dryRun": True})
        wrong = await client.call_tool("delete_user", {"userId": 7, "dryRun": True})
    assert problem(unknown)["code"] == "unknown_user"
    assert found.structured_content["filesToDelete"] == 17
    assert problem(wrong)["failure"] == "invalid_input"
    assert outbox(tmp_path) == []


async def test_a_rehearsal_counts_for_its_arguments_its_caller_and_its_time(tmp_path: Path) -> None:
    clock = Clock()
    async with mail(MODERN, tmp_path, now=clock) as (client, _):
        await client.call_tool("emails.bulk_send", {**CAMPAIGN, "dryRun": True})
        other = await client.call_tool("emails.bulk_send", {**CAMPAIGN, "templateId": "tmpl_other"})
    async with mail(MODERN, tmp_path, now=clock, stdio=replace(CALLER, id="another")) as (client, _):
        stranger = await client.call_tool("emails.bulk_send", CAMPAIGN)
    clock.advance(601)
    async with mail(MODERN, tmp_path, now=clock) as (client, _):
        late = await client.call_tool("emails.bulk_send", CAMPAIGN)
    assert {problem(one)["failure"] for one in (other, stranger, late)} == {"dry_run_required"}


async def test_a_required_dry_run_is_announced(tmp_path: Path) -> None:
    tool = (await listed(tmp_path, CALLER))["emails.bulk_send"]
    assert tool["_meta"][CONTRACT]["dry_run"] == {"mode": "required", "argument": "dryRun"}


async def test_parallel_calls_have_one_effect(tmp_path: Path) -> None:
    wanted = {"fileId": "f_abc123", "expiresAt": "2999-12-31T23:59:00Z"}
    async with mail(MODERN, tmp_path) as (client, _):
        results = await asyncio.gather(*(client.call_tool("create_download_link", wanted) for _ in range(5)))
    links = {one.structured_content["linkId"] for one in results}
    assert len(links) == len(outbox(tmp_path)) == 1


async def test_the_conversation_runs_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    await conversation.main()
    told = capsys.readouterr().out
    assert "listed  21 of 26" in told
    assert "4821 × event    email.external.sent" in told
    assert "Unknown tool: read_password" in told


def test_every_statement_has_a_test_that_exists() -> None:
    assert check_statements("mcp_first") == []

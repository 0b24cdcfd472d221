"""`emails.send_external` and `emails.bulk_send`: every field of the thirteen-field contract works at run time."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from assent import Assent, Principal
from assent.guards import build_guard
from assent.testing import Clock
from support.transports import ERAS, ROOT, Person, connect, over_stdio

sys.path.insert(0, str(ROOT / "examples"))
from mcp_first.server import CALLER, build, preview

from support.problems import problem

MAIL = {"to": ["anna@example.com"], "subject": "Hello", "body": "Dear Anna"}
CAMPAIGN = {"templateId": "tmpl_newsletter_q3", "segmentId": "seg_active_customers"}
CONTRACT = "dev.assent/contract"


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
    return [logged.entry for logged in await assent.store.entries()]


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
        "category": "communication",
    }


async def test_permissions_decide_what_is_listed_and_what_may_be_called(era: str, tmp_path: Path) -> None:
    poor = replace(CALLER, scopes=frozenset({"emails:send"}))
    async with mail(era, tmp_path, stdio=poor) as (client, _):
        assert (await client.list_tools()).tools == []
        refused = await client.call_tool("emails.send_external", MAIL)
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
    inside = build_guard(
        {"match": {"tool": "emails.*"}, "rule": "allow_domains", "fields": ["to"], "domains": ["example.com"]}
    )
    async with mail(era, tmp_path, Person(), guards=[inside]) as (client, _):
        refused = await client.call_tool("emails.send_external", {**MAIL, "to": ["eve@evil.test"]})
    assert problem(refused)["code"] == "guard.denied"
    assert problem(refused)["failure"] == "policy_violation"
    assert (problem(refused)["rule"], problem(refused)["field"]) == ("allow_domains", "to[0]")


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
    assert rehearsed.structured_content == preview("tmpl_newsletter_q3", 4821)
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

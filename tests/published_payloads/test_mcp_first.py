"""MCP-first: thirteen fields, five risk levels, and tools that do not exist for an agent."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.model import Contract
from assent.contract.profiles import profile
from assent.contract.show import show
from assent.contract.tool_listing import CONTRACT_KEY, meta_of, runtime_failures
from assent.core.principal import Principal
from assent.core.problems import CATALOGUE
from assent.core.tool import compile_tool
from assent.errors import ContractError
from assent.pipeline.discover import absent_for
from support.documents.contract_examples import parse_contracts

CONTRACTS = """
tools:
  list_projects: {side_effect: read}
  get_current_user: {side_effect: read}
  search_contacts: {side_effect: read}
  get_help_article: {side_effect: read}
  create_reminder: {side_effect: write, risk: low}

  create_note: {side_effect: write}
  update_task_status: {side_effect: write, overwrites: true}
  generate_summary: {side_effect: compute, risk: medium}
  create_draft: {side_effect: write}

  change_project_status: {side_effect: write, overwrites: true, risk: high}
  invite_calendar_attendee: {side_effect: write, open_world: true, risk: high}
  share_file_link: {side_effect: share_export}
  update_customer_data: {side_effect: write, overwrites: true, risk: high}

  emails.send_external: {side_effect: write, open_world: true, risk: critical}
  bulk_export: {side_effect: share_export, risk: critical}
  delete_user: {side_effect: destructive}
  change_permissions: {side_effect: write, overwrites: true, risk: critical}
  execute_payment: {side_effect: external_spend}
  send_contract: {side_effect: write, open_world: true, risk: critical}

  read_private_key: {side_effect: read, risk: forbidden}
  read_password: {side_effect: read, risk: forbidden}
  read_raw_access_token: {side_effect: read, risk: forbidden}
  disable_audit_log: {side_effect: destructive, risk: forbidden}
  export_full_database_without_approval: {side_effect: share_export, risk: forbidden}
"""
LEVELS = {
    "low": ["list_projects", "get_current_user", "search_contacts", "get_help_article", "create_reminder"],
    "medium": ["create_note", "update_task_status", "generate_summary", "create_draft"],
    "high": ["change_project_status", "invite_calendar_attendee", "share_file_link", "update_customer_data"],
    "critical": [
        "emails.send_external",
        "bulk_export",
        "delete_user",
        "change_permissions",
        "execute_payment",
        "send_contract",
    ],
    "forbidden": [
        "read_private_key",
        "read_password",
        "read_raw_access_token",
        "disable_audit_log",
        "export_full_database_without_approval",
    ],
}
# level: number, autonomous, asked when the call is clear, asked when it is ambiguous
MODEL = {
    "low": (1, True, "none", "none"),
    "medium": (2, True, "none", "user"),
    "high": (3, False, "user", "user"),
    "critical": (4, False, "user", "user"),
    "forbidden": (5, False, "user", "user"),
}
EXAMPLES = [(level, name) for level, names in LEVELS.items() for name in names]
FOUND = parse_contracts(CONTRACTS)

AGENT = Principal("agent", "agent", scopes=frozenset({"*"}))
HUMAN = Principal("ann", "human", scopes=frozenset({"*"}))
ON_BEHALF = Principal("ann", "human", scopes=frozenset({"*"}), actors=(AGENT,))


@pytest.mark.parametrize(("level", "name"), EXAMPLES)
def test_every_example_tool_stands_at_its_level(level: str, name: str) -> None:
    contract = FOUND[name]
    said = contract.risk.number, contract.autonomous, contract.asked_by(False), contract.asked_by(True)
    assert (contract.risk.value, said) == (level, MODEL[level])


def test_every_contract_is_an_example() -> None:
    assert sorted(FOUND) == sorted(name for _, name in EXAMPLES)


@pytest.mark.parametrize(("level", "name"), EXAMPLES)
def test_forbidden_tools_do_not_exist_for_an_agent_or_anyone_with_an_agent_behind_them(level: str, name: str) -> None:
    tool = compile_tool(FOUND[name])
    absent = [absent_for(tool, caller) is not None for caller in (AGENT, ON_BEHALF, HUMAN)]
    assert absent == ([True, True, False] if level == "forbidden" else [False, False, False])


SEND_EXTERNAL = """
tools:
  emails.send_external:                                                   # Name
    description: Sends an external email to one or more recipients.       # Description
    category: communication                                               # Category
    risk: critical                                                        # Risk Level
    autonomous: false                                                     # Autonomous Execution
    confirmation: {by: user}                                              # Confirmation
    step_up: {max_age: 5m, when: len(to) > 10}                            # Step-up Auth
    input:                                                                # Input Schema
      type: object
      properties:
        to: {type: array, items: {type: string}}
        subject: {type: string}
        body: {type: string}
        attachments: {type: array, items: {type: string}}
        projectId: {type: string}
      required: [to, subject, body]
    output:                                                               # Output Schema
      type: object
      properties:
        emailId: {type: string}
        status: {enum: [sent, scheduled, failed]}
      required: [emailId, status]
    permissions: [emails:send, contacts:read, files:read]                 # Permissions
    side_effects: [An external email is sent to every recipient.]         # Side Effects
    audit_event: email.external.sent                                      # Audit Event
    failure_modes:                                                        # Failure Modes
      permission_denied: {class: no_effect, status: 403}
      confirmation_required: {class: no_effect, status: 428}
      invalid_recipient: {class: no_effect}
      attachment_too_large: {class: no_effect, status: 413}
      rate_limit_exceeded: {class: no_effect, status: 429}
      policy_violation: {class: no_effect, status: 403}
    side_effect: write
    open_world: true
"""


RUNTIME_FAILURES = [
    *("authentication_required", "invalid_input", "budget_exceeded", "confirmation_declined", "unavailable", "failed"),
    *("undeclared_failure", "invalid_output", "step_up_required"),
    *("idempotency_conflict", "in_progress", "in_doubt", "expired"),
]


@pytest.fixture
def send_external() -> Contract:
    return parse_contracts(SEND_EXTERNAL)["emails.send_external"]


def test_the_thirteen_fields_of_send_external_are_shown_complete(send_external: Contract) -> None:
    assert show(send_external).splitlines()[:-3] == [
        "emails.send_external: Emails send external",
        "  Description       Sends an external email to one or more recipients.",
        "  Category          communication",
        "  Side effect       write",
        "  Risk              critical (4 of 5)",
        "  Autonomous        no  (default)",
        "  Confirmation      a user approves before every call, within 15m  (default)",
        "  Step up           when len(to) > 10: a login within the last 5m",
        "  Input             to: string[]",
        "                    subject: string",
        "                    body: string",
        "                    attachments?: string[]",
        "                    projectId?: string",
        "  Output            emailId: string",
        '                    status: "sent" | "scheduled" | "failed"',
        "  Permissions       emails:send",
        "                    contacts:read",
        "                    files:read",
        "  Side effects      An external email is sent to every recipient.",
        "  Audit event       email.external.sent",
        "  Failure modes     permission_denied (403): nothing was done",
        "                    confirmation_required (428): nothing was done",
        "                    invalid_recipient (422): nothing was done",
        "                    attachment_too_large (413): nothing was done",
        "                    rate_limit_exceeded (429): nothing was done",
        "                    policy_violation (403): nothing was done",
        "  Idempotency       none: at most once; an unknown end stays in doubt  (default)",
        "                    key optional",
    ]


def test_the_thirteen_fields_are_machine_readable_on_the_wire(send_external: Contract) -> None:
    tool = dict(compile_tool(send_external, profile=profile("mcp-first")).definition)
    meta: dict[str, Any] = {key: value for key, value in tool["_meta"].items() if key != CONTRACT_KEY}
    assert (tool["name"], tool["description"]) == ("emails.send_external", send_external.description)
    assert (tool["inputSchema"], tool["outputSchema"]) == (send_external.input, send_external.output)
    assert meta == {
        "riskLevel": "critical",
        "autonomousExecution": False,
        "confirmation": "user",
        "stepUpAuth": "conditional",
        "stepUpAuthDependsOn": ["to"],
        "permissions": ["emails:send", "contacts:read", "files:read"],
        "sideEffects": ["An external email is sent to every recipient."],
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


def test_every_other_profile_publishes_the_same_promises_in_its_projection(send_external: Contract) -> None:
    said = meta_of(send_external, profile("spec"))[CONTRACT_KEY]
    assert (said["risk"], said["autonomous"], said["confirmation"]) == ("critical", False, "user")
    assert (said["step_up"], said["audit_event"]) == ("conditional", "email.external.sent")
    assert list(said["failure_modes"]) == list(send_external.failure_modes)


def test_the_failures_that_are_ours_are_aliases_of_our_refusals() -> None:
    aliases = {kind.alias for kind in CATALOGUE.values()}
    assert {"permission_denied", "confirmation_required", "rate_limit_exceeded", "policy_violation"} <= aliases


def test_declared_and_runtime_failures_together_are_every_failure_a_caller_can_meet(send_external: Contract) -> None:
    listed = {*send_external.failure_modes, *runtime_failures(send_external)}
    met_elsewhere = {"idempotency_key_required", "dry_run_required", "dry_run_failed", "estimate_failed"}
    aliases = {kind.alias for kind in CATALOGUE.values() if kind.wire not in ("api", "protocol")}
    assert aliases - listed == met_elsewhere | {"secret_already_delivered"}
    assert listed - aliases == {"invalid_recipient", "attachment_too_large"}


def test_a_critical_tool_always_asks_a_person_under_this_profile() -> None:
    text = "tools:\n  delete_user: {side_effect: destructive, confirmation: {by: none, because: quick}}\n"
    contract = parse_contracts(text)["delete_user"]
    with pytest.raises(ContractError, match="critical risk always needs a confirmation"):
        compile_tool(contract, profile=profile("mcp-first"))
    assert compile_tool(contract, profile=profile("spec")).contract.confirmation.by == "none"


def test_a_download_link_is_named_by_its_file_and_expiry() -> None:
    text = """
tools:
  create_download_link:
    side_effect: share_export
    natural: {by: [fileId, expiresAt], until: /expiresAt}
    secrets: [/url]
    side_effects: ["Creates a link.", "The same file and expiry return the same link while it is valid."]
"""
    contract = parse_contracts(text)["create_download_link"]
    assert contract.natural is not None
    assert (contract.natural.by, contract.natural.until) == (("fileId", "expiresAt"), "/expiresAt")
    assert contract.risk == "high"


def test_a_bulk_send_requires_its_dry_run() -> None:
    text = "tools:\n  emails.bulk_send: {side_effect: write, risk: critical, dry_run: {mode: required}}\n"
    contract = parse_contracts(text)["emails.bulk_send"]
    assert (contract.dry_run.mode, contract.dry_run.argument) == ("required", "dryRun")
    listed = compile_tool(contract).definition
    assert listed["inputSchema"]["properties"]["dryRun"]["type"] == "boolean"

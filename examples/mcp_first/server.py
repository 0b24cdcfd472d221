"""An MCP-first office of 26 tools: the contracts are a file, and every field of them works at run time.

Run it with `python examples/mcp_first/server.py` (stdio). `conversation.py` beside it shows what happens.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from assent import Assent, Principal, ToolFailed, record_event

sys.path.insert(0, str(Path(__file__).parent.parent))
from mcp_first.office import register

HERE = Path(__file__).parent
SCOPES = ["emails:*", "contacts:read", "files:*", "projects:*", "tasks:*", "notes:*", "calendar:*", "customers:*"]
SCOPES += ["users:*", "payments:execute", "contracts:send", "vault:read", "operations:admin"]
CALLER = Principal("office-agent", "agent", scopes=frozenset(SCOPES), asks="person")
SEGMENTS = {"seg_active_customers": 4821}
GUARDS = [{"match": {"tool": "emails.*"}, "rule": "secrets", "because": "Mail must not carry credentials."}]
LIMITS = [{"match": {"tool": "emails.send_external"}, "calls": 30, "per": "1m"}]
BUDGETS = [{"match": {"tool": "execute_payment"}, "amount": 1000, "currency": "EUR", "per": "1d"}]


def preview(template: str, count: int) -> dict[str, Any]:
    """What a campaign would do."""
    subject = "Your Q3 update is here"
    return {
        "dryRun": True,
        "recipientCount": count,
        "sampleMessages": [
            {"to": "anna@example.com", "subject": subject, "previewText": "Dear Anna, in the third quarter we…"},
            {"to": "max@example.com", "subject": subject, "previewText": "Dear Max, in the third quarter we…"},
        ],
        "warnings": [
            "43 recipients have no first name, fallback 'Hello' will be used.",
            "12 email addresses are marked as undeliverable and will be skipped.",
        ],
        "missingPermissions": [],
        "expectedSideEffects": [
            f"{count} external emails will be sent.",
            f"{count} audit events of type email.external.sent will be created.",
            "Campaign status will be set to 'sent'.",
        ],
        "estimatedDurationMs": 18400,
    }


def build(
    store: str = "sqlite:///mail.db", outbox: Path = Path("outbox.log"), **options: Any
) -> tuple[MCPServer, Assent]:
    """The server and its Assent. `outbox` has a line for everything that really happened."""
    rules = {"guards": GUARDS, "limits": LIMITS, "budgets": BUDGETS, "policies": [HERE / "policies" / "*.cedar"]}
    options = {"stdio": CALLER, **rules, **options}
    assent = Assent(store=store, contracts=HERE / "contracts.yaml", profile="mcp-first", **options)
    server = MCPServer("office", extensions=[assent.extension()], log_level="ERROR")

    def note(what: str, **facts: Any) -> int:
        with outbox.open("a", encoding="utf-8") as book:
            book.write(json.dumps({"what": what, **facts}) + "\n")
        return len(outbox.read_text(encoding="utf-8").splitlines())

    @server.tool(name="emails.send_external")
    def send_external(
        to: list[str],
        subject: str,
        body: str,
        attachments: list[str] | None = None,
        projectId: str | None = None,
    ) -> dict[str, Any]:
        if any("@" not in recipient for recipient in to):
            raise ToolFailed("invalid_recipient", "A recipient has no mail address.")
        if any(len(attachment) > 64 for attachment in attachments or []):
            raise ToolFailed("attachment_too_large", "An attachment is larger than the mail server takes.")
        if subject == "mail bomb":
            raise ToolFailed("server_on_fire", "This failure is in no contract.")
        return {"emailId": f"m-{note('mail', to=to, subject=subject)}", "status": "sent"}

    @server.tool(name="emails.bulk_send")
    def bulk_send(templateId: str, segmentId: str, dryRun: bool = False) -> dict[str, Any]:
        if segmentId not in SEGMENTS:
            raise ToolFailed("unknown_segment", "There is no such segment.")
        if dryRun:
            return preview(templateId, SEGMENTS[segmentId])
        note("campaign", template=templateId, segment=segmentId, count=SEGMENTS[segmentId])
        for number in range(SEGMENTS[segmentId]):
            record_event("email.external.sent", contact=f"c-{number}", template=templateId)
        return {"campaignStatus": "sent", "recipientCount": SEGMENTS[segmentId]}

    register(server, note)
    assent.apply(server)
    return server, assent


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="office-") as folder:
        outbox = Path(os.environ.get("MAIL_OUTBOX", f"{folder}/outbox.log"))
        office, _ = build(os.environ.get("MAIL_STORE", f"sqlite:///{folder}/mail.db"), outbox)
        office.run()

"""The 24 tools of the office besides mail: ordinary functions. Their contracts are in contracts.yaml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assent import ToolFailed

Note = Callable[..., int]
"""Notes something that really happened, and returns its number."""
FILES = ("f_abc123", "f_report")
USERS = ("ann", "max")


def register(server: Any, note: Note) -> None:
    """Register the tools of every risk level."""
    register_low(server, note)
    register_medium(server, note)
    register_high(server, note)
    register_critical(server, note)
    register_forbidden(server, note)


def register_low(server: Any, note: Note) -> None:
    @server.tool()
    def list_projects() -> dict[str, list[str]]:
        return {"projects": ["apollo", "gemini"]}

    @server.tool()
    def get_current_user() -> dict[str, str]:
        return {"user": "ann"}

    @server.tool()
    def search_contacts(query: str) -> dict[str, list[str]]:
        return {"contacts": [name for name in ("Anna", "Max") if query.lower() in name.lower()]}

    @server.tool()
    def get_help_article(articleId: str) -> dict[str, str]:
        if articleId != "start":
            raise ToolFailed("unknown_article", "There is no such article.")
        return {"title": "Getting started"}

    @server.tool()
    def create_reminder(text: str) -> dict[str, str]:
        return {"reminderId": f"r-{note('reminder', text=text)}"}


def register_medium(server: Any, note: Note) -> None:
    @server.tool()
    def create_note(text: str) -> dict[str, str]:
        return {"noteId": f"n-{note('note', text=text)}"}

    @server.tool()
    def update_task_status(taskIds: list[str], status: str) -> dict[str, int]:
        note("tasks", ids=taskIds, status=status)
        return {"updated": len(taskIds)}

    @server.tool()
    def generate_summary(projectId: str) -> dict[str, str]:
        return {"summary": f"{projectId} is on time."}

    @server.tool()
    def create_draft(subject: str, body: str) -> dict[str, str]:
        return {"draftId": f"d-{note('draft', subject=subject)}"}

    @server.tool()
    def create_download_link(fileId: str, expiresAt: str) -> dict[str, str]:
        if fileId not in FILES:
            raise ToolFailed("unknown_file", "There is no such file.")
        number = note("link", file=fileId)
        url = f"https://files.example.com/{fileId}/{number}"
        return {"linkId": f"l-{number}", "url": url, "expiresAt": expiresAt}


def register_high(server: Any, note: Note) -> None:
    @server.tool()
    def change_project_status(projectId: str, status: str) -> dict[str, str]:
        note("project", id=projectId, status=status)
        return {"projectId": projectId, "status": status}

    @server.tool()
    def invite_calendar_attendee(eventId: str, email: str) -> dict[str, str]:
        return {"invitationId": f"i-{note('invitation', event=eventId)}"}

    @server.tool()
    def share_file_link(fileId: str, email: str) -> dict[str, str]:
        return {"url": f"https://files.example.com/s/{note('share', file=fileId)}"}

    @server.tool()
    def update_customer_data(customerId: str, data: dict[str, Any]) -> dict[str, str]:
        note("customer", id=customerId)
        return {"customerId": customerId}


def register_critical(server: Any, note: Note) -> None:
    @server.tool()
    def bulk_export(dryRun: bool = False) -> dict[str, Any]:
        if dryRun:
            return {"recordCount": 5230}
        return {"exportId": f"e-{note('export')}", "downloadToken": "one-time"}

    @server.tool()
    def delete_user(userId: str, dryRun: bool = False) -> dict[str, Any]:
        if userId not in USERS:
            raise ToolFailed("unknown_user", "There is no such user.")
        if dryRun:
            return {"filesToDelete": 17}
        note("delete user", id=userId)
        return {"deleted": userId}

    @server.tool()
    def change_permissions(userId: str, permissions: list[str]) -> dict[str, str]:
        note("permissions", id=userId, permissions=permissions)
        return {"userId": userId}

    @server.tool()
    def execute_payment(account: str, amount: int) -> dict[str, str]:
        return {"paymentId": f"p-{note('payment', account=account, amount=amount)}"}

    @server.tool()
    def send_contract(contractId: str, recipient: str) -> dict[str, str]:
        return {"envelopeId": f"v-{note('contract', id=contractId)}"}


def register_forbidden(server: Any, note: Note) -> None:
    @server.tool()
    def read_private_key() -> dict[str, str]:
        return {"key": "-----BEGIN PRIVATE KEY-----"}

    @server.tool()
    def read_password(account: str) -> dict[str, str]:
        return {"password": "hunter2"}

    @server.tool()
    def read_raw_access_token() -> dict[str, str]:
        return {"token": "raw"}

    @server.tool()
    def disable_audit_log() -> dict[str, str]:
        note("audit log stopped")
        return {"state": "stopped"}

    @server.tool()
    def export_full_database_without_approval() -> dict[str, str]:
        note("database exported")
        return {"file": "everything.sql"}

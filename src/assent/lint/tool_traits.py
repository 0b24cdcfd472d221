"""Traits of a tool: takes an idempotency key, has a dry run, selects many items."""

from __future__ import annotations

from collections.abc import Mapping

from assent.lint.fields import Field
from assent.lint.target import LintedTool

_KEYS = frozenset(
    (
        *("idempotency_key", "idempotency_token", "idempotent_key", "dedupe_key", "deduplication_id", "request_id"),
        *("client_token", "client_order_id", "client_request_id", "client_reference_id", "external_id"),
    )
)
_REHEARSALS = frozenset(
    ("dry_run", "dryrun", "preview", "preview_only", "simulate", "validate_only", "what_if", "whatif", "test_mode")
)
_SELECTIONS = frozenset(("filter", "filters", "where", "selector", "all", "everything", "pattern", "glob", "criteria"))
# In a tool without loss these select a place on a page or in a text.
_LOOSE = frozenset(("selector", "pattern", "glob"))
_MANY = frozenset(("items", "records", "files", "paths", "messages", "entries", "documents", "rows", "keys", "names"))


def takes_key(tool: LintedTool) -> bool:
    """Whether a key can identify a repetition, as an argument or by the server's contract."""
    idempotency = tool.projection.get("idempotency")
    if tool.contract is None and isinstance(idempotency, Mapping) and idempotency.get("key") == "required":
        return True
    return any(field.plain in _KEYS for field in tool.inputs)


def rehearses(tool: LintedTool) -> bool:
    """Whether a dry run is possible, by the contract or by an argument."""
    if tool.contract is not None and tool.contract.dry_run.mode != "none":
        return True
    dry_run = tool.projection.get("dry_run")
    if isinstance(dry_run, Mapping) and dry_run.get("mode") in ("offered", "required"):
        return True
    return any(field.plain in _REHEARSALS for field in tool.inputs)


def presses(tool: LintedTool) -> bool:
    """Whether it presses on a screen, so that the loss cannot be known beforehand."""
    return any("live screen" in reason for reason in tool.inference.reasons)


def restarts(tool: LintedTool) -> bool:
    """Whether it only interrupts running work; vendors disagree whether that is destructive."""
    return any("interrupts what runs" in reason for reason in tool.inference.reasons)


def selection(tool: LintedTool) -> Field | None:
    """Return the argument that selects many items; in a tool that only changes, a list is the new value."""
    selects = set(tool.contract.selects) if tool.contract else set()
    loses = tool.inference.destructive or tool.tier == "destructive"
    for field in tool.inputs:
        if not loses and field.pointer.startswith(("/$defs/", "/definitions/")):
            continue  # a filter that is created or changed belongs to the object
        if field.name in selects or (field.plain in _SELECTIONS and (loses or field.plain not in _LOOSE)):
            return field
        if loses and field.is_a("array") and (field.plain.endswith("ids") or field.plain in _MANY):
            return field
    return None

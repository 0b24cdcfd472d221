"""Does a tool take an idempotency key, a dry run or a selection?"""

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
# In a tool that loses nothing these are for a place on a page or in a text.
_LOOSE = frozenset(("selector", "pattern", "glob"))
_MANY = frozenset(("items", "records", "files", "paths", "messages", "entries", "documents", "rows", "keys", "names"))


def takes_key(tool: LintedTool) -> bool:
    """Whether a repetition can be known by a key, as an argument or as the server's own contract wants it."""
    idempotency = tool.projection.get("idempotency")
    if tool.contract is None and isinstance(idempotency, Mapping) and idempotency.get("key") == "required":
        return True
    return any(field.plain in _KEYS for field in tool.inputs)


def rehearses(tool: LintedTool) -> bool:
    """Whether a call can be rehearsed, by its contract or by an argument."""
    if tool.contract is not None and tool.contract.dry_run.mode != "none":
        return True
    dry_run = tool.projection.get("dry_run")
    if isinstance(dry_run, Mapping) and dry_run.get("mode") in ("offered", "required"):
        return True
    return any(field.plain in _REHEARSALS for field in tool.inputs)


def presses(tool: LintedTool) -> bool:
    """Whether what it may lose is whatever stands under a finger: nobody can say that beforehand."""
    return any("live screen" in reason for reason in tool.inference.reasons)


def restarts(tool: LintedTool) -> bool:
    """Whether what it loses is only what runs at the moment: on that, unlike on deleting, vendors differ."""
    return any("interrupts what runs" in reason for reason in tool.inference.reasons)


def selection(tool: LintedTool) -> Field | None:
    """The argument that names many things at once; in a tool that only changes, a list is what it is changed to."""
    selects = set(tool.contract.selects) if tool.contract else set()
    loses = tool.inference.destructive or tool.tier == "destructive"
    for field in tool.inputs:
        if not loses and field.pointer.startswith(("/$defs/", "/definitions/")):
            continue  # the filter of a thing that is made or changed belongs to the thing
        if field.name in selects or (field.plain in _SELECTIONS and (loses or field.plain not in _LOOSE)):
            return field
        if loses and field.is_a("array") and (field.plain.endswith("ids") or field.plain in _MANY):
            return field
    return None

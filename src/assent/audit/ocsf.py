"""Maps entries to the Open Cybersecurity Schema Framework (1.6.0).

Calls are API Activity (6003), failed authentication is Authentication (3002), and changes by operators and the
gateway are Entity Management (3004). Fields without a counterpart go to `unmapped`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from assent.audit.log_reader import EntryView

SCHEMA = "1.6.0"
_SEVERITY = {"low": 1, "medium": 2, "high": 3, "critical": 4, "forbidden": 4}
_ACTIVITY = {
    "read": (2, "Read"),
    "write": (3, "Update"),
    "share_export": (1, "Create"),
    "destructive": (4, "Delete"),
}
_STATUS = {"succeeded": (1, "Success"), "failed": (2, "Failure"), "failed_no_effect": (2, "Failure")}
_MAPPED = frozenset({"tool", "upstream", "state", "code", "count", "since", "until"})
_MANAGED = {"redaction": (4, "Delete"), "key": (1, "Create")}


def shape_for(origin: str) -> Callable[[EntryView], Mapping[str, Any]]:
    """Return the mapping for one log, in the form that `export` takes."""
    return lambda row: ocsf_event(row, origin)


def ocsf_event(row: EntryView, origin: str) -> dict[str, Any]:
    if row.leaf.kind == "authentication":
        event = _authentication(row)
    elif row.leaf.kind in ("operator", "definition", "configuration", "key", "redaction"):
        event = _management(row)
    else:
        event = _call(row)
    event["type_uid"] = event["class_uid"] * 100 + event["activity_id"]
    event |= {"time": row.leaf.at, "severity_id": _SEVERITY.get(row.fact("risk") or "low", 0)}
    event["metadata"] = _metadata(row, origin)
    facts = {name: value for name, value in row.leaf.facts.items() if name not in _MAPPED}
    event["unmapped"] = {**facts, "values": dict(row.values), "erased": row.erased}
    return event


def _metadata(row: EntryView, origin: str) -> dict[str, Any]:
    joins = row.fact("claim") or row.fact("approval")
    return {
        "version": SCHEMA,
        "product": {"name": "Assent", "vendor_name": "Assent"},
        "uid": row.leaf_hash.hex(),
        "sequence": row.index,
        "log_name": origin,
        "event_code": row.leaf.kind,
    } | ({"correlation_uid": joins} if joins else {})


def _user(row: EntryView) -> dict[str, Any]:
    name = row.who
    if name is None:
        name = "erased" if {"principal", "person"} & row.leaf.commitments.keys() else "unknown"
    kinds = {"human": (1, "User"), "agent": (4, "Service"), "service": (4, "Service")}
    type_id, type_name = kinds.get(str(row.values.get("kind") or row.caller.get("kind")), (0, "Unknown"))
    return {"uid": str(name), "type_id": type_id, "type": type_name}


def _call(row: EntryView) -> dict[str, Any]:
    tier = row.fact("tier") or row.leaf.kind
    activity, name = _ACTIVITY.get(tier, (99, tier))
    if row.leaf.kind in ("approval", "decision"):
        activity, name = 99, row.leaf.kind
    status, status_name = _status(row)
    code, upstream = row.fact("code"), row.fact("upstream")
    api: dict[str, Any] = {"operation": row.fact("tool") or row.leaf.kind}
    api |= {"service": {"name": upstream}} if upstream else {}
    api |= {"response": {"error": code}} if code else {}
    return {
        "category_uid": 6,
        "class_uid": 6003,
        "activity_id": activity,
        "activity_name": name,
        "status_id": status,
        "status": status_name,
        "actor": {"user": _user(row)},
        "api": api,
        "src_endpoint": {"name": str(row.values.get("source", "unknown"))},
    } | ({"status_code": code} if code else {})


def _status(row: EntryView) -> tuple[int, str]:
    if row.leaf.kind in ("denial", "failure"):
        return 2, "Failure"
    if row.leaf.kind in ("read", "replay"):
        return 1, "Success"
    state = row.fact("state")
    return _STATUS.get(state, (99, state)) if state else (0, "Unknown")


def _authentication(row: EntryView) -> dict[str, Any]:
    failed = row.fact("event") in (None, "authentication.failed")
    event = {
        "category_uid": 3,
        "class_uid": 3002,
        "activity_id": 1,
        "activity_name": "Logon",
        "status_id": 2 if failed else 1,
        "status": "Failure" if failed else "Success",
        "user": {"name": "unknown", "type_id": 0, "type": "Unknown"} if failed else _user(row),
        "service": {"name": "assent"},
    }
    names = {"count": "count", "since": "start_time", "until": "end_time", "code": "status_detail"}
    return event | {ours: row.fact(name) for name, ours in names.items() if row.fact(name) is not None}


def _management(row: EntryView) -> dict[str, Any]:
    activity, name = _MANAGED.get(row.leaf.kind, (3, "Update"))
    subjects = ("key", "after", "configuration", "definition", "action", "entry")
    uid = next((str(row.fact(fact)) for fact in subjects if row.fact(fact) is not None), row.leaf.kind)
    return {
        "category_uid": 3,
        "class_uid": 3004,
        "activity_id": activity,
        "activity_name": name,
        "status_id": 1,
        "status": "Success",
        "actor": {"user": _user(row)},
        "entity": {"name": row.leaf.kind, "type": row.leaf.kind, "uid": uid},
    }

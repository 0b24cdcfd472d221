"""`preset: recommended`, and the guards that protect new installations without it (ADR 0172)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GUARDS: tuple[dict[str, Any], ...] = (
    {"rule": "secrets"},
    {"rule": "block_private_hosts"},
    {
        "rule": "sql_read_only",
        "match": {"tier": "read"},
        "fields": ["sql", "sql_query", "sqlQuery"],
        "dialect": "postgres",
        "action": "approve",
        "by": "user",
        "because": "A tool that reads was given SQL that may write.",
    },
)
"""The guards of the preset. A guard of the same rule in the configuration replaces its own here."""

UNSAFE_HOSTS: dict[str, Any] = {"rule": "block_metadata_hosts", "match": {"written": False}}
"""By default, tools without a written contract are not sent to a cloud's metadata service."""

_NAMES = ("path", "file", "filename", "directory", "dir", "folder", "cwd", "source", "destination")
_WHICH = ("file", "repo", "repository", "root", "source", "destination", "old", "new", "target", "input", "output")
ROOT_FIELDS = [
    *(f"{name}{many}" for name in _NAMES for many in ("", "s")),
    *(f"{which}{end}" for which in (*_WHICH, "working") for end in ("_path", "path", "_paths", "paths", "_directory")),
]
"""The arguments that name paths, for upstreams with `roots`."""


def root_guard(upstream: str, roots: list[str]) -> dict[str, Any]:
    """The guard that keeps the paths in calls of an upstream inside its roots."""
    where = {"match": {"upstream": upstream}, "fields": ROOT_FIELDS}
    return {"rule": "allow_paths", **where, "paths": roots, "base": roots[0]}


def with_preset(given: Any) -> Any:
    """The settings as written, with those of the preset where nothing else is written."""
    if not isinstance(given, Mapping) or given.get("preset") != "recommended":
        return given
    filled = dict(given)
    written = filled.get("guards") or ()
    if isinstance(written, list | tuple):
        own = {one.get("rule") for one in written if isinstance(one, Mapping)}
        filled["guards"] = (*written, *(one for one in GUARDS if one["rule"] not in own))
    flow = filled.get("flow") or {}
    if isinstance(flow, Mapping):
        filled["flow"] = {"mode": "ask", **flow}
    upstreams = filled.get("upstreams") or {}
    if isinstance(upstreams, Mapping):
        filled["upstreams"] = {name: _observe_by_default(one) for name, one in upstreams.items()}
    return filled


def _observe_by_default(upstream: Any) -> Any:
    """An upstream that a command starts is observed unless its sandbox is written."""
    if isinstance(upstream, Mapping) and upstream.get("command") and "sandbox" not in upstream:
        return {**upstream, "sandbox": "observe"}
    return upstream

"""Labels of tools and results: private data, untrusted content, ways out.

A contract's labels count first, then the inferred ones. A server may label its own results with `_meta.ifc`; such
labels make a result stricter. They make it laxer only if the operator trusts the server (`trust: annotations`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from assent.core.tool import Tool


class FlowLabelSet(NamedTuple):
    """The three labels of a tool or of one result."""

    reads_private: bool
    sees_untrusted: bool
    public_sink: bool
    trusts_text: bool = False
    """Whether running text in a result without untrusted content is trusted too: a person has said so."""


def labels_of(tool: Tool) -> FlowLabelSet:
    """The labels of a tool: those of its contract, and inferred ones where it sets none."""
    found: FlowLabelSet | None = tool.derived.get("flow_labels")
    if found is None:
        found = tool.derived["flow_labels"] = _labels_of(tool)
    return found


def _labels_of(tool: Tool) -> FlowLabelSet:
    given = tool.contract.labels
    stated = (given.reads_private, given.sees_untrusted, given.public_sink)
    if None in stated:
        from assent.contract.infer import classify

        inferred = classify({**tool.definition, "name": tool.wire_name or tool.name}).labels
        stated = tuple(b if a is None else a for a, b in zip(stated, inferred, strict=True))  # type: ignore[assignment]
    declared = tool.written and given.sees_untrusted is False
    return FlowLabelSet(bool(stated[0]), bool(stated[1]), bool(stated[2]), declared)


def result_labels(tool: Tool, result: Mapping[str, Any]) -> FlowLabelSet:
    """The labels of one result: the tool's, and what the server says of this very result."""
    own = labels_of(tool)
    said = _said(result)
    if said is None:
        return own
    untrusted, private = said
    if tool.labels_trusted:
        return own._replace(sees_untrusted=untrusted, reads_private=private, trusts_text=not untrusted)
    return own._replace(
        sees_untrusted=own.sees_untrusted or untrusted,
        reads_private=own.reads_private or private,
        trusts_text=own.trusts_text and not untrusted,
    )


def _said(result: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Whether a server calls its result untrusted and private; None if it says nothing. The strictest part counts."""
    found = [_read_label(meta["ifc"]) for meta in (result.get("_meta"),) if isinstance(meta, Mapping) and "ifc" in meta]
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        meta = block.get("_meta") if isinstance(block, Mapping) else None
        if isinstance(meta, Mapping):
            found += [_read_label(meta[key]) for key in ("ifc", "security_label") if key in meta]
    return (any(one[0] for one in found), any(one[1] for one in found)) if found else None


def _read_label(label: Any) -> tuple[bool, bool]:
    """One label as untrusted and private. What cannot be read is both.

    Integrity is also called trust, and confidentiality audience. It is a word or the list of readers.
    """
    if not isinstance(label, Mapping):
        return True, True
    integrity = label.get("integrity", label.get("trust"))
    readers = label.get("confidentiality", label.get("audience"))
    everyone = readers in ("public", ["public"])
    return integrity not in ("trusted", True), not everyone


def with_label(result: dict[str, Any], labels: FlowLabelSet) -> dict[str, Any]:
    """The result with its labels in `_meta.ifc`, for a client that controls flows itself."""
    label = {
        "integrity": "untrusted" if labels.sees_untrusted or not labels.trusts_text else "trusted",
        "confidentiality": ["private" if labels.reads_private else "public"],
    }
    return {**result, "_meta": {**(result.get("_meta") or {}), "ifc": label}}

"""Labels of tools and results: private data, untrusted content, ways out.

A contract's labels count first, then the inferred ones. A server may label its own results with `_meta.ifc`; such
labels make a result stricter. They make it laxer only if the operator trusts the server.
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
        from assent.infer import classify

        inferred = classify({**tool.definition, "name": tool.wire_name or tool.name}).labels
        stated = tuple(b if a is None else a for a, b in zip(stated, inferred, strict=True))  # type: ignore[assignment]
    declared = tool.written and given.sees_untrusted is False
    return FlowLabelSet(bool(stated[0]), bool(stated[1]), bool(stated[2]), declared)


def result_labels(tool: FlowLabelSet, result: Mapping[str, Any]) -> FlowLabelSet:
    """The labels of one result."""
    return tool

"""The preview of a dry run: what the tool reported, and what the contract adds."""

from __future__ import annotations

from typing import Any

from assent.core.call import Call
from assent.mcp import strict_json

_SIMULATED = "The tool was not asked: this preview comes from its contract, so the tool's own checks are still to come."


def reported_text(result: dict[str, Any]) -> Any:
    """What a tool reports in text: the value, if the text is JSON; None if it reports nothing."""
    blocks = [block for block in result.get("content", []) if isinstance(block, dict)]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str) and text.strip()]
    if len(texts) == 1:
        try:
            return strict_json.parse(texts[0].encode())
        except strict_json.Malformed:
            return texts[0]
    return texts or None


def complete_preview(call: Call, given: Any, missing: tuple[str, ...], *, simulated: bool) -> dict[str, Any]:
    """What the tool reported first, then what the contract adds."""
    contract = call.tool.contract
    preview: dict[str, Any] = dict(given) if isinstance(given, dict) else {} if given is None else {"result": given}
    preview["dryRun"] = True
    if not isinstance(preview.setdefault("warnings", []), list):
        preview["warnings"] = [preview["warnings"]]
    preview["missingPermissions"] = list(missing) or preview.get("missingPermissions", [])
    preview.setdefault("expectedSideEffects", list(contract.side_effects))
    preview.setdefault("estimatedDurationMs", None)
    if simulated:
        preview["simulated"] = True
        preview["warnings"] = [*preview["warnings"], _SIMULATED]
    return preview

"""How are published payloads compared? Byte for byte, without the one key that is ours in every profile."""

from __future__ import annotations

import json
from typing import Any

from assent.contract.profiles import profile
from assent.contract.tool_listing import CONTRACT_KEY, definition
from support.documents.contract_examples import parse_contracts


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def without_contract(payload: dict[str, Any]) -> dict[str, Any]:
    """A definition as its vendor would have printed it."""
    meta = {key: value for key, value in payload.get("_meta", {}).items() if key != CONTRACT_KEY}
    kept = {key: value for key, value in payload.items() if key != "_meta"}
    return {**kept, "_meta": meta} if meta else kept


def definitions(contracts: str, name: str, *, historic_names: bool = False, **parts: Any) -> dict[str, dict[str, Any]]:
    """Every tool of a contract file as a profile says it."""
    return {
        tool: definition(contract, profile(name), historic_names=historic_names, **parts)
        for tool, contract in parse_contracts(contracts).items()
    }

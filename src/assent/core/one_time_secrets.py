"""Removes one-time secrets from results before they are stored and replayed."""

from __future__ import annotations

import copy
from typing import Any

import orjson

from assent.contract.model import Contract
from assent.contract.pointers import places

ALREADY_DELIVERED = "dev.assent/secret_already_delivered"
WITHHELD = "The result held a one-time secret that was already delivered; it is withheld."


def without_secrets(contract: Contract, result: dict[str, Any]) -> dict[str, Any]:
    """The result as it may be stored and replayed: secrets emptied, the text regenerated to match.

    A result that is only text is withheld whole, because the secret in it cannot be located.
    """
    if contract.is_secret_whole:
        return result if result.get("isError") else _withhold_all(result)
    if not contract.secrets:
        return result
    structured, failed = result.get("structuredContent"), bool(result.get("isError"))
    marked = {**result.get("_meta", {}), ALREADY_DELIVERED: list(contract.secrets)}
    if structured is None:
        withheld = [{"type": "text", "text": WITHHELD}]
        return result if failed else {**result, "content": withheld, "_meta": marked}
    emptied = copy.deepcopy(structured)
    spots = [spot for pointer in contract.secrets for spot in places(emptied, pointer)]
    if failed and not spots:
        return result
    for container, key in spots:
        container[key] = _empty(container[key])
    text = orjson.dumps(emptied, option=orjson.OPT_INDENT_2).decode()
    return {**result, "structuredContent": emptied, "content": [{"type": "text", "text": text}], "_meta": marked}


def _withhold_all(result: dict[str, Any]) -> dict[str, Any]:
    """The result without anything from the tool: its `_meta` may repeat the secret."""
    withheld = [{"type": "text", "text": WITHHELD}]
    kept = {key: value for key, value in result.items() if key not in ("structuredContent", "content", "_meta")}
    return {**kept, "content": withheld, "_meta": {ALREADY_DELIVERED: [""]}}


def _empty(value: Any) -> Any:
    return "" if isinstance(value, str) else None

"""What is left of a result once its one-time secrets have been shown?"""

from __future__ import annotations

import copy
from typing import Any

import orjson

from assent.contract.model import Contract
from assent.contract.pointers import places

ALREADY_DELIVERED = "dev.assent/secret_already_delivered"
WITHHELD = "The result held a one-time secret that was already delivered; it is withheld."


def without_secrets(contract: Contract, result: dict[str, Any]) -> dict[str, Any]:
    """The result as it may be kept and replayed: secrets emptied, the text regenerated to match.

    A result that is text alone cannot be told apart from the secret in it, so the text is withheld whole.
    """
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


def _empty(value: Any) -> Any:
    return "" if isinstance(value, str) else None

"""Which part of a result is for the caller alone, and what may the model see of it?"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import orjson

from assent.contract.tiers import Tier
from assent.core.secrets import ALREADY_DELIVERED
from assent.edges.client.standing import Standing

MARK = "[secret: delivered to the user, not shown here]"
WITHHELD = "The result may hold a one-time secret. It was delivered to the user and is withheld here."
_NAMES = re.compile(
    r"secret|token|passw|credential|api_?key|private_?key|access_?key|signature|otp|pin_?code|bearer|cookie", re.I
)
_LINKS = re.compile(r"ur[il]$|link|href|download", re.I)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A whole result with its secrets, for the caller's eyes; its `repr` shows none of it."""

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    result: types.CallToolResult = field(repr=False)


def is_sensitive(standing: Standing) -> bool:
    """Whether results of this tool may reveal something that is shown once."""
    return standing.tier is Tier.SHARE_EXPORT or standing.contract.get("secrets") is True


def redact(result: types.CallToolResult, standing: Standing) -> types.CallToolResult:
    """What the model may see. Which fields are secret is not published, so doubt withholds."""
    structured = result.structured_content
    if not isinstance(structured, Mapping | list):
        return _withheld(result)
    shown = copy.deepcopy(structured)
    found = _redact(shown, secret_place=False)
    if not found and ALREADY_DELIVERED in (result.meta or {}):
        return result
    if not found and standing.contract.get("secrets") is True:
        return _withheld(result)
    text = orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()
    return _rebuilt(result, text, shown)


def _withheld(result: types.CallToolResult) -> types.CallToolResult:
    return _rebuilt(result, WITHHELD, None)


def _rebuilt(result: types.CallToolResult, text: str, structured: Any) -> types.CallToolResult:
    """Nothing of the original but what is named: other blocks and `_meta` may repeat the secret."""
    block = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[block], structured_content=structured, is_error=result.is_error)


def _redact(node: Any, *, secret_place: bool) -> int:
    """Replace every secret text below a node; how many there were."""
    found = 0
    for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
        secret = secret_place or (isinstance(key, str) and bool(_NAMES.search(key)))
        if isinstance(value, dict | list):
            found += _redact(value, secret_place=secret)
        elif value not in (None, "") and not isinstance(value, bool) and (secret or _is_link(key, value)):
            node[key] = MARK
            found += 1
    return found


def _is_link(key: Any, value: Any) -> bool:
    """A link that whoever holds it may follow: named so, or an address by its looks."""
    if not isinstance(value, str):
        return False
    return bool(_URL.match(value)) or (isinstance(key, str) and bool(_LINKS.search(key)) and len(value) > 8)

"""Redacts secrets in results, so that the caller gets them and the model does not."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from pydantic_core import to_json

from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Tier
from assent.core.one_time_secrets import ALREADY_DELIVERED

MARK = "[secret: delivered to the user, not shown here]"
WITHHELD = "The result may hold a one-time secret. It was delivered to the user and is withheld here."
_NAMES = re.compile(
    r"secret|(?<!page)(?<!page_)(?<!next_)(?<!sync)(?<!sync_)token(?!_?type)|passw|passphrase|passcode|credential|"
    r"(api|private|access|signing|license)[ _-]?key|otp$|pin_?code|(recovery|backup|verification)[ _-]?codes?$|"
    r"mnemonic|jwt",
    re.I,
)
_SHARED_NAMES = re.compile(rf"{_NAMES.pattern}|token|^key$|signature|otp|bearer|cookie|access[ _-]?code", re.I)
_LINKS = re.compile(r"ur[il]$|link|href|download", re.I)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S", re.I)
# Values that look like a credential, whatever the field is called.
_CREDENTIAL_PATTERNS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{8,}\.[\w-]+\.|\bAKIA[0-9A-Z]{12}|\bxox[a-z]-|"
    r"\b(sk|rk|ghp|gho|ghs|glpat|github_pat|npm|pypi)[_-][A-Za-z0-9_-]{12,}|\bBearer \S{8}"
)
_TELLING, _TELLING_ALONE = 6, 10
"""Minimum length of a secret that is searched in other texts and later results; shorter ones match by chance."""
_MOST_TOLD = 1_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A whole result with its secrets for the caller; its `repr` shows none of them."""

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    result: types.CallToolResult = field(repr=False)


class SecretRedactor:
    """Removes secrets, including those delivered before that a later result repeats."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}

    def redact(self, result: types.CallToolResult, standing: ToolPolicy) -> types.CallToolResult:
        """Return what the model may see; the same result if there is nothing to hide."""
        shown = redact(result, standing, self._learn)
        return self._without_known_secrets(shown) if self._secrets else shown

    def _learn(self, secrets: set[str]) -> None:
        self._secrets.update(dict.fromkeys(text for text in secrets if len(text) >= _TELLING_ALONE))
        for oldest in list(self._secrets)[:-_MOST_TOLD]:
            del self._secrets[oldest]

    def _without_known_secrets(self, result: types.CallToolResult) -> types.CallToolResult:
        said = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        if not any(secret in text for text in _texts(said) for secret in self._secrets):
            return result
        _remove_secrets(said, sorted(self._secrets, key=len, reverse=True))
        return types.CallToolResult.model_validate(said)


def redact(
    result: types.CallToolResult, standing: ToolPolicy, learn: Callable[[set[str]], None] = lambda _: None
) -> types.CallToolResult:
    """Return what the model may see of one result; `learn` receives the removed secrets.

    Servers do not publish which fields are secret. So a result that shares something, or comes under a contract with
    secrets, is withheld in doubt. In other results and in errors only what looks like a secret is removed.
    """
    if standing.tier is Tier.READ and not standing.contract.get("secrets"):
        return result
    shares = _shares(standing) and not result.is_error
    shown = copy.deepcopy(result.structured_content)
    if not isinstance(shown, dict | list):
        return _withhold(result) if shares or _has_content(result) else result
    secrets = set(_redact(shown, shares, secret_place=False)) if _may_reveal(standing) else set()
    if not secrets:
        return (
            _withhold(result) if _in_doubt(result, standing) else _with_structured(result, shown) if shares else result
        )
    learn(secrets)
    _remove_secrets(shown, sorted((text for text in secrets if len(text) >= _TELLING), key=len, reverse=True))
    return _with_structured(result, shown)


def _shares(standing: ToolPolicy) -> bool:
    """Whether results of this tool may contain something that is shown once.

    A tool that shares something does, unless a trusted contract says that there are no secrets.
    """
    declared = standing.contract.get("secrets")
    return declared is True or (standing.tier is Tier.SHARE_EXPORT and declared is not False)


def _may_reveal(standing: ToolPolicy) -> bool:
    """Whether it may reveal secrets; a trusted contract without secrets is believed, unless the tool shares."""
    return _shares(standing) or not standing.contract


def _in_doubt(result: types.CallToolResult, standing: ToolPolicy) -> bool:
    """Whether a secret should be in the result but was not found; the server empties one delivered before, and a
    preview of a dry run has none.
    """
    shown = result.structured_content
    is_preview = isinstance(shown, dict) and shown.get("dryRun") is True
    if result.is_error or is_preview or ALREADY_DELIVERED in (result.meta or {}):
        return False
    return standing.contract.get("secrets") is True


def _has_content(result: types.CallToolResult) -> bool:
    return any(
        isinstance(block, types.TextContent) and bool(_CREDENTIAL_PATTERNS.search(block.text))
        for block in result.content
    )


def _with_structured(result: types.CallToolResult, shown: Any) -> types.CallToolResult:
    return _rebuild(result, to_json(shown, indent=2, inf_nan_mode="null").decode(), shown)


def _withhold(result: types.CallToolResult) -> types.CallToolResult:
    return _rebuild(result, WITHHELD, None)


def _rebuild(result: types.CallToolResult, text: str, structured: Any) -> types.CallToolResult:
    """Build a new result from the named parts only, because other blocks and `_meta` may repeat the secret."""
    block = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[block], structured_content=structured, is_error=result.is_error)


def _redact(node: Any, shares: bool, *, secret_place: bool) -> Iterator[str]:
    """Replace every secret below a node and yield the removed values."""
    for key, value in _items(node):
        secret = secret_place or _has_secret_name(key, shares)
        if isinstance(value, dict | list):
            yield from _redact(value, shares, secret_place=secret)
        elif _is_secret(key, value, shares, secret):
            node[key] = MARK
            yield str(value)


def _has_secret_name(key: Any, shares: bool) -> bool:
    return isinstance(key, str) and bool((_SHARED_NAMES if shares else _NAMES).search(key))


def _is_secret(key: Any, value: Any, shares: bool, named: bool) -> bool:
    """Whether place or form make it a secret; when something is shared, a link is one too."""
    if not isinstance(value, str):
        return shares and named and value is not None and not isinstance(value, bool)
    if not value:
        return False
    return named or bool(_CREDENTIAL_PATTERNS.search(value)) or (shares and _is_link(key, value))


def _is_link(key: Any, value: str) -> bool:
    return bool(_URL.search(value)) or (isinstance(key, str) and bool(_LINKS.search(key)) and len(value) > 8)


def _remove_secrets(node: Any, secrets: list[str]) -> None:
    """Remove the secrets from texts that repeat them."""
    for key, value in _items(node):
        if isinstance(value, dict | list):
            _remove_secrets(value, secrets)
        elif isinstance(value, str):
            for secret in secrets:
                value = value.replace(secret, MARK)
            node[key] = value


def _texts(node: Any) -> Iterator[str]:
    for _, value in _items(node):
        if isinstance(value, dict | list):
            yield from _texts(value)
        elif isinstance(value, str):
            yield value


def _items(node: Any) -> list[tuple[Any, Any]]:
    return list(node.items()) if isinstance(node, dict) else list(enumerate(node))

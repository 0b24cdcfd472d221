"""Policies on what is beside tools: resources, prompts and completion.

These requests have no contract and no approval. A policy allows or denies them. What it denies is not listed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from assent.contract.member_names import fold
from assent.core.audit import Entry, principal_values
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import conversation_of
from assent.pipeline.policy_check import policy_refusal
from assent.ports import Ports

logger = logging.getLogger(__name__)

READ, GET, COMPLETE = "resources/read", "prompts/get", "completion/complete"
LISTS = {"resources": (READ, "Resource", "uri"), "resourceTemplates": (READ, "Resource", "uriTemplate"),
         "prompts": (GET, "Prompt", "name")}  # fmt: skip
_GOVERNED = frozenset({READ, GET, COMPLETE, "resources/subscribe"})
_MEMBERS = frozenset({"uri", "name", "ref"})
MOST_NAME = 512
MOST_SHOWN = 80
"""How much of the address of a resource a question shows."""
_REFUSED = -31_000
"""Base of JSON-RPC error codes, outside the range that the protocol reserves."""

Target = tuple[str, str, str]
"""An action, the type of its resource, and the resource's URI or name."""


class OtherRequests:
    """Applies policies to requests beside tools."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def applies(self) -> bool:
        policies = self._ports.rules.policies
        return policies is not None and policies.governs_others()

    def remembers(self, method: str) -> bool:
        """Whether the result of a request enters a conversation that flow control judges."""
        return method in (READ, GET) and self._ports.rules.flow is not None

    async def remember(self, principal: Principal, method: str, params: Any, result: Any) -> None:
        """Have flow control remember a resource or a prompt that the caller gets."""
        flow = self._ports.rules.flow
        if flow is None or method not in (READ, GET) or not isinstance(result, Mapping):
            return
        params = params if isinstance(params, Mapping) else {}
        meta, name = params.get("_meta"), params.get("uri" if method == READ else "name")
        given = conversation_of(meta if isinstance(meta, Mapping) else None)
        shown = f"{method} {str(name)[:MOST_SHOWN]}" if name else method
        later = flow.take_other(principal, given, shown, _blocks(method, result), self._ports.now())
        if later is not None:
            await later

    def check(self, principal: Principal, method: str, params: Any, upstream: str | None) -> None:
        """Raise a Refusal for a request that policies deny; what is denied is recorded."""
        if method not in _GOVERNED or not self.applies():
            return
        self.check_target(principal, _target(method, params), upstream)

    def check_target(self, principal: Principal, target: Target, upstream: str | None) -> None:
        refusal, ports = self._refusal(principal, target, upstream), self._ports
        if refusal is None:
            return
        action, _, name = target
        if ports.rules.mode == "observe":
            logger.info("%s would be refused: %s", action, refusal.detail)
            return
        facts = {"code": refusal.code}
        values = {**principal_values(principal), "request": action, "name": name[:MOST_NAME]}
        ports.store.append(Entry("denial", ports.now(), facts, {**values, "policies": refusal.facts["policies"]}))
        raise refusal

    def allowed_subscriptions(self, principal: Principal, uris: Any, upstream: str | None) -> Any:
        """The resources of a subscription that may be read; anything else than a list is passed on as it is."""
        if not isinstance(uris, list) or not self.applies():
            return uris
        return [
            uri for uri in uris if isinstance(uri, str) and self._shows(principal, (READ, "Resource", uri), upstream)
        ]

    def filter_list(self, principal: Principal, result: Any, upstream: str | None) -> Any:
        """A list result without the entries that policies deny to this principal."""
        if not isinstance(result, Mapping) or not LISTS.keys() & result.keys() or not self.applies():
            return result
        return {key: self._keep_visible(principal, key, value, upstream) for key, value in result.items()}

    def shows(self, principal: Principal, key: str, entry: Any, upstream: str | None) -> bool:
        """Whether an entry of the list `key` is shown to a principal."""
        action, kind, member = LISTS[key]
        name = entry.get(member) if isinstance(entry, Mapping) else None
        return not isinstance(name, str) or self._shows(principal, (action, kind, name), upstream)

    def _keep_visible(self, principal: Principal, key: str, value: Any, upstream: str | None) -> Any:
        if key not in LISTS or not isinstance(value, list):
            return value
        return [entry for entry in value if self.shows(principal, key, entry, upstream)]

    def _shows(self, principal: Principal, target: Target, upstream: str | None) -> bool:
        return self._ports.rules.mode == "observe" or self._refusal(principal, target, upstream) is None

    def _refusal(self, principal: Principal, target: Target, upstream: str | None) -> Refusal | None:
        ports, (action, kind, name) = self._ports, target
        if ports.rules.policies is None:
            return None
        verdict = ports.rules.policies.judge_other(principal, action, kind, name, upstream, ports.now())
        return policy_refusal(verdict) if verdict.denied else None


def _blocks(method: str, result: Mapping[str, Any]) -> list[Any]:
    """The parts of a resource or a prompt as blocks of content."""
    parts = result.get("contents" if method == READ else "messages")
    found = [one for one in parts if isinstance(one, Mapping)] if isinstance(parts, list) else []
    if method == READ:
        return [{"type": "resource", "resource": one} for one in found]
    said = {"type": "text", "text": result.get("description") or ""}
    blocks = [block for one in found for block in _as_list(one.get("content"))]
    return [said, *blocks]


def _as_list(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def rpc_error(refusal: Refusal) -> RpcError:
    """A refusal as an error of the protocol, with the problem as its data."""
    problem = refusal.problem()
    return RpcError(_REFUSED - refusal.status, problem["detail"], problem)


def _target(method: str, params: Any) -> Target:
    """What a request is about. A request that another reader could take for one about something else is refused."""
    if not isinstance(params, Mapping) or any(_misspelt(params)):
        raise Refusal("validate.malformed", "The parameters of this request cannot be read.")
    if method == COMPLETE:
        ref = params.get("ref")
        if not isinstance(ref, Mapping) or any(_misspelt(ref)):
            raise Refusal("validate.malformed", "ref: it must be an object.")
        is_prompt = ref.get("type") == "ref/prompt"
        return COMPLETE, "Prompt" if is_prompt else "Resource", _text(ref.get("name" if is_prompt else "uri"))
    if method == GET:
        return GET, "Prompt", _text(params.get("name"))
    return READ, "Resource", _text(params.get("uri"))


def _misspelt(params: Mapping[Any, Any]) -> Iterator[bool]:
    return (isinstance(key, str) and key not in _MEMBERS and fold(key) in _MEMBERS for key in params)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refusal("validate.malformed", "The name or URI must be a text.")
    return value

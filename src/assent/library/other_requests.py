"""Policies on resources, prompts and completion of a server in its own process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from pydantic import BaseModel

from assent.core.outcome import Refusal
from assent.library.calls import protocol_error
from assent.library.integration import FindPrincipal
from assent.pipeline.other_requests import LISTS, OtherRequests
from assent.ports import Ports

_LISTS = frozenset({"resources/list", "resources/templates/list", "prompts/list"})
_FIELDS = {"resources": "resources", "resourceTemplates": "resource_templates", "prompts": "prompts"}


def govern_others(ports: Ports, find_principal: FindPrincipal, upstream: str) -> ServerMiddleware[Any]:
    """A middleware of the SDK's low-level server that applies policies beside tools."""
    others = OtherRequests(ports)

    async def middleware(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None or ctx.method.startswith("tools/"):
            return await call_next(ctx)
        if not others.applies() and not others.remembers(ctx.method):
            return await call_next(ctx)
        if ctx.method not in _LISTS and not _is_governed(ctx.method):
            return await call_next(ctx)
        try:
            principal = await find_principal(ctx)
            others.check(principal, ctx.method, ctx.params, upstream)
        except Refusal as refusal:
            raise protocol_error(refusal) from None
        result = await call_next(ctx)
        if others.remembers(ctx.method):
            shown = result.model_dump(mode="json", by_alias=True) if isinstance(result, BaseModel) else result
            await others.remember(principal, ctx.method, ctx.params, shown)
        return _filtered(result, lambda key, entry: others.shows(principal, key, entry, upstream))

    return middleware


def _is_governed(method: str) -> bool:
    return method in ("resources/read", "resources/subscribe", "prompts/get", "completion/complete")


def _filtered(result: HandlerResult, shows: Callable[[str, Any], bool]) -> HandlerResult:
    """A list without the entries that are not shown, as a model of the SDK or as JSON."""
    if isinstance(result, dict):
        kept = {key: [one for one in result[key] if shows(key, one)] for key in LISTS.keys() & result.keys()}
        return {**result, **kept} if kept else result
    if not isinstance(result, BaseModel):
        return result
    found: dict[str, Any] = {}
    for key, field in _FIELDS.items():
        entries = getattr(result, field, None)
        if isinstance(entries, list):
            found[field] = [one for one in entries if shows(key, one.model_dump(mode="json", by_alias=True))]
    return result.model_copy(update=found) if found else result

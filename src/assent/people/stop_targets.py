"""What a stop switch can be set for: the upstreams, tools and callers that are known."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from difflib import get_close_matches

import orjson

from assent.config.model import Settings
from assent.core.catalogue import Catalogue
from assent.core.document import Document
from assent.core.question import visible
from assent.core.recorded_tools import KIND as RECORDED_TOOLS
from assent.core.recorded_tools import recorded_catalogue
from assent.core.stop_switch import StopScope
from assent.gateway.recent_calls import RecentCalls
from assent.gateway.tool_names import KIND
from assent.people.accounts import KIND as ACCOUNTS
from assent.people.sessions import KIND as SESSIONS
from assent.ports import Store

MOST = 100_000


class StopTargets:
    """The names that a stop can mean. What is not known may still be stopped, if the operator insists."""

    def __init__(self, store: Store, settings: Settings, catalogue: Catalogue = Catalogue()) -> None:  # noqa: B008
        """`catalogue` has the tools served here; the store has those of all gateways and library servers."""
        self._store, self._settings, self._catalogue = store, settings, catalogue

    async def names(self, scope: StopScope, tenant: str = "") -> set[str]:
        """The known names; of callers those of one tenant, where given."""
        if scope == "upstream":
            servers = {tool.upstream for tool in self._catalogue.tools.values()}
            return {*self._settings.upstreams, *(one.id for one in await self._records()), *servers} - {""}
        recent = RecentCalls(self._store)
        await recent.catch_up()
        if scope == "tool":
            kept = await self._store.documents(KIND, time.time(), limit=MOST)
            served = {*self._catalogue.tools, *self._catalogue.withheld, *recent.used}
            library = {tool.name for tool in recorded_catalogue(await self._records()).tools.values()}
            return served | library | {name for one in kept for name in orjson.loads(one.body)}
        seen = {(who.tenant, who.id) for who, _ in recent.callers} | {each async for each in self._callers()}
        return {name for of, name in seen if tenant in ("", of)}

    async def _records(self) -> list[Document]:
        """The tools that library servers recorded."""
        return await self._store.documents(RECORDED_TOOLS, time.time(), limit=MOST)

    async def fault(self, scope: StopScope, target: str, tenant: str = "") -> str | None:
        """Why this target cannot be meant, as sentences; None if it is known."""
        if scope == "everything" or target in (known := await self.names(scope, tenant)):
            return None
        kind = "caller" if scope == "principal" else scope
        where = f" of the tenant {tenant}" if tenant else ""
        said = f"No {kind} {visible(target)}{where} is known here, so nothing was stopped."
        plain = {one.casefold(): one for one in known}
        close = [plain[one] for one in get_close_matches(target.casefold(), plain, 3, 0.7)]
        meant = close or sorted(one for one in known if target.casefold() in one.casefold())[:3]
        if meant:
            return f"{said} Did you mean {' or '.join(map(visible, meant))}?"
        return f"{said} There are: {', '.join(map(visible, sorted(known)[:20])) or 'none'}."

    async def _callers(self) -> AsyncIterator[tuple[str, str]]:
        """The tenant and the id of everybody who may call."""
        auth, now = self._settings.auth, time.time()
        for one in auth.api_keys:
            yield one.tenant, one.name
        for caller, name in ((auth.anonymous, "anonymous"), (auth.stdio, "stdio")):
            yield (caller.tenant, caller.name or name) if caller is not None else ("local", name)
        for key in await self._store.keys(limit=MOST):
            yield key.principal.tenant, key.principal.id
        for account in await self._store.documents(ACCOUNTS, now, limit=MOST):
            yield account.tenant, account.id
        for session in await self._store.documents(SESSIONS, now, limit=MOST):
            yield session.tenant, orjson.loads(session.body)["id"]

"""Contracts for servers of FastMCP: `from assent.fastmcp import Assent`."""

from __future__ import annotations

from typing import Any

try:
    from fastmcp import FastMCP
except ImportError as missing:  # pragma: no cover - the message is the whole of it
    raise ImportError("assent.fastmcp needs FastMCP 4: pip install 'assent[fastmcp]'") from missing
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.provider import AccessToken

from assent.contract.decorator import contract as contract
from assent.core.principal import Principal as Principal
from assent.errors import ContractError, Fault
from assent.library.fastmcp import FastMCPIntegration, caches
from assent.library.governance import Governance
from assent.library.registry import AuthorTool
from assent.ports import ToolFailed as ToolFailed


class Assent(Governance[FastMCPIntegration]):
    """Contracts for one server of FastMCP 4.

        assent = Assent(store="sqlite:///shop.db")
        server = FastMCP("shop")

        @server.tool
        @contract(side_effect="external_spend")
        def place_order(item: str) -> Order: ...

        assent.apply(server)

    The keywords are those of `assent.Assent`. Both have one name, so that a server author changes only the import.
    """

    def _make_edge(self) -> FastMCPIntegration:
        parts = self._ports, self._authenticate, self._codec, self._functions.compile, self._console, self._notifier
        return FastMCPIntegration(*parts, historic_names=bool(self._wire["historic_names"]))

    def apply(self, server: FastMCP[Any]) -> None:
        """Govern every call, derive titles, hints, `_meta` and schemas, and filter the list per caller."""
        if caches(server):
            raise ContractError(
                Fault(
                    "the server caches responses, so one caller's answer would be given to another without governing",
                    "Remove ResponseCachingMiddleware; a repeated call with its key is answered from the store",
                )
            )
        self._edge.apply(server)

    def _framework_faults(self, function: AuthorTool) -> list[Fault]:
        found, name = list[Fault](), function.name
        if getattr(function.registered, "version", None) is not None:
            found.append(
                Fault("it has a version, and one contract is for one tool", "Register it without `version`", name)
            )
        tasks = getattr(function.registered, "task_config", None)
        if tasks is not None and tasks.supports_tasks():
            found.append(
                Fault("as a background task its calls would not be governed", "Register it without `task`", name)
            )
        return found

    def _token(self) -> AccessToken | None:
        return get_access_token()

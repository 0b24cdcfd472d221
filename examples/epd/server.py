"""A payment platform: four flags on every tool, a live and a test endpoint.

Run it with `python -m examples.epd.server` (stdio) or `python -m examples.epd.server http` (port 8000).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations

from assent import Assent, Principal

HERE = Path(__file__).parent
AGENT = Principal("billing-agent", "agent", scopes=frozenset({"*"}), asks="person")

READS = [
    *("ping", "get_account", "get_revenue_summary", "get_customer_financial_summary", "get_customer", "list_orders"),
    *("list_customers", "list_past_due_subscriptions", "preview_invoice", "compare_plans"),
]
WRITES = ["create_customer", "create_order", "update_customer", "deliver_webhook"]
DESTRUCTIVE = [
    *("delete_customer", "delete_webhook", "cancel_subscription", "refund_order", "refund_transaction"),
    *("refund_and_cancel", "cancel_subscription_and_report", "upgrade_account_api_version"),
    *("upgrade_webhook_version", "downgrade_webhook_version"),
]


@dataclass
class Platform:
    """What really happened, and how often the next calls fail before they are answered."""

    done: list[str] = field(default_factory=list)
    cancelled: set[str] = field(default_factory=set)
    outages: int = 0

    def act(self, name: str, id: str) -> dict[str, Any]:
        self.done.append(f"{name} {id}".strip())
        if name.startswith("cancel_subscription"):
            self.cancelled.add(id)
        return {"tool": name, "id": id, "cancelled": sorted(self.cancelled)}

    def act_or_fail(self, name: str, id: str) -> CallToolResult:
        """Act; during an outage the effect happens and the answer is a 503."""
        done = self.act(name, id)
        if not self.outages:
            return CallToolResult(content=[], structured_content=done)
        self.outages -= 1
        lost = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "retryable": True}
        return CallToolResult(content=[], structured_content=lost, is_error=True)


def add_tools(server: MCPServer, platform: Platform) -> None:
    """Register every tool that the document names; one function per tool."""
    for name in [*READS, *WRITES, *DESTRUCTIVE]:
        server.tool(name=name, description=_sentence(name))(_tool(platform, name))


def _tool(platform: Platform, name: str) -> Any:
    def tool(id: str = "") -> dict[str, Any]:
        return platform.act(name, id)

    return tool


def _sentence(name: str) -> str:
    return name.replace("_", " ").capitalize() + "."


def build(store: str = "memory://", platform: Platform | None = None, **options: Any) -> tuple[MCPServer, Assent]:
    """The server and its Assent."""
    options = {"stdio": AGENT, "anonymous": AGENT, **options}
    assent = Assent(store=store, contracts=HERE / "contracts.yaml", profile="epd", **options)
    server = MCPServer("epd", extensions=[assent.extension()], log_level="ERROR")
    add_tools(server, platform or Platform())
    assent.apply(server)
    return server, assent


def build_plain(annotations: Mapping[str, Mapping[str, Any]], platform: Platform | None = None) -> MCPServer:
    """The platform's own server, without Assent: the same tools with these annotations, and outages."""
    server, platform = MCPServer("epd", log_level="ERROR"), platform or Platform()
    for name, hints in annotations.items():
        said = ToolAnnotations.model_validate(hints)
        server.tool(name=name, description=_sentence(name), annotations=said)(_plain_tool(platform, name))
    return server


def _plain_tool(platform: Platform, name: str) -> Any:
    def tool(id: str = "") -> CallToolResult:
        return platform.act_or_fail(name, id)

    return tool


if __name__ == "__main__":
    payments, _ = build()
    port = 8000
    if sys.argv[1:2] == ["plain"]:  # an endpoint for the gateway, which governs it
        payments, port = MCPServer("epd", log_level="ERROR"), int(sys.argv[2])
        add_tools(payments, Platform())
    if sys.argv[1:2] in (["plain"], ["http"]):
        print(f"The platform serves at http://127.0.0.1:{port}/mcp. Ctrl-C ends it.", file=sys.stderr)
        payments.run("streamable-http", port=port)
    else:
        payments.run()

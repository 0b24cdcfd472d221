"""A marketplace for satellite scenes: five tiers, one rule from tier to hints, keys for spending, secrets shown once.

Run it with `python -m examples.geopera.server` (stdio) or `python -m examples.geopera.server http` (port 8000).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from assent import Assent, Principal, ToolFailed

HERE = Path(__file__).parent
PRICE = 240
AGENT = Principal("scene-agent", "agent", scopes=frozenset({"*"}), asks="person")


@dataclass
class Account:
    """What the marketplace itself knows: every charge, link and deletion that really happened."""

    credits: int = 1000
    charges: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)


def build(store: str = "memory://", account: Account | None = None, **options: Any) -> tuple[MCPServer, Assent]:
    """The server and its Assent."""
    options = {"stdio": AGENT, "anonymous": AGENT, **options}
    assent = Assent(store=store, contracts=HERE / "contracts.yaml", profile="geopera", **options)
    server = MCPServer("geopera", extensions=[assent.extension()], log_level="ERROR")
    account = account or Account()
    _reads(server, account)
    _spends(server, account)
    _others(server, account)
    assent.apply(server)
    return server, assent


def _reads(server: MCPServer, account: Account) -> None:
    @server.tool(name="catalog.items.search")
    def search(place: str) -> dict[str, list[str]]:
        """Find scenes of a place."""
        return {"items": [f"{place}-2026-05", f"{place}-2026-06"]}

    @server.tool(name="orders.archive.estimate")
    def estimate(item: str) -> dict[str, int]:
        """Say what a scene costs."""
        return {"credits": PRICE}

    @server.tool(name="orders.list")
    def orders() -> dict[str, list[str]]:
        """List the orders of the account."""
        return {"orders": [one for one in account.charges if one.startswith("order")]}

    @server.tool(name="collections.get")
    def collection(collection_id: str) -> dict[str, Any]:
        """Fetch a collection."""
        return {"collection": collection_id, "gone": collection_id in account.gone}

    @server.tool(name="notifications.list")
    def notifications() -> dict[str, list[str]]:
        """List notifications."""
        return {"notifications": []}

    @server.tool(name="billing.balance")
    def balance() -> dict[str, int]:
        """Say how many credits are left."""
        return {"credits": account.credits}

    @server.tool(name="usage.current")
    def usage() -> dict[str, int]:
        """Say what was used this month."""
        return {"charges": len(account.charges)}

    @server.tool(name="processing.jobs.list")
    def jobs() -> dict[str, list[str]]:
        """List processing jobs."""
        return {"jobs": account.jobs}


def _spends(server: MCPServer, account: Account) -> None:
    def charge(what: str, credits: int) -> str:
        if credits > account.credits:
            raise ToolFailed("payment_required", "The balance does not cover this. Top it up first.")
        account.credits -= credits
        account.charges.append(what)
        return f"{what.split()[0]}-{len(account.charges)}"

    @server.tool(name="orders.archive.place")
    def place(item: str) -> dict[str, Any]:
        """Order an archive scene."""
        return {"order": charge(f"order {item}", PRICE), "credits": PRICE}

    @server.tool(name="billing.topup")
    def topup(amount: int) -> dict[str, int]:
        """Buy credits."""
        if amount > 10_000:
            raise ToolFailed("payment_required", "The card was declined.")
        account.credits += amount
        account.charges.append(f"topup {amount}")
        return {"credits": account.credits}

    @server.tool(name="processing.dispatch")
    def dispatch(scene: str) -> dict[str, str]:
        """Start paid processing of a scene."""
        account.jobs.append(scene)
        return {"job": charge(f"job {scene}", 10)}


def _others(server: MCPServer, account: Account) -> None:
    @server.tool(name="analytics.index")
    def index(scene: str) -> dict[str, str]:
        """Compute a vegetation index."""
        return {"raster": f"ndvi-{scene}"}

    @server.tool(name="share.link.create")
    def share(collection_id: str) -> dict[str, str]:
        """Create a share link. Its address and token are shown once."""
        account.links.append(collection_id)
        token = f"secret-{len(account.links)}"
        return {"link": f"link-{len(account.links)}", "url": f"https://share.example.com/{token}", "token": token}

    @server.tool(name="exports.create")
    def export(collection_id: str) -> dict[str, str]:
        """Export a collection to a signed address."""
        account.links.append(collection_id)
        return {"export": f"export-{len(account.links)}", "url": f"https://x.example.com/signed-{len(account.links)}"}

    for name, word in (
        ("orders.cancel", "Cancel"),
        ("collections.archive", "Archive"),
        ("collections.delete", "Delete"),
        ("collections.replace", "Replace"),
    ):

        def remove(id: str) -> dict[str, str]:
            account.gone.append(id)
            return {"gone": id}

        server.tool(name=name, description=f"{word} it for good.")(remove)


if __name__ == "__main__":
    marketplace, _ = build()
    if sys.argv[1:] == ["http"]:
        print("The marketplace serves at http://127.0.0.1:8000/mcp. Ctrl-C ends it.", file=sys.stderr)
        marketplace.run("streamable-http")
    else:
        marketplace.run()

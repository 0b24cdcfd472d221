"""What the shop sells and does: ten functions, each under contract, for a server of either framework."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from assent import Principal, ToolFailed, contract

SCOPES = frozenset({"orders:*", "catalog:read", "customers:write"})
CALLER = Principal("shop-agent", "agent", scopes=SCOPES, asks="person")


class Order(BaseModel):
    order_id: str
    amount: int


class Link(BaseModel):
    link_id: str
    url: str
    expires_at: int


def stock(server: Any, log: Path) -> None:
    """Register the ten. `log` is the shop's own book: one line for everything that really happened."""

    def happened(what: str, **facts: Any) -> int:
        with log.open("a", encoding="utf-8") as book:
            book.write(json.dumps({"what": what, **facts}) + "\n")
        return len(log.read_text(encoding="utf-8").splitlines())

    @server.tool()
    @contract(side_effect="read", title="List products", open_world=False, permissions=["catalog:read"])
    def list_products(query: str = "") -> list[str]:
        """Lists what the shop sells."""
        return [name for name in ("archive scene", "fresh scene", "print") if query in name]

    @server.tool()
    @contract(side_effect="read", open_world=False)
    def estimate_order(item: str, quantity: int = 1) -> dict[str, int]:
        """Says what an order would cost."""
        return {"price": 240 * quantity}

    @server.tool()
    @contract(
        side_effect="external_spend",
        permissions=["orders:write"],
        estimate={"tool": "estimate_order", "amount": "/price"},
        cost={"amount": "/amount", "currency": "credits"},
        side_effects=["Charges the account.", "Repeating with the same key charges nothing."],
        failure_modes={"card_declined": {"class": "no_effect", "status": 402}},
        audit_event="order.placed",
        activity="Ordered {quantity} × {item}",
        produces=["order"],
    )
    def place_order(item: str, quantity: int = 1) -> Order:
        """Buys an archive scene."""
        if quantity > 100:
            raise ToolFailed("card_declined", "The card does not cover this.")
        if item == "meteorite":
            raise RuntimeError("the warehouse fell over after the card was charged")
        number = happened("order", item=item, quantity=quantity)
        return Order(order_id=f"o-{number}", amount=240 * quantity)

    @server.tool()
    @contract(side_effect="write", selects=["labels"], bulk=3)
    def create_note(text: str, labels: list[str]) -> dict[str, str]:
        """Adds a note."""
        return {"note_id": f"n-{happened('note', text=text)}"}

    @server.tool()
    @contract(
        side_effect="write",
        overwrites=True,
        risk="high",
        permissions=["customers:write"],
        idempotency={"recovery": "natural"},
    )
    def update_customer(customer_id: str, email: str) -> dict[str, str]:
        """Replaces a customer's address."""
        happened("customer", customer_id=customer_id, email=email)
        return {"customer_id": customer_id, "email": email}

    @server.tool()
    @contract(side_effect="share_export", secrets=["/download/token"], risk="high")
    def export_orders(month: str) -> dict[str, Any]:
        """Exports a month's orders; the download token is shown once."""
        number = happened("export", month=month)
        return {"export_id": f"e-{number}", "download": {"token": f"one-time-{number}", "month": month}}

    @server.tool()
    @contract(
        side_effect="share_export",
        confirmation={"by": "none", "because": "The link is only for the caller's own files."},
        natural={"by": ["file_id", "expires_at"], "until": "/expires_at"},
        side_effects=["While a link for the same file and time is valid, that link is returned again."],
    )
    def create_download_link(file_id: str, expires_at: int) -> Link:
        """Makes a link to a file."""
        number = happened("link", file_id=file_id)
        return Link(link_id=f"l-{number}", url=f"https://files.example.com/{file_id}/{number}", expires_at=expires_at)

    @server.tool()
    @contract(
        side_effect="destructive",
        permissions=["customers:write"],
        dry_run={"mode": "required", "within": "10m", "simulated": "accepted"},
        confirmation={"by": "user"},
        side_effects=["The customer and all their orders are deleted for good."],
    )
    def delete_customer(customer_id: str) -> dict[str, str]:
        """Deletes a customer."""
        happened("delete", customer_id=customer_id)
        return {"deleted": customer_id}

    @server.tool()
    @contract(side_effect="compute", idempotency={"recovery": "natural"})
    def recompute_statistics() -> dict[str, int]:
        """Counts all orders again."""
        happened("statistics")
        book = map(json.loads, log.read_text(encoding="utf-8").splitlines())
        return {"orders": sum(line["what"] == "order" for line in book)}

    @server.tool()
    @contract(side_effect="read", risk="forbidden")
    def read_private_key() -> str:
        """Reads the shop's signing key."""
        return "-----BEGIN PRIVATE KEY-----"

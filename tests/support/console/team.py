"""A gateway as a small team uses it: several servers, agents and people, and something on every page of the console."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from mcp.server import MCPServer

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, State
from assent.core.pins import pins_of, pins_text
from assent.core.principal import Principal
from assent.gateway.app import GatewayApp
from assent.pipeline.approve import approve
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import KEY, gateway, post, rpc

AGENTS = ("support-agent", "billing-agent", "research-agent")
CONTRACTS: dict[str, Any] = {
    "list_orders": {"side_effect": "read", "open_world": False, "activity": "Listed {limit} orders"},
    "search_customers": {"side_effect": "read", "open_world": False},
    "track_parcel": {"side_effect": "read", "open_world": True, "activity": "Tracked parcel {parcel}"},
    "place_order": {
        "side_effect": "external_spend",
        "title": "Place an order",
        "side_effects": ["Charges the team's card."],
        "cost": {"amount": "/amount", "currency": "EUR"},
        "confirmation": {"by": "approver", "expires": "20m"},
        "idempotency": {"key": "auto"},
        "activity": "Ordered {quantity} × {item}",
    },
    "refund_order": {
        "side_effect": "external_spend",
        "risk": "high",
        "side_effects": ["Pays the customer back."],
        "confirmation": {"by": "approver", "quorum": 2, "expires": "45m"},
        "idempotency": {"key": "auto"},
        "activity": "Refunded {order_id}",
    },
    "delete_order": {
        "side_effect": "destructive",
        "title": "Delete an order",
        "side_effects": ["The order and its invoices are gone."],
        "confirmation": {"by": "approver", "expires": "30m"},
        "activity": "Deleted order {order_id}",
    },
    "update_customer": {
        "side_effect": "write",
        "overwrites": True,
        "risk": "high",
        "title": "Update a customer",
        "dry_run": {"mode": "required", "argument": "dry_run", "within": "10m"},
        "confirmation": {"by": "approver", "expires": "1h"},
        "activity": "Updated customer {customer}",
    },
    "send_mail": {
        "side_effect": "share_export",
        "title": "Send a mail",
        "open_world": True,
        "side_effects": ["The recipients get a mail. It cannot be called back."],
        "confirmation": {"by": "approver", "expires": "15m"},
        "activity": "Wrote to {to}",
    },
    "create_draft": {"side_effect": "write", "risk": "low", "activity": "Drafted {subject}"},
    "read_card_numbers": {"side_effect": "read", "risk": "forbidden"},
}


GUARDS: list[dict[str, Any]] = [
    {"match": {"tool": "list_orders"}, "rule": "bounds", "fields": ["limit"], "least": 1, "most": 50},
    {
        "match": {"tool": "send_mail"},
        "rule": "allow_domains",
        "fields": ["to"],
        "domains": ["example.com", "partner.example"],
        "because": "Mail goes to customers and partners.",
    },
]


@dataclass
class Team:
    """The gateway, its address and what waits in it."""

    url: str
    app: GatewayApp
    approvals: dict[str, str] = field(default_factory=dict)
    """The last approval that waits, by tool."""
    deletions: list[str] = field(default_factory=list)
    """Approvals of calls of one tool."""
    decided: str = ""
    """An approval whose call ran."""
    claim: str = "4711d0b7c0ffee"

    async def call(self, agent: str, tool: str, key: str = "", **arguments: Any) -> Any:
        meta = {"_meta": {KEY: key}} if key else {}
        headers = {"authorization": f"Bearer {agent_key(agent)}"}
        answer = await post(self.url, rpc("tools/call", name=tool, arguments=arguments, **meta), **headers)
        return answer.json().get("result")

    async def ask(self, agent: str, tool: str, **arguments: Any) -> str:
        """A call that waits for a person; the id of its approval."""
        self.approvals[tool] = str(problem(await self.call(agent, tool, uuid.uuid4().hex, **arguments))["approval"])
        return self.approvals[tool]


def agent_key(name: str) -> str:
    return f"assent_{name.replace('-', '')[:8]}_secret-of-{name}"


def shop() -> MCPServer:
    server = MCPServer("orders", log_level="ERROR")
    add = server.tool()

    @add
    def list_orders(limit: int = 2) -> list[str]:
        """Lists the latest orders."""
        return [f"o-{number}" for number in range(limit)]

    @add
    def search_customers(text: str) -> list[str]:
        """Finds customers by name, mail address or city."""
        return [text]

    @add
    def track_parcel(parcel: str) -> str:
        """Says where a parcel is."""
        return "Vienna"

    @add
    def place_order(item: str, quantity: int, amount: float) -> dict[str, int]:
        """Places an order and charges the card."""
        return {"order": 1}

    @add
    def refund_order(order_id: str, amount: float, reason: str) -> dict[str, str]:
        """Pays an order back."""
        return {"refunded": order_id}

    @add
    def delete_order(order_id: str) -> dict[str, str]:
        """Deletes an order for good."""
        return {"deleted": order_id}

    @add
    def update_customer(customer: str, city: str, note: str, dry_run: bool = False) -> dict[str, Any]:
        """Replaces a customer's address and note."""
        before = {"city": "Vienna", "note": "Prefers mail. Delivers on Mondays.", "vip": False}
        return {"customer": customer, "before": before, "after": {**before, "city": city, "note": note}}

    @add
    def read_card_numbers() -> str:
        """Reads the card numbers."""
        return "none"

    @add
    def export_customers(format: str = "csv") -> str:
        """Writes all customers into a file."""
        return format

    return server


def mail() -> MCPServer:
    server = MCPServer("mail", log_level="ERROR")
    add = server.tool()

    @add
    def send_mail(to: list[str], subject: str, body: str) -> str:
        """Sends a mail."""
        return "sent"

    @add
    def create_draft(subject: str) -> str:
        """Keeps a draft."""
        return "kept"

    @add
    def list_folders() -> list[str]:
        """Lists the folders of the mailbox."""
        return ["inbox"]

    return server


def _changed(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was accepted before: other wording, another schema, another effect, and one tool that was not there."""
    accepted = {one["name"]: dict(one) for one in definitions}
    accepted.get("search_customers", {})["description"] = "Finds customers by name."
    if exported := accepted.get("export_customers"):
        exported["annotations"] = {"readOnlyHint": True}
        exported["inputSchema"] = {"type": "object", "properties": {"limit": {"type": "integer"}}}
    accepted.pop("list_folders", None)
    return list(accepted.values())


def _settings(folder: Path) -> dict[str, Any]:
    (folder / "team.yaml").write_text(yaml.safe_dump({"tools": CONTRACTS}))
    (folder / "anchors").mkdir(exist_ok=True)
    keys = [{"name": one, "key": agent_key(one), "kind": "agent", "scopes": ["*"]} for one in AGENTS]
    return {
        "contracts": [str(folder / "team.yaml")],
        "auth": {"api_keys": keys, "embedded": {}},
        "guards": GUARDS,
        "limits": [{"match": {"tool": "send_mail"}, "calls": 20, "per": "1h"}],
        "budgets": [{"amount": 500, "currency": "EUR", "per": "1d", "match": {"tool": "place_order"}}],
        "audit": {"anchors": [{"directory": str(folder / "anchors")}]},
    }


@asynccontextmanager
async def team_gateway(folder: Path, **more: Any) -> AsyncIterator[Team]:
    """The team's gateway, with calls that ran, were refused, and wait."""
    settings, lock = {**_settings(folder), **more}, folder / "assent.lock"
    async with AsyncExitStack() as stack:
        addresses = {
            name: await stack.enter_async_context(over_http(made()))
            for name, made in (("orders", shop), ("mail", mail))
        }
        upstreams: dict[str, Any] = {name: {"url": url, "prefix": ""} for name, url in addresses.items()}
        upstreams["calendar"] = {"url": addresses["mail"], "auth": "key", "identity": "per_user"}
        async with gateway(folder, upstreams, **settings) as (_, first):
            listed = {
                name: [dict(one) for one in found[0]]
                for name, found in first.current.served.pinned(first.current.links).items()
            }
        lock.write_text(pins_text({name: pins_of(_changed(found)) for name, found in listed.items()}))
        url, app = await stack.enter_async_context(gateway(folder, upstreams, pins=str(lock), **settings))
        team = Team(url, app)
        await _work(team)
        await _doubt(team)
        _fill_the_hour(team)
        assert app.signing is not None
        await app.signing.sign(always=True)
        yield team


async def _work(team: Team) -> None:
    for number in range(1, 6):
        await team.call("support-agent", "list_orders", limit=number)
        await team.call("research-agent", "track_parcel", parcel=f"P-{20 + number}")
    await team.call("support-agent", "create_draft", subject="Your refund")
    await team.call("research-agent", "list_orders", limit="many")
    await team.call("research-agent", "read_card_numbers")
    for limit in (500, 5000):
        await team.call("research-agent", "list_orders", limit=limit)
    await team.call("support-agent", "send_mail", to=["eve@elsewhere.example"], subject="Hello", body="Hello")
    await team.ask("billing-agent", "place_order", item="Poster A2", quantity=3, amount=120.0)
    await team.ask(
        "billing-agent", "refund_order", order_id="o-1042", amount=49.9, reason="Arrived broken; photo in ticket 881"
    )
    customer = {"customer": "Marta Kowalska", "city": "Graz", "note": "Prefers phone. Delivers on Mondays and Fridays."}
    await team.call("support-agent", "update_customer", dry_run=True, **customer)
    await team.ask("support-agent", "update_customer", **customer)
    mail = {"to": ["marta@example.com", "billing@example.com", "someone@partner.example"], "subject": "Your refund"}
    body = (
        "Dear Marta,\nwe sent 49.90 EUR back to your card. Details: https://shop.example/refunds/1042\u200b\nThe shop"
    )
    await team.ask("support-agent", "send_mail", **mail, body=body)
    for order in ("o-1013", "o-1014", "o-1015"):
        team.deletions.append(await team.ask("support-agent", "delete_order", order_id=order))
    await _decide(team)
    await team.app.store.flush()


async def _decide(team: Team) -> None:
    """One call that a person let through, and one that a person denied."""
    person, ports = Principal("bob", "human", roles=frozenset({"approver"})), team.app.ports
    team.decided = await team.ask("support-agent", "delete_order", order_id="o-998")
    await approve(person, team.decided, "approve", ports, "console")
    await team.call("support-agent", "delete_order", order_id="o-998")
    denied = await team.ask("support-agent", "delete_order", order_id="o-997")
    await approve(person, denied, "decline", ports, "console", "Keep it until the audit in May.")


async def _doubt(team: Team) -> None:
    """One claim in doubt and one in flight."""
    now = time.time()
    for name, lease, since in ((team.claim, -60.0, 900.0), ("88e1f5a0b2", 600.0, 20.0)):
        what = (name, "local", "billing-agent", "place_order", f"order-{name[:4]}", "f", "sha256:c")
        record = ClaimRecord(*what, State.STARTED, 1, now + lease, now - since, now + 86400)
        facts = {"tool": "place_order", "tier": "external_spend", "upstream": "orders"}
        facts["claim"] = team.app.keyring.keyed_hash(name)
        arguments = b'{"amount":80,"item":"Frame","quantity":2}'
        who = {"principal": "billing-agent", "kind": "agent", "tenant": "local", "arguments": arguments}
        await team.app.store.claim(record, Entry("intent", now - since, facts, who), None, now)


def _fill_the_hour(team: Team) -> None:
    """Numbers of the last hour, for the overview's charts."""
    chance, minute = random.Random(4), int(time.time() // 60)
    for ago in range(1, 60):
        team.app.runtime.tally.minutes[minute - ago] = [chance.randint(3, 24), chance.choice((0, 0, 1, 2, 4))]

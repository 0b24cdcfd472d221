"""A gateway with callers of every sort, and a client that holds every answer against the OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema

from assent.core.problems import problem_in
from assent.gateway.app import GatewayApp
from assent.people.api.openapi import ALL, document
from support.gateway.gateways import HEADERS, Shop, rpc, shop_gateway

KEYS: dict[str, dict[str, Any]] = {
    "ci": {"kind": "agent", "tenant": "acme", "scopes": ["*"]},
    "bot": {"kind": "agent", "tenant": "acme", "scopes": ["*"], "roles": ["operator", "approver"]},
    "ann": {"kind": "human", "tenant": "acme", "scopes": ["*"], "roles": ["approver"]},
    "bob": {"kind": "human", "tenant": "acme", "scopes": ["orders:admin"]},
    "eve": {"kind": "human", "tenant": "evil", "scopes": ["*"], "roles": ["approver", "auditor"]},
    "root": {"kind": "human", "tenant": "ops", "scopes": [], "roles": ["operator"]},
    "cron": {"kind": "service", "tenant": "acme", "scopes": ["*"]},
}
DOCUMENT = document("http://127.0.0.1:8420")


def key_of(name: str) -> str:
    return f"assent_{name:0<8}_secret-of-{name}"


@dataclass
class Said:
    """An answer: its status, its JSON and its headers."""

    status: int
    json: Any
    headers: httpx2.Headers

    @property
    def code(self) -> str | None:
        return self.json.get("code")  # type: ignore[no-any-return]


@dataclass
class Scene:
    url: str
    gateway_app: GatewayApp
    shop: Shop

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    async def get(self, path: str, by: str | None, **headers: str) -> Said:
        return await self.send("GET", path, by, None, **headers)

    async def post(self, path: str, by: str | None, body: Any = None, **headers: str) -> Said:
        return await self.send("POST", path, by, body, **{"content-type": "application/json", **headers})

    async def send(self, method: str, path: str, by: str | None, body: Any = None, **headers: str) -> Said:
        if by is not None:
            headers["authorization"] = f"Bearer {key_of(by)}"
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        async with httpx2.AsyncClient(timeout=60) as client:
            got = await client.request(method, self.base + path, content=content, headers=headers)
        said = Said(got.status_code, got.json() if got.content else {}, got.headers)
        if method in ("GET", "POST"):
            check(method, path, said)
        return said

    async def call(self, tool: str, by: str, **arguments: Any) -> dict[str, Any]:
        headers = {**HEADERS, "authorization": f"Bearer {key_of(by)}"}
        async with httpx2.AsyncClient(timeout=60) as client:
            body = json.dumps(rpc("tools/call", name=tool, arguments=arguments)).encode()
            got = await client.post(self.url, content=body, headers=headers)
        result = got.json()["result"]
        return dict(problem_in(result) or result["structuredContent"])

    async def ask(self, order: str = "o-1", by: str = "ci") -> str:
        """A call that waits for an approver; the approval's id."""
        said = await self.call("delete_order", by, order_id=order)
        assert said["code"] == "confirm.approval_pending"
        return str(said["approval"])


def check(method: str, path: str, said: Said) -> None:
    """Every answer is one that the document declares, in the form it declares; every error is a problem."""
    kind = said.headers["content-type"]
    assert kind == ("application/json" if said.status < 400 else "application/problem+json")
    assert said.headers["cache-control"] == "no-store"
    route = next(
        (one for one in ALL if one.method == method and pattern(one.path).fullmatch(path.partition("?")[0])), None
    )
    if route is None:
        schema: dict[str, Any] = {"$ref": "#/components/schemas/Problem"}
        assert said.status >= 400
    else:
        responses = DOCUMENT["paths"][route.path][method.lower()]["responses"]
        schema = responses[str(said.status)]["content"][kind]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(said.json)
    if said.status >= 400:
        assert said.json["status"] == said.status


def pattern(path: str) -> re.Pattern[str]:
    """The paths of an operation: any segment in the place of a name."""
    return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))


@asynccontextmanager
async def scene(folder: Path, **more: Any) -> AsyncIterator[Scene]:
    keys = [{"name": name, "key": key_of(name), **who} for name, who in KEYS.items()]
    async with shop_gateway(folder, **{"auth": {"api_keys": keys}, **more}) as (url, gateway_app, shop):
        yield Scene(url, gateway_app, shop)

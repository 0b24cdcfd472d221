"""A browser without JavaScript: follows links, keeps cookies and sends forms as a person would."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx2

from assent.core.principal import Principal
from assent.people.console.start import make_link_token
from assent.ports import Store

EVERY_ROLE = frozenset({"viewer", "approver", "operator", "auditor", "admin"})


class Browser:
    """One person's browser."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **fields: str) -> httpx2.Response:
        return await self.client.get(path, headers=fields)

    async def post(self, path: str, form: dict[str, str], **fields: str) -> httpx2.Response:
        return await self.client.post(
            path, data=form, headers={"origin": str(self.client.base_url).rstrip("/"), **fields}
        )

    async def token(self, path: str = "/console/approvals") -> str:
        """The anti-forgery token that the page's forms carry."""
        return hidden_field((await self.get(path)).text, "csrf")

    async def send(self, path: str, form: dict[str, str] | None = None, **fields: str) -> httpx2.Response:
        """A form of the signed-in person, with its token."""
        return await self.post(path, {"csrf": await self.token(), **(form or {})}, **fields)


def hidden_field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, f"the page has no hidden field {name}"
    return unescape(found[1])


@asynccontextmanager
async def browser(url: str) -> AsyncIterator[Browser]:
    """A browser in front of a gateway whose MCP address is `url`; redirects are not followed."""
    async with httpx2.AsyncClient(base_url=url.removesuffix("/mcp"), timeout=60) as client:
        yield Browser(client)


@asynccontextmanager
async def signed_in(url: str, store: Store, **who: Any) -> AsyncIterator[Browser]:
    """A browser of somebody who has signed in with a one-time link."""
    person = Principal(**{"id": "ann", "kind": "human", "tenant": "local", "roles": EVERY_ROLE, **who})
    token = await make_link_token(store, person, time.time())
    async with browser(url) as one:
        answer = await one.post("/console/signin/link", {"link": token})
        assert answer.status_code == 303, answer.text
        yield one

"""Conversations: what entered each of them, and what flow control decided."""

from __future__ import annotations

from starlette.responses import Response

from assent.people.api.conversations import list_conversations
from assent.people.console.page import Page, PageRequest
from assent.people.console.pages.upstreams import STAFF


async def show_conversations(page: PageRequest) -> Response:
    return page.render("conversations.html", **await page.api(list_conversations))


PAGES = (Page("GET", "/conversations", show_conversations, STAFF, "Conversations"),)

"""A server that never finishes its list does not keep whoever asks."""

from __future__ import annotations

import pytest

from assent.checks.probe.list_tools import NotListedError, listed_at
from support.servers.scripted_server import Conversation, ScriptedServer


async def test_a_list_that_drips_without_end_is_given_up() -> None:
    async def drip(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{")
        await conversation.ended_by_peer()

    async with ScriptedServer(drip) as server:
        with pytest.raises(NotListedError, match="it took too long"):
            await listed_at(server.url, patience=0.05)

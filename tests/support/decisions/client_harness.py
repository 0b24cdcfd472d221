"""Runs decision cases through the governed client, in front of a server of the SDK that has the same contracts."""

from __future__ import annotations

import itertools
from typing import Any

from mcp import Client
from mcp.shared.exceptions import MCPError

from assent.client import Answer, GovernedClient, Question
from assent.client.terminal import leave_to_server
from support.clients.transports import Person
from support.decisions.library_harness import LibraryTable


class ClientTable(LibraryTable):
    """Every call comes from a governed client of its own that trusts the server and shows its person the question."""

    keys = itertools.count(1)

    async def _sent(self, server: Any, person: Person | None, tool: str, arguments: Any, meta: Any, **_: Any) -> Any:
        def ask(question: Question) -> Answer:
            assert person is not None
            person.asked.append(question.text)
            return Answer(person.answers[0])  # type: ignore[arg-type]

        key = next(iter(meta.values())) if meta else f"key-{next(self.keys)}"
        client = GovernedClient(
            connect=lambda **callbacks: Client(server, mode=self._era, **callbacks),
            asker=leave_to_server if person is None else ask,
            make_key=lambda: key,
            trusted=True,
            attempts=1,
            approval_patience=0,
            now=self.clock,
        )
        try:
            async with client:
                return await client.call_tool(tool, arguments)
        except MCPError as error:
            return error

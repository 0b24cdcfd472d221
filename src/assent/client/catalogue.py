"""Tools that a server lists, with their policies and with changes since the agent saw them first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from assent.client.connection import ConnectedClient
from assent.client.idempotency import KeyPlace, key_argument, place_of
from assent.client.options import ClientOptions, Journal
from assent.client.tool_policy import ToolPolicy, as_definition, declared_as, policy_of
from assent.core.pins import differences, pin_digest

_MOST_PAGES = 100


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as the server listed it."""

    tool: types.Tool
    definition: Mapping[str, Any]
    digest: str
    standing: ToolPolicy
    place: KeyPlace | None
    key_argument: str | None
    changed: tuple[str, ...] = ()
    """Changes since the agent saw it first; empty once a person accepted them."""

    @property
    def title(self) -> str:
        annotated = self.tool.annotations.title if self.tool.annotations else None
        return self.tool.title or annotated or self.tool.name

    def for_model(self) -> types.Tool:
        """The tool without its key argument, because the model never writes a key."""
        if self.key_argument is None:
            return self.tool
        schema = dict(self.tool.input_schema)
        schema["properties"] = {k: v for k, v in schema["properties"].items() if k != self.key_argument}
        if isinstance(schema.get("required"), list):
            schema["required"] = [name for name in schema["required"] if name != self.key_argument]
        return self.tool.model_copy(update={"input_schema": schema})


class ServerCatalogue:
    """Tools by name. Later definitions are compared with the first one that the agent saw."""

    def __init__(self, client_options: ClientOptions, journal: Journal) -> None:
        self._client_options = client_options
        self._journal = journal
        self._listed: dict[str, ListedTool] = {}
        self._first: dict[str, ListedTool] = {}
        self._at: float | None = None

    def __contains__(self, name: object) -> bool:
        return name in self._listed

    def get(self, name: str) -> ListedTool | None:
        return self._listed.get(name)

    @property
    def tools(self) -> list[ListedTool]:
        """Return the tools that the agent may see; forbidden tools are left out."""
        return [listed for listed in self._listed.values() if not listed.standing.forbidden]

    @property
    def is_stale(self) -> bool:
        return self._at is None or self._client_options.now() - self._at >= self._client_options.fresh_for

    def expire(self) -> None:
        self._at = None

    async def fetch(self, client: ConnectedClient) -> None:
        """List the tools again. If two have the same name, the first one counts."""
        found: dict[str, ListedTool] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            for tool in page.tools:
                if tool.name not in found:
                    found[tool.name] = self._list_tool(tool)
            cursor = page.next_cursor
            if cursor is None:
                break
        self._listed, self._at = found, self._client_options.now()

    def accept(self, listed: ListedTool) -> None:
        """Compare later definitions with this one, because a person agreed to call it."""
        if listed.changed:
            self._first[listed.tool.name] = listed
            current = self._listed.get(listed.tool.name)
            if current is not None and current.digest == listed.digest:
                self._listed[listed.tool.name] = self._policy_for(listed.tool, listed.definition, listed.digest, ())

    def _list_tool(self, tool: types.Tool) -> ListedTool:
        definition = as_definition(tool)
        digest = pin_digest(definition)
        current = self._listed.get(tool.name)
        if current is not None and current.digest == digest:
            return current
        first = self._first.get(tool.name)
        changed: tuple[str, ...] = ()
        if first is not None and first.digest != digest:
            changed = tuple(differences(first.definition, definition)[:20])
            self._journal.note("changed", tool.name, lines=list(changed))
        listed = self._policy_for(tool, definition, digest, changed)
        self._first.setdefault(tool.name, listed)
        return listed

    def _policy_for(
        self, tool: types.Tool, definition: Mapping[str, Any], digest: str, changed: tuple[str, ...]
    ) -> ListedTool:
        said = self._client_options.tiers.get(tool.name)
        options = self._client_options
        standing = (
            declared_as(said, tool) if said else policy_of(definition, trusted=options.trusted, profile=options.profile)
        )
        argument = key_argument(tool.input_schema, standing.contract)
        place = place_of(standing, tool.input_schema, by_header=self._client_options.keys_by_header)
        return ListedTool(tool, definition, digest, standing, place, argument, changed)

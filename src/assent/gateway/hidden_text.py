"""Hidden characters that upstreams sent, so that operators learn of every one that agents were not shown."""

from __future__ import annotations

import logging
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from assent.core.question import counted, visible
from assent.core.shown_definition import shown_answer

logger = logging.getLogger(__name__)

LISTED = frozenset({"initialize", "server/discover", "prompts/list", "resources/list", "resources/templates/list"})
"""The methods whose answers are about the server itself and never wait for an answer of the client."""
CLEANED = LISTED | {"completion/complete", "prompts/get"}
"""The methods whose answers describe the server; they are short."""
MOST_TOOLS = 20
"""How many tools one line of the log names."""
MOST_NOTES = 100
"""How many places outside tools are kept for one upstream."""


class HiddenText:
    """Cleans what upstreams say of themselves, and keeps what was hidden there and in their tools."""

    def __init__(self) -> None:
        self._tools: dict[str, Mapping[str, Sequence[str]]] = {}
        self._notes: dict[str, dict[str, None]] = {}

    def of_tool(self, upstream: str, tool: str) -> list[str]:
        """What was removed from a tool's definition, one place each."""
        return list(self._tools.get(upstream, {}).get(tool, ()))

    def tools_of(self, upstream: str) -> list[str]:
        """The tools of an upstream that are listed without something that the upstream sent."""
        return sorted(self._tools.get(upstream, ()))

    def notes_of(self, upstream: str) -> list[str]:
        """What was removed from its instructions, prompts and resources, one place each."""
        return list(self._notes.get(upstream, ()))

    def note_tools(self, found: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        """Keep what was removed from the tools of all upstreams, and log what is new, one line per upstream."""
        for upstream, tools in found.items():
            if tools and tools != self._tools.get(upstream):
                logger.warning(
                    "upstream %s: hidden characters were removed from what agents read of %s: %s",
                    upstream, counted(len(tools), "tool"), _tools_text(tools),
                )  # fmt: skip
        self._tools = dict(found)

    def clean(self, upstream: str, result: Any) -> Any:
        """An answer in which a server describes itself, without hidden characters; the same object if it has none."""
        shown = shown_answer(result)
        if shown.removed:
            self._note(upstream, shown.removed)
        return shown.definition

    def _note(self, upstream: str, places: Sequence[str]) -> None:
        """Keep and log new places, up to a limit: an upstream that sends others each time must not fill the log."""
        notes = self._notes.setdefault(upstream, {})
        new, room = [one for one in dict.fromkeys(places) if one not in notes], MOST_NOTES - len(notes)
        if not new or room <= 0:
            return
        said = [*new[:room], *(["more, of which no line follows"] if len(new) >= room else [])]
        notes.update(dict.fromkeys(said))
        logger.warning(
            "upstream %s: hidden characters were removed from what agents read of it: %s", upstream, "; ".join(said)
        )

    def clean_message(self, upstream: str, message: Any) -> Any:
        """The same for a whole JSON-RPC response, or several."""
        if isinstance(message, list):
            cleaned = [self.clean_message(upstream, one) for one in message]
            return message if all(map(operator.is_, cleaned, message)) else cleaned
        if not isinstance(message, dict):
            return message
        parts = {key: self.clean(upstream, message[key]) for key in ("result", "error") if key in message}
        return message if all(message[key] is one for key, one in parts.items()) else {**message, **parts}


def _tools_text(tools: Mapping[str, Sequence[str]]) -> str:
    named = [f"{visible(name)} ({'; '.join(places[:3])})" for name, places in sorted(tools.items())[:MOST_TOOLS]]
    more = len(tools) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more > 0 else [])])

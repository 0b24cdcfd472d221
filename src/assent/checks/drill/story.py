"""An attack story, the servers it needs, and how it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from assent.checks.drill.sandbox import Sandbox

Ending = Literal["stopped", "asked", "let through"]
ENDINGS: tuple[Ending, ...] = ("stopped", "asked", "let through")
Definition = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a story ended, and why."""

    ending: Ending
    why: str


def stopped(why: str) -> Ended:
    return Ended("stopped", why)


def asked(why: str) -> Ended:
    return Ended("asked", why)


def let_through(why: str) -> Ended:
    return Ended("let through", why)


@dataclass(frozen=True)
class StandinTool:
    """A tool of a stand-in server, and what it answers, so many times over."""

    definition: Definition
    answer: str = "done"
    times: int = 1
    loses_answer: bool = False
    """Whether it does what it was asked and then drops the connection."""


@dataclass(frozen=True)
class AgentCall:
    """A call that the agent makes."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Story:
    """One published attack.

    `calls` are what the deceived agent calls, the last one being the harm; `harm` says in words what that call does. A
    story that is more than calls has `play` instead.
    """

    title: str
    published: str
    source: str
    happens: str
    change: str
    servers: Mapping[str, Mapping[str, StandinTool]]
    fix: Mapping[str, Any] | None = None
    """Settings that stop the story or have a person asked, as an example; a test tries them."""
    pinned: bool = False
    """Whether pinned definitions stop it."""
    on_this_machine: bool = False
    """Whether the server is started by a command and confined as the configuration says, for stories about files."""
    user: str = ""
    """The words of the user, as the client passes them on."""
    calls: tuple[AgentCall, ...] = ()
    harm: str = ""
    play: Callable[[Sandbox], Awaitable[Ended]] | None = None

    @property
    def definitions(self) -> dict[str, list[Definition]]:
        """The tool definitions of each server."""
        return {name: [one.definition for one in tools.values()] for name, tools in self.servers.items()}


def story_of(fields: Mapping[str, Any], play: Callable[[Sandbox], Awaitable[Ended]] | None) -> Story:
    """A story as `stories.yaml` describes it."""
    servers = {
        server: {name: _tool(name, **one) for name, one in tools.items()} for server, tools in fields["servers"].items()
    }
    calls = tuple(AgentCall(*pair) for one in fields.get("calls", ()) for pair in one.items())
    return Story(**{**fields, "servers": servers, "calls": calls, "play": play})


def _tool(
    name: str,
    description: str,
    inputs: Mapping[str, str] | None = None,
    properties: Mapping[str, Any] | None = None,
    annotations: Mapping[str, bool] | None = None,
    **answering: Any,
) -> StandinTool:
    texts = {key: {"type": "string", "description": text} for key, text in (inputs or {}).items()}
    properties = {**texts, **(properties or {})}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    definition: Definition = {"name": name, "description": description, "inputSchema": schema}
    return StandinTool(definition | ({"annotations": annotations} if annotations else {}), **answering)

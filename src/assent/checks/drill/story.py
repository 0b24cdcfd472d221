"""An attack story, the servers it needs, and how it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from assent.checks.drill.sandbox import Sandbox

Ending = Literal["stopped", "asked", "let through"]
ENDINGS: tuple[Ending, ...] = ("stopped", "asked", "let through")
Definition = dict[str, Any]
Answer = str | Callable[[Mapping[str, Any]], str]


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
class Server:
    """A stand-in server: its tools, and what each answers. A tool without an answer says `done`."""

    tools: tuple[Definition, ...]
    answers: Mapping[str, Answer] = field(default_factory=dict)


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
    servers: Mapping[str, Server]
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


def tool(name: str, description: str, *, hints: Mapping[str, bool] | None = None, **inputs: str) -> Definition:
    """A tool definition whose inputs are required texts."""
    properties = {key: {"type": "string", "description": text} for key, text in inputs.items()}
    schema = {"type": "object", "properties": properties, "required": list(inputs)}
    definition: Definition = {"name": name, "description": description, "inputSchema": schema}
    return definition | ({"annotations": dict(hints)} if hints else {})

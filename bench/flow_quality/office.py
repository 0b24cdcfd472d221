"""The simulated office: its tools, and one conversation in it with flow control."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from inspect import isawaitable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from assent.contract.profiles import profile
from assent.core.call import Call, ConversationRef
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.rules.flow.control import FlowControl
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools

HERE = Path(__file__).parent
AGENT = Principal("agent", "agent")
_SIGNATURE = re.compile(r"([\w-]+)\((.*)\)")
Step = list[Any]
"""A tool, its arguments, and its result; the name of a shared result begins with `$`."""


@cache
def read(name: str) -> Any:
    data = yaml.safe_load((HERE / name).read_text("utf-8"))
    return json.loads(json.dumps(data, default=str))  # Dates as texts, as tools get them.


@cache
def tools() -> dict[str, Tool]:
    """The tools of the office with the contracts that the gateway infers."""
    definitions = [definition(signature, said) for signature, said in read("tools.yaml").items()]
    compiled = compile_tools(definitions, {}, UpstreamPolicy("office", profile=profile("spec")))
    assert not compiled.withheld, compiled.withheld
    return {tool.name: tool for tool in compiled.tools}


def definition(signature: str, said: str) -> dict[str, Any]:
    found = _SIGNATURE.fullmatch(signature)
    assert found is not None, signature
    arguments = [(*one.strip().split(":"), "string")[:2] for one in found[2].split(",") if one.strip()]
    properties = {name: {"type": kind} for name, kind in arguments}
    return {"name": found[1], "description": said, "inputSchema": {"type": "object", "properties": properties}}


class Verdict(NamedTuple):
    """Whether flow control and the default confirmation would ask about a call."""

    flow: tuple[str, ...]
    default: bool

    @property
    def silent(self) -> bool:
        return not self.flow and not self.default


class Conversation:
    """One conversation. A person's yes is passed on with `approve`."""

    def __init__(self, user: str, *, words: bool = True, structured: bool = True) -> None:
        self.flow, self._structured = FlowControl("ask"), structured
        self._user, self._words, self._now, self._calls = user, words, 36_000.0, 0

    def say(self, text: str) -> None:
        """The user's next words."""
        self._user = text

    def judge(self, tool: str, arguments: dict[str, Any]) -> Verdict:
        call = self._call(tool, arguments)
        found = done(self.flow.check(call, self._now))
        asked = tuple(f"{one.rule} {one.field}" for one in found if one.action == "approve")
        return Verdict(asked, call.tool.contract.asked_by(False) not in ("none", "host"))

    def approve(self, tool: str, arguments: dict[str, Any]) -> None:
        self.flow.vouch(self._call(tool, arguments), self._now)

    def take(self, tool: str, arguments: dict[str, Any], result: Any) -> Verdict:
        """Make one step and remember its result. A name with `@` is a resource or a prompt, which nobody judges."""
        if tool.startswith("@"):
            self._now += 1
            content = [{"type": "text", "text": result}]
            done(self.flow.take_other(AGENT, self._given(), tool[1:], content, self._now))
            return Verdict((), default=False)
        verdict = self.judge(tool, arguments)
        self.remember(tool, arguments, result)
        return verdict

    def remember(self, tool: str, arguments: dict[str, Any], result: Any) -> None:
        done(self.flow.remember(self._call(tool, arguments), self._result(result), self._now))

    def _call(self, tool: str, arguments: dict[str, Any]) -> Call:
        self._now += 1
        fingerprint = json.dumps([tool, arguments], sort_keys=True)
        return Call(AGENT, tools()[tool], arguments, b"", fingerprint, "", conversation=self._given())

    def _given(self) -> ConversationRef:
        return ConversationRef("office", self._user if self._words else "")

    def _result(self, result: Any) -> dict[str, Any]:
        if isinstance(result, str):
            return {"content": [{"type": "text", "text": result}]}
        if self._structured:
            return {"structuredContent": {"result": result}}
        return {"content": [{"type": "text", "text": yaml.safe_dump(result, allow_unicode=True, sort_keys=False)}]}


def done(made: Any) -> Any:
    """What flow control returns, also where it reads a long text in a thread."""

    async def wait() -> Any:
        return await made

    return asyncio.run(wait()) if isawaitable(made) else made


def steps_of(given: list[Step], shared: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """The steps with their results."""
    for tool, *rest in given:
        arguments = rest[0] if rest else {}
        result = rest[1] if len(rest) > 1 else {"ok": True}
        yield tool, arguments, shared[result[1:]] if isinstance(result, str) and result[:1] == "$" else result

"""Sends each call of a confined server to the weakest box that the tool's contract allows."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import orjson

from assent.core.call import Call
from assent.core.document import Document
from assent.core.tool import Tool, record_violation
from assent.errors import StoreError
from assent.mcp.requests import McpRequest
from assent.ports import Confined, NotRun, OutcomeUnknown, Store
from assent.upstreams.known import fields_of
from assent.upstreams.sandbox.bubblewrap import box_environment as box_environment
from assent.upstreams.sandbox.grants import (
    STRONGEST,
    WEAKEST,
    Attempt,
    Box,
    Grants,
    box_of,
    guessed_box_of,
    host_rule,
    keeps_state,
    real_grants,
    shared_box,
)
from assent.upstreams.sandbox.grants import CannotConfine as CannotConfine
from assent.upstreams.sandbox.launch import Process, Start, confined, observed
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.support import require_support
from assent.upstreams.sandbox.usage import BoxObserver, Usage
from assent.upstreams.stdio.link import StdioLink
from assent.upstreams.stdio.process import LaunchSpec
from assent.upstreams.stdio.server import StdioUpstream

logger = logging.getLogger(__name__)

MakeServer = Callable[[Start], StdioUpstream]
_PATH = re.compile(r"(?<![\w/])/[^\s'\"`,;:()\[\]{}<>|]+")
_FAILED = re.compile(
    r"ENOENT|EACCES|EROFS|EPERM|no such file|permission denied|not permitted|read-only file|not found|cannot open"
    r"|does not exist|unable to open",
    re.IGNORECASE,
)
_HOST_FAILED = re.compile(r"(?:ENOTFOUND|EAI_AGAIN)\s+([\w.-]+)")
_LONGEST_TEXT = 4000
_MOST_NAMED = 3
SAVE_AFTER = 5.0


@dataclass(frozen=True)
class BoxPlan:
    """How one server is confined."""

    name: str
    mode: Literal["observe", "enforce"]
    grants: Grants
    instances: Literal["one", "by_tier"] = "one"


class SandboxedLink(StdioLink):
    """A server in boxes, or under observation.

    Its own process serves lists, resources, prompts and subscriptions. With `by_tier` it has the weakest box, and
    calls that need more go to further processes, which are started on demand.
    """

    def __init__(
        self, plan: BoxPlan, make: MakeServer, usage: Usage, save: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """`save` keeps the usage."""
        self.plan, self.usage, self._make, self._save = plan, usage, make, save
        self._saving: asyncio.Task[None] | None = None
        self._by_tier = plan.instances == "by_tier" and plan.mode == "enforce"
        self.why_one = ""
        """Why the server has one box although `by_tier` is configured."""
        self._running: list[Tool] = []
        self._box = WEAKEST if self._by_tier else STRONGEST
        self._observers: dict[Box, BoxObserver] = {}
        self._stronger: dict[Box, StdioLink] = {}
        self._tools: tuple[Tool, ...] = ()
        self._shipped: Mapping[str, Mapping[str, Any]] = {}
        self._needs_restart = self._was_called = False
        self._logged_attempts: set[tuple[str, Attempt]] = set()
        super().__init__(make(self._start(self._box)))

    # The boxes.

    def note_tools(self, tools: Sequence[Tool]) -> None:
        """Learn which tools the server has, and so which boxes it needs."""
        self._tools = tuple(tools)
        self._shipped = fields_of(str(self.described.info.get("name"))) if self.described is not None else {}
        self.usage.guessed = {tool.name for tool in tools if not tool.written}
        stateful = keeps_state(tools) if self._by_tier and not self._stronger else None
        if stateful is not None:
            self._by_tier, self.why_one = False, f"{stateful} shows that it keeps state in memory"
            logger.warning("%s: it has one box for all its tools: %s", self.name, self.why_one)
        if self.plan.mode == "enforce" and not self._by_tier:
            self._share_box(shared_box(tools, self._shipped))

    def _share_box(self, box: Box) -> None:
        """Use this box for all tools from the next call on. After the first call it is only widened: a restart costs
        the server what it remembers."""
        if self._was_called:
            box = Box(box.writes or self._box.writes, box.network or self._box.network)
        if box != self._box:
            self._box, self._needs_restart = box, True

    def box_for(self, tool: Tool) -> Box:
        """The box that serves a tool; without `by_tier`, the one of all its tools."""
        return box_of(tool, self._shipped) if self._by_tier else self._box

    @property
    def summary(self) -> str:
        """How the server is confined, in words."""
        if self.plan.mode == "observe":
            return "observed, not confined"
        boxes = "; ".join(map(str, self._observers)) if self._by_tier else str(self._box)
        one = f" (one box: {self.why_one})" if self.why_one else ""
        return f"confined: {boxes}{one}"

    @property
    def stopped(self) -> tuple[str, ...]:
        """What was stopped, or would be, each with the tool and the line to add."""
        grants, name = self.plan.grants, self.plan.name
        return tuple(
            f"{tool or 'at the start'}: {attempt}; to allow it: {grants.setting_for(name, attempt, self._box)}"
            for tool, found in sorted(self.usage.stopped.items())
            for attempt in sorted(found)
        )

    def _start(self, box: Box) -> Start:
        confining = self.plan.mode == "enforce"
        asked = (lambda: box) if confining else self._guessed_box
        running = partial(self._running_in, box)
        observer = BoxObserver(self.plan.name, self.usage, self.plan.grants, asked, running, confined=confining)
        self._observers[box] = observer
        begin = confined(self.plan.grants, box, observer) if confining else observed(observer)

        async def start(launch: LaunchSpec) -> Process:
            observer.begin()
            return await begin(launch)

        return start

    def _guessed_box(self) -> Box:
        """The box in which the running calls would run, by declared tiers and by guesses."""
        boxes = [guessed_box_of(tool) for tool in self._running or self._tools]
        return Box(any(one.writes for one in boxes), any(one.network for one in boxes)) if boxes else STRONGEST

    def _running_in(self, box: Box) -> list[str]:
        """The names of the tools whose calls run in a box."""
        return [tool.name for tool in self._running if not self._by_tier or self.box_for(tool) == box]

    async def _link_of(self, tool: Tool) -> StdioLink:
        self._was_called = True
        if self._needs_restart and not self._running:
            self._needs_restart = False
            await self.upstream.relaunch(self._start(self._box))
        box = self.box_for(tool)
        if box == self._box:
            return self
        if box not in self._stronger:
            self._stronger[box] = StdioLink(self._make(self._start(box)))
        return self._stronger[box]

    # Calls.

    async def run(self, call: Call, key: str | None, mcp_request: McpRequest) -> dict[str, Any]:
        link = await self._link_of(call.tool)
        send = super().run if link is self else link.run
        with self._calling(call.tool) as hits:
            try:
                result = await send(call, key, mcp_request)
            except (OutcomeUnknown, NotRun):
                if call.tool.is_read:
                    self._refuse(call.tool, hits())
                raise
        if result.get("isError"):
            self._refuse(call.tool, hits() or self._named_in(result, call))
        return result

    async def read(
        self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest
    ) -> dict[str, Any]:
        link = await self._link_of(tool)
        send = super().read if link is self else link.read
        with self._calling(tool):
            return await send(tool, arguments, call, mcp_request)

    @contextmanager
    def _calling(self, tool: Tool) -> Iterator[Callable[[], list[Attempt]]]:
        """Attribute what is stopped meanwhile to this tool, and record it as a broken promise."""
        self._running.append(tool)
        observer = self._observers.get(self.box_for(tool)) or self._observers[self._box]
        begin, confines = observer.count, self.plan.mode == "enforce"

        def hits() -> list[Attempt]:
            return observer.hits_since(begin, tool.name) if confines else []

        try:
            yield hits
        finally:
            self._running.remove(tool)
            if self.usage.is_changed and self._saving is None:
                self._saving = asyncio.create_task(self._save_soon())
            for attempt in dict.fromkeys(hits()):
                if (tool.name, attempt) not in self._logged_attempts:
                    self._logged_attempts.add((tool.name, attempt))
                    record_violation("execute.confined", failure=f"it tried to {attempt}")

    def _refuse(self, tool: Tool, attempts: Sequence[Attempt]) -> None:
        """Raise a refusal that names what was stopped, if anything was."""
        if self.plan.mode != "enforce" or not attempts:
            return
        box, tried = self.box_for(tool), list(dict.fromkeys(attempts))[:_MOST_NAMED]
        lines = (self.plan.grants.setting_for(self.plan.name, attempt, box) for attempt in tried)
        setting = "; ".join(dict.fromkeys(lines))
        detail = f"{tool.name} tried to {', '.join(map(str, tried))}, which its sandbox does not allow."
        if not tool.written and tool.wire_name not in self._shipped and self.box_for(tool) != STRONGEST:
            detail += " Nobody has declared its contract, and a guess opens no box."
        raise Confined(f"{detail} To allow it: {setting}", setting)

    def _named_in(self, result: Mapping[str, Any], call: Call) -> list[Attempt]:
        """What an error says that it could not read or reach, if that is outside the box.

        The kernel reports attempts to change and to connect. Reads are too many, so their error is read instead.
        """
        text = _text_of(result)
        box = self.box_for(call.tool)
        found = [Attempt("network", host) for host in _HOST_FAILED.findall(text)]
        paths = [value for value in call.arguments.values() if isinstance(value, str) and value.startswith("/")]
        if _FAILED.search(text):
            paths += [path for path in _PATH.findall(text) if not path.startswith("/tmp/")]
        found += [Attempt("read", os.path.normpath(path.rstrip("."))) for path in paths]
        return [attempt for attempt in found if not self.plan.grants.allows(attempt, box)]

    # The end.

    async def retire(self, patience: float) -> None:
        for link in self._stronger.values():
            await link.retire(patience)
        await super().retire(patience)

    async def close(self) -> None:
        for link in self._stronger.values():
            await link.close()
        await super().close()
        if self._saving is not None:
            self._saving.cancel()
            await asyncio.gather(self._saving, return_exceptions=True)
        if self._save is not None:
            await self._save()

    async def _save_soon(self) -> None:
        """Save what was seen, together with what is seen in the next seconds."""
        await asyncio.sleep(SAVE_AFTER)
        self._saving = None
        if self._save is not None:
            await self._save()


def _text_of(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return "\n".join(str(one.get("text", ""))[:_LONGEST_TEXT] for one in parts if isinstance(one, dict))[:_LONGEST_TEXT]


KIND = "sandbox_usage"


def sandboxed_link(plan: BoxPlan, make: MakeServer, store: Store | None) -> SandboxedLink:
    """The link to a server in boxes; what it uses is kept in the store."""
    usage = Usage()
    records = UsageRecords(store, plan.name, usage) if store is not None else None
    return SandboxedLink(plan, make, usage, records.save if records is not None else None)


def make_plan(
    name: str,
    mode: Literal["observe", "enforce"],
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str | None,
    *,
    read: Iterable[str],
    write: Iterable[str],
    hosts: Iterable[str],
    instances: Literal["one", "by_tier"],
) -> BoxPlan:
    """Check the grants and the machine. Raises CannotConfine in `enforce` if anything is missing."""
    rules, read, write = tuple(map(host_rule, hosts)), tuple(read), tuple(write)
    try:
        if mode == "enforce":
            require_support()
        program = find_program(command, env, cwd).reads
        grants = Grants(real_grants(read, write), real_grants(write, write), rules, (), program)
    except CannotConfine:
        if mode == "enforce":
            raise
        grants = Grants(read, write, rules)
    logger.info("%s: for its start it may read %s", name, files_text(grants.program))
    return BoxPlan(name, mode, grants, instances)


def files_text(program: Mapping[str, str]) -> str:
    """What a program needs to start, as text."""
    return ", ".join(f"{path} ({why})" for path, why in program.items()) or "the system's folders alone"


class UsageRecords:
    """Keeps the usage of one server in the store, together with what other processes saw."""

    def __init__(self, store: Store, upstream: str, usage: Usage) -> None:
        self._store, self._upstream, self._usage = store, upstream, usage

    async def save(self) -> None:
        """Write what is new. It is lost if the store does not answer: it is advice, not a record."""
        if not self._usage.is_changed:
            return
        self._usage.is_changed = False
        with suppress(StoreError):
            for _ in range(3):
                now = time.time()
                found = await self._store.document(KIND, self._upstream, now)
                if found is not None:
                    self._usage.merge(orjson.loads(found.body))
                body = orjson.dumps(self._usage.as_json())
                draft = Document(KIND, self._upstream, body)
                expected = found.version if found is not None else 0
                if await self._store.put_document(draft, now, expected=expected) is not None:
                    break
        self._usage.is_changed = False


async def stored_usage(store: Store, upstream: str) -> Usage | None:
    """What was seen of a server so far; None if it was never observed or confined."""
    found = await store.document(KIND, upstream, time.time())
    if found is None:
        return None
    usage = Usage()
    usage.merge(orjson.loads(found.body))
    return usage

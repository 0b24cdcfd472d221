"""One process of a stdio server for each person, with the person's own key: bounded in number and stopped when idle."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.mcp.requests import McpRequest
from assent.ports import NotReached
from assent.upstreams.credentials import CredentialOwner, PersonOwner, owner_of
from assent.upstreams.errors import NotConnected, Unreachable, UpstreamError
from assent.upstreams.resources import ListedPerOwner, ListedResources
from assent.upstreams.stdio.link import StdioLink
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.vault import CredentialVault

Owner = tuple[str, str]


@dataclass(slots=True, eq=False)
class PersonProcess:
    """The process of one person."""

    link: StdioLink
    key: str = field(repr=False)
    users: int = 0
    timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        return not self.users and not self.link.upstream.is_busy


class PersonProcesses:
    """The processes of one upstream, by person. A process is made for one person's key and serves nobody else."""

    def __init__(
        self,
        name: str,
        vault: CredentialVault,
        make: Callable[[str], StdioLink],
        *,
        most: int,
        idle: float,
        patience: float,
    ) -> None:
        """`make` creates the link of a process with this key, which is started at the first request."""
        self._name, self._vault, self._make = name, vault, make
        self._most, self._idle, self._patience = most, idle, patience
        self._running: OrderedDict[Owner, PersonProcess] = OrderedDict()
        self._ending: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        """How many processes there are, with those that are being stopped."""
        return len(self._running) + len(self._ending)

    @asynccontextmanager
    async def using(self, owner: CredentialOwner) -> AsyncIterator[StdioLink]:
        """The process of this person while the block runs. Raises NotConnected without a key."""
        key = await self.key_of(owner)
        try:
            async with asyncio.timeout(self._patience):
                process = await self._take(owner, key)
        except TimeoutError:
            busy = f"all {self._most} processes are busy; try again later, or raise `processes`"
            raise Unreachable(self._name, busy, sent=False) from None
        try:
            yield process.link
        finally:
            self._release(_place(owner), process)

    async def key_of(self, owner: CredentialOwner) -> str:
        """The person's key. It is read at each call, so a key that was removed elsewhere ends the process here."""
        kept = await self._vault.get(self._name, owner)
        if kept is None or "key" not in kept.fields:
            self.end(owner)
            raise NotConnected(self._name)
        return str(kept.fields["key"])

    def end(self, owner: CredentialOwner) -> None:
        """End the person's process, because the key was changed or removed. Calls under way are finished first."""
        if (process := self._running.get(_place(owner))) is not None:
            self._stop(_place(owner), process)

    async def close(self, patience: float = 0.0) -> None:
        """End every process, after the calls under way within a bound."""
        self._closed, self._patience = True, min(patience, self._patience)
        for place, process in list(self._running.items()):
            self._stop(place, process)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _take(self, owner: CredentialOwner, key: str) -> PersonProcess:
        place = _place(owner)
        while not self._closed:
            process = self._running.get(place)
            if process is not None and process.key == key:
                return self._use(place, process)
            if process is not None:  # The key was changed meanwhile; the vault says which one is newer.
                key = await self.key_of(owner)
                if self._running.get(place) is process and process.key != key:
                    self._stop(place, process)
            elif len(self) < self._most:
                process = self._running[place] = PersonProcess(self._make(key), key)
                return self._use(place, process)
            else:
                self._stop_longest_idle()
                self._freed.clear()
                await self._freed.wait()
        raise Unreachable(self._name, "it is being stopped", sent=False)

    def _use(self, place: Owner, process: PersonProcess) -> PersonProcess:
        process.users += 1
        if process.timer is not None:
            process.timer.cancel()
        self._running.move_to_end(place)
        return process

    def _release(self, place: Owner, process: PersonProcess) -> None:
        process.users -= 1
        if not process.users:
            self._wait_for_idle(place, process)
            self._freed.set()

    def _wait_for_idle(self, place: Owner, process: PersonProcess) -> None:
        process.timer = asyncio.get_running_loop().call_later(self._idle, self._on_timer, place, process)

    def _on_timer(self, place: Owner, process: PersonProcess) -> None:
        if self._running.get(place) is not process:
            return
        if process.is_idle:
            self._stop(place, process)
        elif not process.users:  # A tool's question still waits for its answer.
            self._wait_for_idle(place, process)

    def _stop_longest_idle(self) -> None:
        for place, process in self._running.items():
            if process.is_idle:
                return self._stop(place, process)

    def _stop(self, place: Owner, process: PersonProcess) -> None:
        """Take a process out of use at once, and stop it in the background."""
        if self._running.get(place) is process:
            del self._running[place]
        if process.timer is not None:
            process.timer.cancel()
        task = asyncio.ensure_future(self._retire_process(process))
        self._ending.add(task)

    async def _retire_process(self, process: PersonProcess) -> None:
        try:
            await process.link.retire(self._patience)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._ending.discard(task)
            self._freed.set()


def _place(owner: CredentialOwner) -> Owner:
    return owner.tenant, owner.id


class PerUserStdioLink(StdioLink):
    """An upstream whose command is started once for each person.

    Its own process has no person's key. It lists the tools and gets no call.
    """

    per_user = True

    def __init__(self, listing: StdioUpstream, processes: PersonProcesses) -> None:
        super().__init__(listing)
        self.processes = processes
        self._listed_per_owner = ListedPerOwner[PersonOwner]()

    async def run(self, call: Call, key: str | None, mcp_request: McpRequest) -> dict[str, Any]:
        try:
            async with self.processes.using(self._person(mcp_request)) as link:
                return await link.run(call, key, mcp_request)
        except UpstreamError as fault:  # Only taking the process raises it: the link's own errors say what ran.
            raise NotReached(str(fault), fault.scope if isinstance(fault, NotConnected) else None) from fault

    async def read(
        self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest
    ) -> dict[str, Any]:
        try:
            async with self.processes.using(self._person(mcp_request)) as link:
                return await link.read(tool, arguments, call, mcp_request)
        except UpstreamError as fault:
            raise NotReached(str(fault)) from fault

    async def ask(self, method: str, params: Mapping[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
        async with self.processes.using(self._person(mcp_request)) as link:
            return await link.ask(method, params, mcp_request)

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        async with self.processes.using(self._person(mcp_request)) as link:
            return await link.list(method, key, mcp_request)

    def listed_resources(self, principal: Principal) -> ListedResources:
        return self._listed_per_owner.of(owner_of(principal))

    async def missing_connection(self, principal: Principal) -> str | None:
        if not self.serves(principal):
            return None
        try:
            await self.processes.key_of(owner_of(principal))
        except NotConnected:
            return ""
        return None

    async def retire(self, patience: float) -> None:
        await self.processes.close(patience)
        await super().retire(patience)

    async def close(self) -> None:
        await self.processes.close()
        await super().close()

    def _person(self, mcp_request: McpRequest) -> PersonOwner:
        return owner_of(self._check_served(mcp_request).caller)

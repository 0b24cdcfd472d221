"""The console of the local engine: the same pages for the servers that clients of this user have wrapped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.config.load import load_settings, user_settings
from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.metrics import CallCounters
from assent.gateway.operator_access import DefinitionChange, GatewayState, UpstreamStatus
from assent.gateway.status_pages import StatusPages
from assent.people.console.start import console_in_front, keep_address, store_mark
from assent.web.asgi import App, Receive, Scope, Send
from assent.web.server import bind, make_server

if TYPE_CHECKING:
    from assent.gateway.engine.engine import Engine

_UNUSED = ("upstreams", "auth.api_keys", "auth.jwt", "notify")
_OPEN_FOR = 1800.0
"""How long the engine stays for a person who reads pages, counted from the last one."""


async def answer_engine(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    """Serve the console on this machine, if it is not served yet, and say where."""
    if not engine.console:
        engine.console = await _serve(engine, request["config"], request["environment"])
    engine.keep(_OPEN_FOR)
    return {"address": engine.console}


async def _serve(engine: Engine, config: str | None, environment: Mapping[str, str]) -> str:
    if config is not None:
        settings = load_settings(Path(config), environment, unused=_UNUSED)
    else:
        settings = user_settings(environment, unused=_UNUSED)
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    around = await engine.surroundings(settings, environment)
    alone = settings.model_copy(update={"upstreams": {}, "pins": None, "public_url": address})
    gateway_app = await open_gateway(alone, lambda ports: ports._replace(catalogue=lambda: _catalogue(engine)), around)
    gateway_app.state = EngineState(gateway_app, engine)
    gateway_app.gate.open()
    pages = StatusPages(gateway_app, await store_mark(gateway_app.store))
    server = make_server(_Used(gateway_app.app(console_in_front(gateway_app, pages)), engine), lifespan="off")
    serving = asyncio.create_task(server._serve(sockets=[listener]))

    async def close() -> None:
        server.should_exit = True
        await gateway_app.close_streams()
        await asyncio.gather(serving, return_exceptions=True)
        await gateway_app.stop(within=1.0)

    engine.at_end.append(close)
    await keep_address(gateway_app.store, "127.0.0.1", port)
    engine.console_store = settings.store
    return address


class _Used:
    """Keeps the engine running while a person looks at pages."""

    def __init__(self, app: App, engine: Engine) -> None:
        self._app, self._engine = app, engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path", "").startswith(("/console", "/api")):
            self._engine.keep(_OPEN_FOR)
        await self._app(scope, receive, send)


def _apps(engine: Engine) -> dict[str, GatewayApp]:
    """The gateway of each server by its name; a server that two clients wrapped is shown once."""
    return {one.name: one.app for one in reversed(engine.wrapped) if one.app is not None}


def _catalogue(engine: Engine) -> Catalogue:
    """The tools of all servers; where two have a tool of one name, each is shown with its server's name."""
    apps = _apps(engine)
    shared = Counter(name for app in apps.values() for name in _names(app))
    tools, withheld = dict[str, Tool](), dict[str, str]()
    for server, app in apps.items():
        prefix = {name: f"{server}_" if shared[name] > 1 else "" for name in _names(app)}
        tools |= {prefix[name] + name: tool for name, tool in app.current.catalogue.tools.items()}
        withheld |= {prefix[name] + name: reason for name, reason in app.current.catalogue.withheld.items()}
    return Catalogue(tools, withheld)


def _names(app: GatewayApp) -> set[str]:
    return {*app.current.catalogue.tools, *app.current.catalogue.withheld}


class EngineState(GatewayState):
    """What the console shows of all servers in the engine together."""

    def __init__(self, gateway: GatewayApp, engine: Engine) -> None:
        self._engine = engine
        super().__init__(gateway)

    @property
    def tally(self) -> CallCounters:
        """The calls of all servers that run now."""
        found = CallCounters()
        for app in _apps(self._engine).values():
            one = app.runtime.tally
            found.calls.update(one.calls)
            found.would.update(one.would)
            found.seconds = [mine + theirs for mine, theirs in zip(found.seconds, one.seconds, strict=True)]
            found.seconds_in_all += one.seconds_in_all
            for minute, counts in one.minutes.items():
                before = found.minutes.get(minute, [0, 0])
                found.minutes[minute] = [mine + theirs for mine, theirs in zip(before, counts, strict=True)]
        return found

    @tally.setter
    def tally(self, _: CallCounters) -> None:
        """The counters of the console's own gateway, which calls nothing."""

    def upstream_status(self) -> list[UpstreamStatus]:
        apps = _apps(self._engine)
        return [status for name in sorted(apps) for status in apps[name].state.upstream_status()]

    def upstream_of_withheld(self) -> Mapping[str, str]:
        return {tool: name for app in self._states() for tool, name in app.upstream_of_withheld().items()}

    def has_lock_file(self) -> bool:
        return any(one.has_lock_file() for one in self._states())

    def changed_tools(self) -> set[str]:
        return {name for one in self._states() for name in one.changed_tools()}

    def count_changes(self) -> int:
        return sum(one.count_changes() for one in self._states())

    def definition_changes(self) -> list[DefinitionChange]:
        return [change for one in self._states() for change in one.definition_changes()]

    async def accept_definitions(self, chosen: Sequence[DefinitionChange], by: Principal, reason: str) -> None:
        for name, app in _apps(self._engine).items():
            if mine := [one for one in chosen if one.upstream == name]:
                await app.state.accept_definitions(mine, by, reason)

    async def reload(self, upstream: str) -> None:
        if (app := _apps(self._engine).get(upstream)) is not None:
            await app.reload(upstream)

    def _states(self) -> list[GatewayState]:
        return [app.state for app in _apps(self._engine).values()]

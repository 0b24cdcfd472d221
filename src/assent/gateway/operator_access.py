"""What `/api` and the console see and change of the running gateway beside its store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assent.config.lock_file import load_pins, write_pins
from assent.config.model import Settings, UpstreamSettings
from assent.core.pins import PinChange, Pins, accepted_pins, compare, pin_digest
from assent.core.principal import Principal
from assent.core.question import visible
from assent.features import load_feature
from assent.gateway.first_sight import accept_seen
from assent.gateway.generation import Generation
from assent.gateway.metrics import GatewayStatus, render
from assent.gateway.recent_calls import RecentCalls
from assent.gateway.served_tools import ServedTools
from assent.upstreams.credentials import CredentialOwner
from assent.upstreams.http.circuit_breaker import Health
from assent.web.asgi import Headers, Scope

if TYPE_CHECKING:
    from assent.gateway.app import GatewayApp

_HEALTHY = Health("closed", 0, None)


@dataclass(frozen=True, slots=True)
class UpstreamStatus:
    """How one upstream is right now."""

    name: str
    kind: str
    """command, url or openapi."""
    address: str
    trouble: str
    """What is wrong with it, in words; empty where it answered when last asked."""
    refreshed_at: float | None
    """When its tools were last read."""
    circuit: str
    """closed: calls go through; open: calls are refused; probing: one call is finding out."""
    failures: int
    last_error: str
    has_test: bool
    hidden_text: tuple[str, ...] = ()
    """The hidden characters that agents are not shown, each with its place."""
    sandbox: str = "off"
    """How it is confined, in words."""
    stopped: tuple[str, ...] = ()
    """What its sandbox stopped, or would stop, each with the tool."""


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A tool whose definition is not the accepted one."""

    upstream: str
    name: str
    """Its name on our wire."""
    change: PinChange
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    digest: str
    """The digest of the definition as it is now; empty for a tool that is gone."""
    attacks: tuple[str, ...] = ()
    """What looks like an attack in its texts."""
    is_withheld: bool = True
    """Whether the tool is withheld until it is accepted; otherwise the change is only shown."""
    is_listed_twice: bool = False
    """Such a tool cannot be accepted: nobody knows which of the two will be called."""


class GatewayState:
    """The parts of a running gateway that operators see and change."""

    def __init__(self, gateway: GatewayApp) -> None:
        self._gateway = gateway
        runtime = gateway.runtime
        self.tally, self.stop_switches, self.vault = runtime.tally, runtime.stop_switches, runtime.vault
        self.hidden_text, self.stored_keys = runtime.hidden_text, gateway.auth.keys
        self.recent_calls = RecentCalls(runtime.store)

    @property
    def current(self) -> Generation:
        """The configuration that is served now. A request reads it once."""
        return self._gateway.current

    @property
    def settings(self) -> Settings:
        return self.current.settings

    @property
    def refused_settings(self) -> str:
        """Why the newest configuration files are not used; empty while they are."""
        return self._gateway.refused_settings

    def public_scopes(self) -> list[str]:
        """The scopes of the tools that every caller may see."""
        return self.current.public_scopes()

    async def metrics(self, headers: Headers, scope: Scope) -> bytes | None:
        """The metrics page, for an operator or a caller on this machine; None for every other caller."""
        generation = self.current
        if not await generation.rulebook.authenticator.is_operator(headers, scope):
            return None
        factory, troubles = self._gateway.runtime.upstream_factory, self._gateway.tools.troubles
        upstreams = {name: (name not in troubles, factory.failures(name)) for name in generation.links}
        loop = type(asyncio.get_running_loop()).__module__.partition(".")[0]
        public = sum(tool.is_public for tool in generation.catalogue.tools.values())
        return render(self.tally, GatewayStatus(public, len(self._gateway.runtime.sessions), upstreams, loop))

    def forget_credential(self, upstream: str, owner: CredentialOwner) -> None:
        """Use a credential that was changed or removed at the next call."""
        self._gateway.runtime.upstream_factory.forget_credential(upstream, owner)

    async def reload(self, upstream: str) -> None:
        """Load the tools of an upstream now."""
        await self._gateway.reload(upstream)

    def upstream_status(self) -> list[UpstreamStatus]:
        """Every configured upstream, by name."""
        return [self._status(name, one) for name, one in sorted(self.settings.upstreams.items())]

    def _status(self, name: str, upstream: UpstreamSettings) -> UpstreamStatus:
        pools = self._gateway.runtime.upstream_factory.pools_of(name)
        health = max((pool.health for pool in pools), key=lambda one: one.failures, default=_HEALTHY)
        kind = "command" if upstream.command else "openapi" if upstream.openapi else "url"
        return UpstreamStatus(
            name,
            kind,
            _address(upstream),
            self._gateway.tools.troubles.get(name, ""),
            self._gateway.tools.refreshed_at.get(name),
            health.state,
            health.failures,
            health.last_error or "",
            upstream.test is not None,
            self._hidden_text(name),
            *self._gateway.runtime.upstream_factory.sandbox_status(name),
        )

    def _hidden_text(self, upstream: str) -> tuple[str, ...]:
        found = self.hidden_text
        tools = (f"{visible(tool)} {one}" for tool in found.tools_of(upstream) for one in found.of_tool(upstream, tool))
        return (*found.notes_of(upstream), *tools)

    def upstream_of_withheld(self) -> Mapping[str, str]:
        """The upstream of every tool that is withheld, by the name on our wire."""
        return self.current.served.upstream_of_withheld()

    def has_lock_file(self) -> bool:
        """Whether definitions are pinned: a lock file is configured and was read."""
        return self.current.served.pins is not None

    def changed_tools(self) -> set[str]:
        """The names on our wire of tools whose definition nobody has accepted as it is."""
        return set(self.current.served.unaccepted())

    def count_changes(self) -> int:
        """How many definitions differ from their pins, withheld or not."""
        served = self.current.served
        return len(served.unaccepted()) + sum(map(len, served.tolerated.values()))

    def definition_changes(self) -> list[DefinitionChange]:
        """Tools whose definition differs from the pinned one or has no pin. Empty if nothing is pinned."""
        served, pins = self.current.served, self.current.served.pins
        if pins is None:
            return [
                self._change(name, one, served.listed[name][0], server.pins)
                for name, server in sorted(served.seen.items())
                for one in _differing(server.pins, served.listed[name][0], _changed_tools(served, name))
                if one.kind == "changed"
            ]
        return [
            self._change(upstream, one, definitions, pins.get(upstream, {}))
            for upstream, (definitions, unaccepted) in sorted(self.current.served.pinned(self.current.links).items())
            for one in _differing(pins.get(upstream, {}), definitions, unaccepted)
        ]

    def _change(
        self, upstream: str, one: PinChange, definitions: Sequence[Mapping[str, Any]], pins: Pins
    ) -> DefinitionChange:
        found = [each for each in definitions if str(each.get("name")) == one.tool]
        after = found[0] if found else None
        return DefinitionChange(
            upstream,
            self.current.served.policy_of(upstream).canonical(one.tool),
            one,
            pins[one.tool].definition if one.tool in pins else None,
            after,
            pin_digest(after) if after is not None else "",
            tuple(load_feature("lint").attacks_in(after)) if after is not None else (),
            one.tool in self.current.served.listed[upstream][1] or one.kind == "gone",
            len(found) > 1,
        )

    async def accept_definitions(self, chosen: Sequence[DefinitionChange], by: Principal, reason: str) -> None:
        """Accept these definitions as `assent pin` does, in the lock file or in the store, and serve the tools.

        Raises SettingsError where the file cannot be read or written, StoreError where a definition changed meanwhile.
        """
        if self.current.served.pins is None:
            await self._accept_seen(chosen, by, reason)
            return
        place = self.settings.lock_file or Path()
        pins = load_pins(place) or {}
        for upstream in {one.upstream for one in chosen}:
            mine = [one for one in chosen if one.upstream == upstream]
            found = [dict(one.after) for one in mine if one.after is not None]
            wanted = {(upstream, one.change.tool) for one in mine}
            pins[upstream] = accepted_pins(upstream, pins.get(upstream, {}), found, wanted)
        write_pins(place, pins)
        for upstream in {one.upstream for one in chosen}:
            await self.reload(upstream)

    async def _accept_seen(self, chosen: Sequence[DefinitionChange], by: Principal, reason: str) -> None:
        for upstream in {one.upstream for one in chosen}:
            digests = {one.change.tool: one.digest for one in chosen if one.upstream == upstream}
            await accept_seen(self._gateway.runtime.store, self.current.served.seen[upstream].id, digests, by, reason)
            await self.reload(upstream)


def _changed_tools(served: ServedTools, upstream: str) -> dict[str, str]:
    """The tools that changed since they were first seen, withheld or not."""
    return {**served.listed[upstream][1], **served.tolerated.get(upstream, {})}


def _differing(pins: Pins, definitions: Sequence[Mapping[str, Any]], unaccepted: Mapping[str, str]) -> list[PinChange]:
    """What differs, without comparing what is known to be accepted."""
    names = {str(one.get("name")) for one in definitions}
    left = {name: pin for name, pin in pins.items() if name in unaccepted or name not in names}
    return compare(
        left, [one for one in definitions if str(one.get("name")) in unaccepted], load_feature("lint").attacks_in
    )


def _address(upstream: UpstreamSettings) -> str:
    """Where an upstream is, without what may be a secret: arguments of a command and parts of a URL can be one."""
    if upstream.command:
        return upstream.command[0]
    parts = urlsplit(upstream.url or upstream.base_url or "")
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"

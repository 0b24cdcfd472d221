"""What `/api` and the console see and change of the running gateway beside its store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assent.config.model import Settings, UpstreamSettings
from assent.config.pins import load_pins, write_pins
from assent.core.pins import PinChange, Pins, accepted_pins, compare, pin_digest
from assent.core.render import visible
from assent.gateway.auth.stored_api_keys import StoredApiKeys
from assent.gateway.catalogue import ToolCatalogueLoader
from assent.gateway.metrics import CallCounters
from assent.gateway.recent_calls import RecentCalls
from assent.gateway.upstream_factory import UpstreamFactory
from assent.lint.attacks import attacks_in
from assent.pipeline.stop_switches import StopSwitches
from assent.upstreams.http.circuit_breaker import Health
from assent.upstreams.oauth.owner import CredentialOwner
from assent.upstreams.oauth.vault import CredentialVault

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
    is_listed_twice: bool = False
    """Such a tool cannot be accepted: nobody knows which of the two will be called."""


@dataclass(frozen=True, slots=True)
class GatewayState:
    """The parts of a running gateway that operators see and change."""

    current_settings: Callable[[], Settings]
    tool_loader: ToolCatalogueLoader
    upstream_factory: UpstreamFactory
    tally: CallCounters
    stop_switches: StopSwitches
    recent_calls: RecentCalls
    stored_keys: StoredApiKeys
    vault: CredentialVault
    public_scopes: Callable[[], list[str]]
    """The scopes of the tools that every caller may see."""

    def forget_credential(self, upstream: str, owner: CredentialOwner) -> None:
        """Use a credential that was changed or removed at the next call."""
        self.upstream_factory.forget_credential(upstream, owner)

    @property
    def settings(self) -> Settings:
        return self.current_settings()

    def upstream_status(self) -> list[UpstreamStatus]:
        """Every configured upstream, by name."""
        return [self._status(name, one) for name, one in sorted(self.settings.upstreams.items())]

    def _status(self, name: str, upstream: UpstreamSettings) -> UpstreamStatus:
        pools = self.upstream_factory.pools_of(name)
        health = max((pool.health for pool in pools), key=lambda one: one.failures, default=_HEALTHY)
        kind = "command" if upstream.command else "openapi" if upstream.openapi else "url"
        return UpstreamStatus(
            name,
            kind,
            _address(upstream),
            self.tool_loader.troubles.get(name, ""),
            self.tool_loader.refreshed_at.get(name),
            health.state,
            health.failures,
            health.last_error or "",
            upstream.test is not None,
            self._hidden_text(name),
        )

    def _hidden_text(self, upstream: str) -> tuple[str, ...]:
        found = self.tool_loader.hidden_text
        tools = (f"{visible(tool)} {one}" for tool in found.tools_of(upstream) for one in found.of_tool(upstream, tool))
        return (*found.notes_of(upstream), *tools)

    def upstream_of_withheld(self) -> Mapping[str, str]:
        """The upstream of every tool that is withheld, by the name on our wire."""
        return self.tool_loader.upstream_of_withheld()

    def has_lock_file(self) -> bool:
        """Whether definitions are pinned: a lock file is configured and was read."""
        return self.tool_loader.pins is not None

    def changed_tools(self) -> set[str]:
        """The names on our wire of tools whose definition nobody has accepted as it is."""
        return set(self.tool_loader.unaccepted())

    def definition_changes(self) -> list[DefinitionChange]:
        """Every tool whose definition differs from the accepted one, or is accepted by nobody; none without pins."""
        pins = self.tool_loader.pins
        if pins is None:
            return []
        return [
            self._change(upstream, one, definitions, pins.get(upstream, {}))
            for upstream, (definitions, unaccepted) in sorted(self.tool_loader.pinned().items())
            for one in _differing(pins.get(upstream, {}), definitions, unaccepted)
        ]

    def _change(
        self, upstream: str, one: PinChange, definitions: Sequence[Mapping[str, Any]], pins: Pins
    ) -> DefinitionChange:
        found = [each for each in definitions if str(each.get("name")) == one.tool]
        after = found[0] if found else None
        return DefinitionChange(
            upstream,
            self.tool_loader.upstream_policy(upstream).canonical(one.tool),
            one,
            pins[one.tool].definition if one.tool in pins else None,
            after,
            pin_digest(after) if after is not None else "",
            tuple(attacks_in(after)) if after is not None else (),
            len(found) > 1,
        )

    async def accept_definitions(self, chosen: Sequence[DefinitionChange]) -> None:
        """Write these definitions into the lock file as `assent pin --write` does, and serve the tools by it.

        Raises SettingsError where the file cannot be read or written.
        """
        place = Path(self.settings.pins or "")
        pins = load_pins(place) or {}
        for upstream in {one.upstream for one in chosen}:
            mine = [one for one in chosen if one.upstream == upstream]
            found = [dict(one.after) for one in mine if one.after is not None]
            wanted = {(upstream, one.change.tool) for one in mine}
            pins[upstream] = accepted_pins(upstream, pins.get(upstream, {}), found, wanted)
        write_pins(place, pins)
        for upstream in {one.upstream for one in chosen}:
            await self.tool_loader.refresh(upstream)


def _differing(pins: Pins, definitions: Sequence[Mapping[str, Any]], unaccepted: Mapping[str, str]) -> list[PinChange]:
    """What differs, without comparing what is known to be accepted."""
    names = {str(one.get("name")) for one in definitions}
    left = {name: pin for name, pin in pins.items() if name in unaccepted or name not in names}
    return compare(left, [one for one in definitions if str(one.get("name")) in unaccepted], attacks_in)


def _address(upstream: UpstreamSettings) -> str:
    """Where an upstream is, without what may be a secret: arguments of a command and parts of a URL can be one."""
    if upstream.command:
        return upstream.command[0]
    parts = urlsplit(upstream.url or upstream.base_url or "")
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"

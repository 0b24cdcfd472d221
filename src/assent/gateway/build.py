"""Builds the generation of a configuration: its upstreams, rules and tools, all checked before any is served."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assent.config.anchors import signing_plan_of
from assent.config.model import Settings
from assent.config.rules import flow_control, policies_of, policy_faults
from assent.core.catalogue import Catalogue
from assent.errors import Fault, SettingsError
from assent.features import load_feature
from assent.gateway.auth.authenticator import Authenticator, AuthParts
from assent.gateway.catalogue_refresh import tools_of
from assent.gateway.edge_ports import Rulebook
from assent.gateway.first_sight import note_seen
from assent.gateway.generation import Generation, assemble
from assent.gateway.runtime import Runtime
from assent.gateway.served_tools import Contracts, Definitions, Seen, compile_served, contracts_of, finish, read_pins
from assent.gateway.upstream_factory import UpstreamFactory, provider_of
from assent.ports import Store
from assent.upstreams.http.address import BadAddress
from assent.upstreams.link import DocumentLink, UpstreamLink


@dataclass(frozen=True, slots=True)
class Built:
    """A generation that is ready to be served."""

    generation: Generation
    fresh: Mapping[str, UpstreamLink]
    """The links to upstreams that are new or configured differently."""
    definitions: Mapping[str, Definitions]
    troubles: Mapping[str, str]


def first(
    runtime: Runtime,
    settings: Settings,
    auth: AuthParts,
    on_waiting: Callable[[str], str | None],
    flow: Any = None,
) -> Generation:
    """The generation that a gateway starts with: no upstream has answered yet. `flow` has conversations to continue."""
    links = {name: make_link(runtime.upstream_factory, settings, name) for name in settings.upstreams}
    contracts = contracts_of(settings)
    rulebook = Rulebook(
        settings,
        links,
        policies_of(settings),
        flow_control(settings, flow),
        Authenticator(settings, auth),
        _notifier(runtime, settings, None, on_waiting),
        signing_plan_of(settings, runtime.store),
    )
    served = finish(compile_served(settings, contracts, None, {}, links))
    return assemble(runtime, rulebook, served, Catalogue())


async def build(
    runtime: Runtime,
    settings: Settings,
    previous: Generation,
    known: Mapping[str, Definitions],
    on_waiting: Callable[[str], str | None],
    contracts: Contracts | None = None,
) -> Built:
    """The generation of new settings. Raises with every fault, and leaves nothing open then.

    `known` are the tools that upstreams listed last. Upstreams that are configured as before keep their connections;
    new ones are loaded first.
    """
    contracts = contracts_of(settings) if contracts is None else contracts
    policies = await asyncio.to_thread(policies_of, settings)
    kept = kept_upstreams(settings, previous.settings)
    signing = signing_plan_of(settings, runtime.store)
    pools, fresh = list(runtime.upstream_factory.pools), dict[str, UpstreamLink]()
    try:
        for name in settings.upstreams.keys() - kept:
            fresh[name] = make_link(runtime.upstream_factory, settings, name)
        loaded = dict(zip(fresh, await asyncio.gather(*map(tools_of, fresh.values())), strict=True))
        links = {name: fresh.get(name) or previous.links[name] for name in settings.upstreams}
        definitions = {name: found for name, found in known.items() if name in kept}
        definitions |= {name: found for name, found in loaded.items() if isinstance(found, list)}
        pins = read_pins(settings)
        seen = await _note_first_seen(runtime.store, settings, definitions, links) if pins is None else {}
        served = finish(compile_served(settings, contracts, pins, definitions, links, seen=seen))
        catalogue = served.check()
        complete = definitions.keys() == settings.upstreams.keys()
        if faults := policy_faults(policies, catalogue, settings.upstreams, complete=complete):
            raise SettingsError(faults)
        old = previous.rulebook
        rulebook = Rulebook(
            settings,
            links,
            policies,
            flow_control(settings, old.flow),
            old.authenticator.successor(settings),
            _notifier(runtime, settings, previous, on_waiting),
            signing,
        )
        generation = assemble(runtime, rulebook, served, catalogue)
    except BaseException:
        await runtime.upstream_factory.rollback(pools, fresh.values())
        raise
    troubles = {name: found for name, found in loaded.items() if isinstance(found, str)}
    return Built(generation, fresh, definitions, troubles)


async def _note_first_seen(
    store: Store, settings: Settings, definitions: Mapping[str, Definitions], links: Mapping[str, UpstreamLink]
) -> Seen:
    """What was first seen of each upstream that has answered."""
    if not settings.pins_at_first_sight:
        return {}
    return {
        name: await note_seen(store, name, settings.upstreams[name], found)
        for name, found in definitions.items()
        if not isinstance(links[name], DocumentLink)
    }


def make_link(upstream_factory: UpstreamFactory, settings: Settings, name: str) -> UpstreamLink:
    """The connection to one configured upstream."""
    return upstream_factory.link(name, settings.upstreams[name], provider=provider_of(settings))


def kept_upstreams(settings: Settings, before: Settings) -> set[str]:
    """The upstreams whose connections stay as they are."""
    # The provider whose tokens an upstream exchanges is part of its connection.
    same_provider = provider_of(settings) == provider_of(before)
    return {
        name
        for name, one in settings.upstreams.items()
        if before.upstreams.get(name) == one and (same_provider or one.oauth.exchange is None)
    }


def _notifier(
    runtime: Runtime, settings: Settings, previous: Generation | None, url: Callable[[str], str | None]
) -> Any:
    """The notifier of these settings; the previous one if they say the same."""
    if previous is not None and previous.settings.notify == settings.notify:
        return previous.rulebook.notifier
    if not settings.notify:
        return None
    try:
        return load_feature("notify").Notifier(settings.notify, runtime.store, time.time, url)
    except BadAddress as error:
        raise SettingsError(Fault(str(error), "Correct the address", "notify")) from None

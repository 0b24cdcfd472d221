"""Loads the tools of every upstream again and again, and publishes what changed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from assent.config.model import UpstreamSettings
from assent.contract.contradictions import unsendable_keys
from assent.core.catalogue import Catalogue
from assent.core.first_sight import SeenServer
from assent.core.question import visible
from assent.errors import Fault, FaultsError, SettingsError
from assent.gateway.config_audit import ListedTools
from assent.gateway.served_tools import AcceptedPins, Definitions, Seen, ServedTools, compile_served, read_pins
from assent.upstreams.compiled_tools import NO_CONTRACT
from assent.upstreams.errors import safe_error_text
from assent.upstreams.link import DocumentLink, UpstreamLink

logger = logging.getLogger(__name__)

PUBLISH_WITHIN = 1.0
"""Seconds after which changes are published even if those of more upstreams follow at once."""
LOAD_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served now, and how something newer is served instead."""

    served: Callable[[], ServedTools]
    links: Callable[[], Mapping[str, UpstreamLink]]
    publish: Callable[[ServedTools], None]
    listed: Callable[[str, ListedTools | None, ListedTools], None]
    """Called when an upstream lists its tools for the first time, or lists different ones."""
    seen: Callable[[str, UpstreamSettings, Definitions], Awaitable[SeenServer]]
    """Pins what an upstream lists for the first time, and returns its pins."""


class CatalogueLoader:
    """Loads the tools of upstreams, and keeps what each listed last and what is wrong with it."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._newest: ServedTools | None = None
        """Compiled, but not published yet."""
        self._compiling, self._waiting, self._published_at = asyncio.Lock(), 0, 0.0
        self.definitions: dict[str, Definitions] = {}
        """What each upstream listed last."""
        self.troubles: dict[str, str] = {}
        """The current problem of each upstream that has one."""
        self.refreshed_at: dict[str, float] = {}
        """When each upstream's tools were last read."""

    async def refresh(self, name: str) -> float:
        """Loads the tools of one upstream and serves them; returns the CPU time that took."""
        link = self._serving.links().get(name)
        if link is None:
            return 0.0
        try:
            definitions = await link.load()
            async with self._turn():
                return await self._take(name, link, definitions)
        except Exception as error:
            self.set_trouble(name, str(error) if isinstance(error, FaultsError) else safe_error_text(error))
            return 0.0

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One upstream after the other; what a turn compiled is published at its end."""
        self._waiting += 1
        try:
            await self._compiling.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._publish_changes()
            self._compiling.release()

    def _publish_changes(self) -> None:
        """Publishes what was compiled, unless more follows at once: a catalogue costs as much as all its tools."""
        newest, now = self._newest, time.monotonic()
        if newest is None or newest is not self._current():
            return
        if not self._waiting or now - self._published_at > PUBLISH_WITHIN:
            self._newest, self._published_at = None, now
            self._serving.publish(newest)

    def _current(self) -> ServedTools:
        """What a refresh starts from: what waits to be published, unless another configuration is served by now."""
        served = self._serving.served()
        return self._newest if self._newest is not None and self._newest.settings is served.settings else served

    async def _take(self, name: str, link: UpstreamLink, definitions: Definitions) -> float:
        """Compiles what an upstream listed, in slices; returns the CPU time that took."""
        before = self._current()
        doubt, pins = ("", before.pins) if isinstance(link, DocumentLink) else self._reread_pins(before)
        known, served, busy = {**self.definitions, name: definitions}, before, 0.0
        seen = await self._find_first_seen(before, name, link, definitions, pins)
        if (
            definitions != self.definitions.get(name)
            or pins != before.pins
            or name not in before.listed
            or seen.get(name) is not before.seen.get(name)
        ):
            served, busy = await self._compile_in_slices(before, known, pins, seen)
        if self._serving.links().get(name) is not link:
            return busy  # The upstream was replaced while compiling.
        if self._current() is not before:
            return busy + await self._take(name, link, definitions)
        self.set_trouble(name, doubt)
        self.refreshed_at[name] = time.time()
        self.definitions[name] = definitions
        if served is not before:
            self.note_listed(before, served)
            self._newest = served
        return busy

    async def _find_first_seen(
        self, before: ServedTools, name: str, link: UpstreamLink, definitions: Definitions, pins: AcceptedPins
    ) -> Seen:
        """What was first seen of each upstream. The store is asked if this one lists something else, or did so."""
        if pins is not None or isinstance(link, DocumentLink) or not before.settings.pins_at_first_sight:
            return {one: server for one, server in before.seen.items() if one != name}
        known = before.seen.get(name)
        if known is not None and definitions == self.definitions.get(name) and not known.has_changes:
            return before.seen
        found = await self._serving.seen(name, before.settings.upstreams[name], definitions)
        return before.seen if found == known else {**before.seen, name: found}

    def note_listed(self, before: ServedTools, served: ServedTools) -> None:
        """Records and logs what upstreams list differently."""
        for name, listed in served.listed.items():
            if listed != before.listed.get(name):
                self._serving.listed(name, before.listed.get(name), listed)
                for tool, reason in {**listed[1], **served.without_contract(name)}.items():
                    logger.warning("upstream %s: %s is withheld: %s", name, visible(tool), reason)
            told = before.tolerated.get(name, {})
            for tool, reason in served.tolerated.get(name, {}).items():
                if told.get(tool) != reason:
                    logger.warning("upstream %s: %s changed and is served: %s", name, visible(tool), reason)

    async def _compile_in_slices(
        self, before: ServedTools, known: Mapping[str, Definitions], pins: AcceptedPins, seen: Seen
    ) -> tuple[ServedTools, float]:
        """Compiles and yields to other tasks between slices; returns the result and the CPU time used."""
        links = self._serving.links()
        mine = {name: found for name, found in known.items() if name in links}
        steps, busy = compile_served(before.settings, before.contracts, pins, mine, links, before, seen), 0.0
        while True:
            started = time.monotonic()
            try:
                next(steps)
            except StopIteration as done:
                return done.value, busy + time.monotonic() - started
            busy += time.monotonic() - started
            await asyncio.sleep(0)

    def set_trouble(self, name: str, trouble: str) -> None:
        """Stores the problem of an upstream and logs it when it is new."""
        if not trouble:
            self.troubles.pop(name, None)
            return
        if self.troubles.get(name) != trouble:
            logger.warning("upstream %s: %s", name, trouble)
        self.troubles[name] = trouble

    def keep_only(self, upstreams: Mapping[str, object]) -> None:
        """Forgets upstreams that are no longer configured."""
        for known in (self.definitions, self.troubles, self.refreshed_at):
            for name in known.keys() - upstreams.keys():
                known.pop(name)

    def _reread_pins(self, before: ServedTools) -> tuple[str, AcceptedPins]:
        """The pins of the lock file; if it cannot be read, the problem and the earlier pins."""
        try:
            pins = read_pins(before.settings)
        except SettingsError as error:
            if before.pins is None:
                raise
            return str(error), before.pins
        if pins is None and before.pins is not None:
            warn_of_missing_pins(before)
        return "", pins


def warn_of_missing_pins(served: ServedTools) -> None:
    """Says that the configured lock file does not exist."""
    logger.warning(
        "the lock file %s does not exist: until you run `assent pin --write`, definitions are pinned as first seen",
        served.settings.pins,
    )


class CatalogueLog:
    """Logs what is new in a catalogue: withheld tools, keys that hosts cannot send, contracts that govern nothing."""

    def __init__(self) -> None:
        self._faults: set[str] = set()
        self._policy_faults: set[str] = set()

    def policy_faults(self, found: Iterable[Fault]) -> None:
        """Logs each policy that does not fit the tools that an upstream lists now, once."""
        faults = {str(fault) for fault in found}
        for fault in sorted(faults - self._policy_faults):
            logger.error("a policy does not fit, so tools that it applies to are denied: %s", fault)
        self._policy_faults = faults

    def write(self, before: Catalogue, after: Catalogue, served: ServedTools, excluded: dict[str, set[str]]) -> None:
        tell_withheld(before, after, served.unaccepted(), excluded)
        known = {tool.contract.digest for tool in before.tools.values()}
        new = [tool.contract for tool in after.tools.values() if tool.contract.digest not in known]
        if (warning := unsendable_keys(new)) is not None:
            logger.warning("%s", warning)
        self.contract_faults(served, after)

    def contract_faults(self, served: ServedTools, catalogue: Catalogue) -> None:
        """Logs each contract that governs no tool or more than one, or names what its tool does not have, once."""
        faults = {f"a contract is not enforced: {fault}" for fault in served.binding.faults}
        faults |= {f"a contract names what does not exist: {fault}" for fault in served.unknown_names(catalogue)}
        for fault in sorted(faults - self._faults):
            logger.error(fault)
        self._faults = faults

    def unchecked_contracts(self, served: ServedTools, catalogue: Catalogue) -> None:
        """Logs the contracts that cannot be checked until an upstream answers."""
        self.contract_faults(served, catalogue)
        for one in served.binding.unchecked:
            logger.warning(
                "%s: no tool matches the contract %s yet; not all upstreams have answered", one.where, one.name
            )


async def tools_of(link: UpstreamLink) -> Definitions | str:
    """The tools of an upstream, or the reason why it has none now; raises if a local OpenAPI file is at fault."""
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            return await link.load()
    except Exception as error:
        if isinstance(error, FaultsError) and link.is_local_document:
            raise
        return safe_error_text(error)


def differs(before: Catalogue, after: Catalogue) -> bool:
    """Whether a caller can see a difference."""
    return _visible_parts(before) != _visible_parts(after)


def _visible_parts(catalogue: Catalogue) -> dict[str, object]:
    return {name: (tool.definition, tool.contract.digest) for name, tool in catalogue.tools.items()}


MOST_NAMED = 20


def tell_withheld(
    before: Catalogue, now: Catalogue, named: Collection[str], excluded: Mapping[str, Collection[str]]
) -> None:
    """Name every tool that is withheld from now on, or for another reason.

    The caller has `named` some already. `excluded` are operations that can be no tool, by upstream: that is no fault,
    so they are only counted.
    """
    new = {name: why for name, why in sorted(now.withheld.items()) if before.withheld.get(name) != why}
    for upstream, names in excluded.items():
        if any(name in new for name in names):
            logger.info("%s: %d operations get no tool; `assent contract show FILE --excluded` says why",
                        upstream, len(names))  # fmt: skip
    forbidden = [
        name for name, tool in now.tools.items() if name not in before.tools and tool.contract.risk == "forbidden"
    ]
    _tell_names(
        "Hidden from agents, because the risk is forbidden (a contract with another `risk` offers it)", forbidden
    )
    _tell_names("Withheld, because there is no contract", [name for name, why in new.items() if why == NO_CONTRACT])
    counted = {name for names in excluded.values() for name in names}
    rest = [
        (name, why) for name, why in new.items() if why != NO_CONTRACT and name not in named and name not in counted
    ]
    for name, why in rest[:MOST_NAMED]:
        logger.error("%s is withheld: %s", visible(name), why)
    if len(rest) > MOST_NAMED:
        logger.error("%d more tools are withheld; `assent serve --check` names them", len(rest) - MOST_NAMED)


def _tell_names(what: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        logger.warning("%s: %s%s", what, ", ".join(map(visible, names[:MOST_NAMED])), more)

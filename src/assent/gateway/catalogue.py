"""The gateway's catalogue: the tools that upstreams last listed, with the contracts bound to them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.config.model import Settings
from assent.config.pins import load_pins
from assent.config.policies import policy_faults
from assent.contract.binding import Binding, Offered, bind
from assent.contract.files import WrittenContract, contract_paths, load_written
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.contract.required_keys import unsendable_keys
from assent.core.catalogue import Catalogue, catalogue_of, catalogue_that_holds, safe_names
from assent.core.pins import Pin, changed
from assent.core.quotas import budgets_never_spent
from assent.core.render import visible
from assent.errors import ContractError, Fault, FaultsError, SettingsError
from assent.gateway.config_audit import ListedTools
from assent.gateway.hidden_text import HiddenText
from assent.gateway.upstream_factory import Link
from assent.lint.attacks import attacks_in
from assent.upstreams.compiled_tools import (
    NO_CONTRACT,
    CompiledTools,
    UpstreamPolicy,
    compile_tools,
    marks_all_destructive,
)
from assent.upstreams.errors import safe_error_text
from assent.upstreams.known import known_contracts
from assent.upstreams.openapi.link import OpenApiLink

if TYPE_CHECKING:
    from assent.policy.engine import PolicyEngine

logger = logging.getLogger(__name__)

PUBLISH_WITHIN = 1.0
"""Seconds after which changes are published even if those of more upstreams follow at once."""
MOST_NAMED = 20
"""How many withheld tools are named in the log at a time."""

LOAD_TIMEOUT = 10.0
SLICE = 20
"""How many definitions are compiled before other tasks get a turn."""

Definitions = list[dict[str, Any]]
Accepted = tuple[str | None, dict[str, dict[str, Pin]] | None]
"""The path of the lock file and its pins by upstream; None before the first `assent pin --write`."""
Contracts = list[WrittenContract]
UpstreamContracts = tuple[dict[str, WrittenContract], dict[str, str]]
"""The contracts of one upstream's tools by the upstream's names, and the tools with ambiguous contracts."""
Compiled = dict[str, tuple[ListedTools, UpstreamContracts, CompiledTools]]
"""What each upstream listed, its contracts, and the tools compiled from both."""


class ToolCatalogueLoader:
    """Loads the tools of every upstream, binds the contracts and keeps the current problem of each upstream."""

    def __init__(
        self,
        settings: Settings,
        links: Mapping[str, Link],
        on_changed: Callable[[], None],
        on_listed: Callable[[str, ListedTools | None, ListedTools], None],
    ) -> None:
        self._settings, self._links, self._on_changed, self._on_listed = settings, links, on_changed, on_listed
        self._contracts = contracts_of(settings)
        self._listed: dict[str, ListedTools] = {}
        self._compiled: Compiled = {}
        self._compiling, self._waiting = asyncio.Lock(), 0
        self._unpublished, self._published_at = False, 0.0
        self._logged_faults: set[str] = set()
        self.binding = bind(self._contracts, {}, settings.upstreams)
        self._accepted: Accepted = None, None
        self._unpinned = False
        self.troubles: dict[str, str] = dict.fromkeys(settings.upstreams, "it has not answered yet")
        self.refreshed_at: dict[str, float] = {}
        """When each upstream's tools were last read."""
        self.catalogue = Catalogue()
        self.hidden_text = HiddenText()

    @property
    def pins(self) -> dict[str, dict[str, Pin]] | None:
        """The accepted definitions by upstream; None where none are pinned."""
        return self._accepted[1]

    def pinned(self) -> dict[str, ListedTools]:
        """What each upstream with pinned definitions last listed, and which of it no person has accepted.

        API descriptions are not pinned.
        """
        listed = self._listed.items()
        return {name: one for name, one in listed if not isinstance(self._links.get(name), OpenApiLink)}

    def upstream_of_withheld(self) -> dict[str, str]:
        """The upstream of every withheld tool, by the tool's name on our wire."""
        return {tool: name for name, (_, _, compiled) in self._compiled.items() for tool in compiled.withheld}

    async def refresh(self, name: str) -> float:
        """Loads the tools of one upstream into a new catalogue; returns the CPU time that took."""
        link = self._links.get(name)
        if link is None:
            return 0.0
        try:
            definitions = await link.load()
            async with self._turn():
                return await self._compile_new(name, link, definitions)
        except Exception as error:
            self._set_trouble(name, str(error) if isinstance(error, FaultsError) else safe_error_text(error))
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
        now = time.monotonic()
        if self._unpublished and (not self._waiting or now - self._published_at > PUBLISH_WITHIN):
            self.publish()

    async def _compile_new(self, name: str, link: Link, definitions: Definitions) -> float:
        """Compiles the definitions in slices; returns the CPU time that took."""
        doubt = "" if isinstance(link, OpenApiLink) else self._reread_pins()
        listed, settings, busy = (definitions, self._unaccepted(link, definitions)), self._settings, 0.0
        known, compiled = {**self._listed, name: listed}, None
        if listed != self._listed.get(name):
            compiled, busy = await self._compile_in_slices(known)
        if self._links.get(name) is not link:
            return busy  # The link was replaced while compiling.
        if self._settings is not settings:
            return busy + await self._compile_new(name, link, definitions)
        self._set_trouble(name, doubt)
        self.refreshed_at[name] = time.time()
        if compiled is not None:
            self._on_listed(name, self._listed.get(name), listed)
            self._listed, (self.binding, self._compiled) = known, compiled
            for tool, reason in {**listed[1], **self._without_contract(self._compiled[name][2])}.items():
                logger.warning("upstream %s: %s is withheld: %s", name, visible(tool), reason)
            self._unpublished = True
        return busy

    def _without_contract(self, compiled_tools: CompiledTools) -> dict[str, str]:
        """The tools without a contract, if the settings make that an error."""
        wrong = self._settings.without_contract == "error"
        return {tool: why for tool, why in compiled_tools.withheld.items() if wrong and why == NO_CONTRACT}

    def _set_trouble(self, name: str, trouble: str) -> None:
        """Stores the problem of an upstream and logs it when it is new."""
        if not trouble:
            self.troubles.pop(name, None)
            return
        if self.troubles.get(name) != trouble:
            logger.warning("upstream %s: %s", name, trouble)
        self.troubles[name] = trouble

    def check(
        self,
        settings: Settings,
        contracts: Contracts,
        fresh: Mapping[str, Link],
        loaded: Mapping[str, Definitions | str],
        policies: PolicyEngine | None = None,
    ) -> None:
        """Raises if the tools would conflict under these settings, or if policies do not fit the tools."""
        known = {name: definitions for name, (definitions, _) in self._listed.items()}
        links = {**self._links, **fresh}
        old = self._settings, self._contracts, self._accepted, self._compiled
        self._settings, self._contracts, self._compiled = settings, contracts, {}
        try:
            self._accepted = self._read_pins()
            served = {
                name: (found, self._unaccepted(links[name], found))
                for name, found in {**known, **loaded}.items()
                if name in settings.upstreams and isinstance(found, list)
            }
            compiled_tools = [one for _, _, one in _finish(self._compile(served, links))[1].values()]
            tools = [tool for one in compiled_tools for tool in one.tools]
            if settings.names == "safe":
                safe_names(tool.wire_name for tool in tools)
            withheld = {name: why for one in compiled_tools for name, why in one.withheld.items()}
            catalogue = catalogue_of(tools, withheld)
            check_contracts(settings, compiled_tools)
            complete = served.keys() == settings.upstreams.keys()
            if faults := policy_faults(policies, catalogue, settings.upstreams, complete=complete):
                raise SettingsError(faults)
        finally:
            self._settings, self._contracts, self._accepted, self._compiled = old

    def apply_settings(self, settings: Settings, contracts: Contracts, loaded: Mapping[str, Definitions | str]) -> None:
        """Uses new settings and the tools, or the error, of each new upstream. Call `publish` afterwards."""
        self._settings, self._contracts = settings, contracts
        self._reread_pins()
        kept = settings.upstreams.keys() - loaded.keys()
        known = {name: one for name, (one, _) in self._listed.items() if name in kept}
        self.troubles = {name: why for name, why in self.troubles.items() if name in kept}
        for name, definitions in loaded.items():
            if isinstance(definitions, list):
                known[name] = definitions
            else:
                self.troubles[name] = definitions
        old = self._listed
        self._listed = {name: (found, self._unaccepted(self._links[name], found)) for name, found in known.items()}
        for name, listed in self._listed.items():
            if listed != old.get(name):
                self._on_listed(name, old.get(name), listed)
        self._compiled = {}  # Names, profiles and policies may have changed.
        self.binding, self._compiled = _finish(self._compile(self._listed, self._links))

    def publish(self) -> None:
        """Replaces the catalogue with one of everything the upstreams last listed. Running calls keep the old one."""
        self._unpublished, self._published_at = False, time.monotonic()
        compiled_tools = [one for _, _, one in self._compiled.values()]
        withheld = {name: why for one in compiled_tools for name, why in one.withheld.items()}
        catalogue = catalogue_that_holds([tool for one in compiled_tools for tool in one.tools], withheld)
        self._tell_withheld(catalogue)
        self.hidden_text.note_tools({name: one.hidden for name, (_, _, one) in self._compiled.items()})
        self._tell_unsendable_keys(catalogue)
        self._log_contract_faults()
        differs = _visible_parts(catalogue) != _visible_parts(self.catalogue)
        self.catalogue = catalogue
        if differs:
            self._on_changed()

    def _tell_withheld(self, catalogue: Catalogue) -> None:
        """Name every tool that is withheld from now on, or for another reason, but for those already named."""
        named, before = self.unaccepted(), self.catalogue.withheld
        new = {
            name: why
            for name, why in sorted(catalogue.withheld.items())
            if before.get(name) != why and name not in named and why != NO_CONTRACT
        }
        for name, why in list(new.items())[:MOST_NAMED]:
            logger.error("%s is withheld: %s", visible(name), why)
        if len(new) > MOST_NAMED:
            logger.error("%d more tools are withheld; `assent serve --check` names them", len(new) - MOST_NAMED)

    def _tell_unsendable_keys(self, catalogue: Catalogue) -> None:
        """Name the tools whose required key most hosts cannot send, each once."""
        known = {tool.contract.digest for tool in self.catalogue.tools.values()}
        new = [tool.contract for tool in catalogue.tools.values() if tool.contract.digest not in known]
        if (warning := unsendable_keys(new)) is not None:
            logger.warning("%s", warning)

    def check_contracts(self) -> None:
        """Raises if a tool has no contract and the settings make that an error."""
        check_contracts(self._settings, [one for _, _, one in self._compiled.values()])

    def _log_contract_faults(self) -> None:
        """Logs each contract that governs no tool or more than one, once."""
        faults = {str(fault) for fault in self.binding.faults}
        for fault in sorted(faults - self._logged_faults):
            logger.error("a contract is not enforced: %s", fault)
        self._logged_faults = faults

    def unaccepted(self) -> dict[str, str]:
        """The tools that differ from their pins, by wire name, each with the reason."""
        listed = self._listed.items()
        return {
            self.upstream_policy(name).canonical(own): why for name, (_, found) in listed for own, why in found.items()
        }

    def log_unchecked_contracts(self) -> None:
        """Logs the contracts that cannot be checked until an upstream answers."""
        self._log_contract_faults()
        for one in self.binding.unchecked:
            logger.warning(
                "%s: no tool matches the contract %s yet; not all upstreams have answered", one.where, one.name
            )

    def upstream_policy(self, name: str) -> UpstreamPolicy:
        """How the tools of one upstream are compiled."""
        settings, upstream = self._settings, self._settings.upstreams[name]
        return UpstreamPolicy(
            upstream=name,
            profile=named_profile(upstream.profile or settings.profile, publishes_contract=settings.publish_contracts),
            prefix=settings.prefix_of(name),
            trust=upstream.trust,
            without_contract=settings.without_contract,
            safe_names=settings.names == "safe",
            has_test=upstream.test is not None,
            historic_names=settings.historic_names if upstream.historic_names is None else upstream.historic_names,
            visibility=settings.visibility,
            chosen=upstream.profile is not None or "profile" in settings.model_fields_set,
        )

    async def _compile_in_slices(self, listed: Mapping[str, ListedTools]) -> tuple[tuple[Binding, Compiled], float]:
        """Compiles and yields to other tasks between slices; returns the result and the CPU time used."""
        steps, busy = self._compile(listed, dict(self._links)), 0.0
        while True:
            started = time.monotonic()
            try:
                next(steps)
            except StopIteration as done:
                return done.value, busy + time.monotonic() - started
            busy += time.monotonic() - started
            await asyncio.sleep(0)

    def _compile(
        self, listed: Mapping[str, ListedTools], links: Mapping[str, Link]
    ) -> Generator[None, None, tuple[Binding, Compiled]]:
        """Binds the contracts to all listed tools and recompiles what changed, one slice per step."""
        offers = {name: self._offered_tools(links[name], definitions) for name, (definitions, _) in listed.items()}
        binding = bind(self._contracts, offers, self._settings.upstreams.keys() - listed.keys())
        compiled: Compiled = {}
        for name, one in listed.items():
            mine, old = _contracts_of_upstream(binding, name), self._compiled.get(name)
            if old is not None and old[:2] == (one, mine):
                compiled[name] = old
                continue
            slices = list[CompiledTools]()
            for part in self._compile_upstream(links[name], one, mine):
                slices.append(part)
                yield
            compiled[name] = one, mine, _merge_slices(slices)
        return binding, compiled

    def _offered_tools(self, link: Link, definitions: Definitions) -> Offered:
        upstream_policy, names = self.upstream_policy(link.name), [one.get("name") for one in definitions]
        without = {one.name: one.reason for one in link.api.excluded} if isinstance(link, OpenApiLink) else {}
        return Offered({name: upstream_policy.canonical(name) for name in names if isinstance(name, str)}, without)

    def _compile_upstream(self, link: Link, listed: ListedTools, mine: UpstreamContracts) -> Iterator[CompiledTools]:
        """Compiles the tools of one upstream, one slice at a time."""
        (definitions, unaccepted), (written, ambiguous) = listed, mine
        upstream_policy, withheld = self.upstream_policy(link.name), {**ambiguous, **unaccepted}
        if isinstance(link, OpenApiLink):
            overlays = {upstream_policy.canonical(own): one.fields for own, one in written.items()}
            yield link.take_in(overlays, upstream_policy, withheld)
            return
        described = link.described
        found = known_contracts(str(described.info.get("name")), definitions, upstream_policy) if described else {}
        for own, one in written.items():
            name = upstream_policy.canonical(own)
            try:
                found[name] = one.contract if name == one.name else read_contract(name, one.fields)
            except ContractError as error:
                withheld[own] = f"its contract cannot be used: {error.faults[0]}"
        blanket = marks_all_destructive(definitions)
        for start in range(0, len(definitions), SLICE):
            yield compile_tools(definitions[start : start + SLICE], found, upstream_policy, withheld, blanket=blanket)

    def _unaccepted(self, link: Link, definitions: Definitions) -> dict[str, str]:
        """The tools that differ from their pins. OpenAPI documents are chosen by the operator and not pinned."""
        _, pins = self._accepted
        if isinstance(link, OpenApiLink) or pins is None:
            return {}
        found = changed(pins.get(link.name, {}), definitions, attacks_in)
        texts = {str(one.get("name")): attacks_in(one) for one in definitions if str(one.get("name")) in found}
        return {name: "; ".join([why, *texts.get(name, ())[:1]]) for name, why in found.items()}

    def _reread_pins(self) -> str:
        """Reads the lock file; if it cannot be read, keeps the earlier pins and returns the problem."""
        try:
            self._accepted = self._read_pins()
        except SettingsError as error:
            place, pins = self._accepted
            if place != self._settings.pins or pins is None:
                raise
            return str(error)
        return ""

    def _read_pins(self) -> Accepted:
        place = self._settings.pins
        pins = None if place is None else load_pins(Path(place))
        named = "pins" in self._settings.model_fields_set or self._accepted[1] is not None
        unpinned = place is not None and pins is None and named
        if unpinned and not self._unpinned:
            logger.warning(
                "the lock file %s does not exist: nothing is pinned until you run `assent pin --write`", place
            )
        self._unpinned = unpinned
        return place, pins


def _merge_slices(slices: Iterable[CompiledTools]) -> CompiledTools:
    found = list(slices)
    tools = tuple(tool for one in found for tool in one.tools)
    withheld = {name: why for one in found for name, why in one.withheld.items()}
    return CompiledTools(tools, withheld, {name: places for one in found for name, places in one.hidden.items()})


def _finish(steps: Generator[None, None, tuple[Binding, Compiled]]) -> tuple[Binding, Compiled]:
    """Runs the compile steps without a break."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: tuple[Binding, Compiled] = done.value
            return result


def check_contracts(settings: Settings, compiled_tools: Iterable[CompiledTools]) -> None:
    """Raises for every tool without a contract if `without_contract: error` is set."""
    if settings.without_contract != "error":
        return
    names = sorted(name for one in compiled_tools for name, why in one.withheld.items() if why == NO_CONTRACT)
    if names:
        remedy = "Write its contract (assent contract init), or set without_contract to infer or withhold"
        raise SettingsError([Fault(NO_CONTRACT, remedy, name) for name in names])


async def tools_of(link: Link) -> Definitions | str:
    """The tools of an upstream, or the reason why it has none now; raises if a local OpenAPI file is at fault."""
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            return await link.load()
    except Exception as error:
        if isinstance(error, FaultsError) and isinstance(link, OpenApiLink) and link.is_local:
            raise
        return safe_error_text(error)


def contracts_of(settings: Settings) -> Contracts:
    """Loads the contract files; raises if no contract spends from a configured budget."""
    found = load_written(contract_paths(settings.contracts)) if settings.contracts else []
    prefixes = [f"{name}_" for name in settings.upstreams]
    if faults := budgets_never_spent(settings.budgets, (one.contract for one in found), prefixes):
        raise SettingsError(faults)
    return found


def _contracts_of_upstream(binding: Binding, upstream: str) -> UpstreamContracts:
    """The contracts of one upstream in a binding."""
    return (
        {own: one for (home, own), one in binding.governs.items() if home == upstream},
        {own: why for (home, own), why in binding.ambiguous.items() if home == upstream},
    )


def _visible_parts(catalogue: Catalogue) -> dict[str, Any]:
    """The parts of a catalogue that a caller can see."""
    return {name: (tool.definition, tool.contract.digest) for name, tool in catalogue.tools.items()}

"""The catalogue of a gateway: what the upstreams last listed, under the contracts that are bound to it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assent.config.model import Settings
from assent.config.pins import load_pins
from assent.contract.binding import Binding, Offered, bind
from assent.contract.files import WrittenContract, contract_paths, load_written
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue, catalogue_of, catalogue_that_holds, safe_names
from assent.core.pins import Pin, changed
from assent.core.quotas import budgets_never_spent
from assent.errors import ContractError, Fault, FaultsError, SettingsError
from assent.gateway.config_audit import Said
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

logger = logging.getLogger(__name__)

MOST_NAMED = 20
"""How many withheld tools are named in the log at a time."""

LOAD_WITHIN = 10.0
SLICE = 20
"""How many definitions are compiled before everything else has a turn."""

Definitions = list[dict[str, Any]]
Accepted = tuple[str | None, dict[str, dict[str, Pin]] | None]
"""A lock file's place and its pins, by upstream; none before the first `assent pin --write`."""
Contracts = list[WrittenContract]
Mine = tuple[dict[str, WrittenContract], dict[str, str]]
"""The contracts of one upstream's tools by its own names, and the names of those that are withheld for want of one."""
Compiled = dict[str, tuple[Said, Mine, CompiledTools]]
"""What each upstream said, the contracts for it, and the tools made of both."""


class ToolCatalogueLoader:
    """The tools of every upstream under the contracts that hold now, and what is wrong with which upstream."""

    def __init__(
        self,
        settings: Settings,
        links: Mapping[str, Link],
        on_changed: Callable[[], None],
        on_said: Callable[[str, Said | None, Said], None],
    ) -> None:
        self._settings, self._links, self._on_changed, self._on_said = settings, links, on_changed, on_said
        self._contracts = contracts_of(settings)
        self._said: dict[str, Said] = {}
        self._taken: Compiled = {}
        self._compiling = asyncio.Lock()
        self._told: set[str] = set()
        self.binding = bind(self._contracts, {}, settings.upstreams)
        self._accepted: Accepted = None, None
        self._unpinned = False
        self.troubles: dict[str, str] = dict.fromkeys(settings.upstreams, "it has not answered yet")
        self.refreshed_at: dict[str, float] = {}
        """When each upstream's tools were last read."""
        self.catalogue = Catalogue()

    @property
    def pins(self) -> dict[str, dict[str, Pin]] | None:
        """The accepted definitions by upstream; None where none are pinned."""
        return self._accepted[1]

    def pinned(self) -> dict[str, Said]:
        """What each upstream last listed whose definitions are pinned, and what of it nobody has accepted; API
        descriptions are not pinned."""
        said = self._said.items()
        return {name: one for name, one in said if not isinstance(self._links.get(name), OpenApiLink)}

    def upstream_of_withheld(self) -> dict[str, str]:
        """The upstream of every tool that one withholds, by the name on our wire."""
        return {tool: name for name, (_, _, taken) in self._taken.items() for tool in taken.withheld}

    async def refresh(self, name: str) -> float:
        """Ask one upstream for its tools, and put what it says into a new catalogue; how long that kept us busy."""
        link = self._links.get(name)
        if link is None:
            return 0.0
        try:
            definitions = await link.load()
            async with self._compiling:
                return await self._take_over(name, link, definitions)
        except Exception as error:
            self._say(name, str(error) if isinstance(error, FaultsError) else safe_error_text(error))
            return 0.0

    async def _take_over(self, name: str, link: Link, definitions: Definitions) -> float:
        """Compile what an upstream said, in slices, and publish it; how long that kept us busy."""
        doubt = "" if isinstance(link, OpenApiLink) else self._reread_pins()
        said, settings, busy = (definitions, self._unaccepted(link, definitions)), self._settings, 0.0
        known, compiled = {**self._said, name: said}, None
        if said != self._said.get(name):
            compiled, busy = await self._compile_aside(known)
        if self._links.get(name) is not link:
            return busy  # another link took its place meanwhile
        if self._settings is not settings:
            return busy + await self._take_over(name, link, definitions)
        self._say(name, doubt)
        self.refreshed_at[name] = time.time()
        if compiled is not None:
            self._on_said(name, self._said.get(name), said)
            self._said, (self.binding, self._taken) = known, compiled
            for tool, reason in {**said[1], **self._lacking(self._taken[name][2])}.items():
                logger.warning("upstream %s: %s is withheld: %s", name, tool, reason)
            self.publish()
        return busy

    def _lacking(self, taken: CompiledTools) -> dict[str, str]:
        """The tools without a contract, where that is an error."""
        wrong = self._settings.without_contract == "error"
        return {tool: why for tool, why in taken.withheld.items() if wrong and why == NO_CONTRACT}

    def _say(self, name: str, trouble: str) -> None:
        """Keep what is wrong with an upstream, and name it once."""
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
    ) -> None:
        """Raise where the tools would get into each other's way under other settings."""
        known = {name: definitions for name, (definitions, _) in self._said.items()}
        links = {**self._links, **fresh}
        old = self._settings, self._contracts, self._accepted, self._taken
        self._settings, self._contracts, self._taken = settings, contracts, {}
        try:
            self._accepted = self._read_pins()
            served = {
                name: (found, self._unaccepted(links[name], found))
                for name, found in {**known, **loaded}.items()
                if name in settings.upstreams and isinstance(found, list)
            }
            taken = [one for _, _, one in _finish(self._compile(served, links))[1].values()]
            tools = [tool for one in taken for tool in one.tools]
            if settings.names == "safe":
                safe_names(tool.wire_name for tool in tools)
            catalogue_of(tools, {})
            check_contracts(settings, taken)
        finally:
            self._settings, self._contracts, self._accepted, self._taken = old

    def apply_settings(self, settings: Settings, contracts: Contracts, loaded: Mapping[str, Definitions | str]) -> None:
        """Live by other settings, with what new upstreams said, or why they said nothing; published by `publish`."""
        self._settings, self._contracts = settings, contracts
        self._reread_pins()
        kept = settings.upstreams.keys() - loaded.keys()
        known = {name: one for name, (one, _) in self._said.items() if name in kept}
        self.troubles = {name: why for name, why in self.troubles.items() if name in kept}
        for name, definitions in loaded.items():
            if isinstance(definitions, list):
                known[name] = definitions
            else:
                self.troubles[name] = definitions
        old = self._said
        self._said = {name: (found, self._unaccepted(self._links[name], found)) for name, found in known.items()}
        for name, said in self._said.items():
            if said != old.get(name):
                self._on_said(name, old.get(name), said)
        self._taken = {}  # names, profiles and terms may be others now
        self.binding, self._taken = _finish(self._compile(self._said, self._links))

    def publish(self) -> None:
        """Swap the catalogue for one made of what every upstream last said. Calls under way keep the old one."""
        taken = [one for _, _, one in self._taken.values()]
        withheld = {name: why for one in taken for name, why in one.withheld.items()}
        catalogue = catalogue_that_holds([tool for one in taken for tool in one.tools], withheld)
        self._tell_withheld(catalogue)
        self._tell_faults()
        differs = _shown(catalogue) != _shown(self.catalogue)
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
            logger.error("%s is withheld: %s", name, why)
        if len(new) > MOST_NAMED:
            logger.error("%d more tools are withheld; `assent serve --check` names them", len(new) - MOST_NAMED)

    def check_contracts(self) -> None:
        """Raise where a tool has no contract and the settings call that an error."""
        check_contracts(self._settings, [one for _, _, one in self._taken.values()])

    def _tell_faults(self) -> None:
        """Name every contract that governs no tool, or more than one, once."""
        faults = {str(fault) for fault in self.binding.faults}
        for fault in sorted(faults - self._told):
            logger.error("a contract is not enforced: %s", fault)
        self._told = faults

    def unaccepted(self) -> dict[str, str]:
        """The tools that differ from what was accepted, by the name on our wire, each with the reason."""
        said = self._said.items()
        return {self.terms(name).canonical(own): why for name, (_, found) in said for own, why in found.items()}

    def tell_unchecked(self) -> None:
        """Say which contracts wait for an upstream that has not answered; they are checked when it does."""
        self._tell_faults()
        for one in self.binding.unchecked:
            logger.warning("%s: no tool matches the contract %s yet, and not all upstreams answer", one.where, one.name)

    def terms(self, name: str) -> UpstreamPolicy:
        """On what terms the tools of one upstream are taken in."""
        settings, upstream = self._settings, self._settings.upstreams[name]
        return UpstreamPolicy(
            upstream=name,
            profile=named_profile(upstream.profile or settings.profile),
            prefix=settings.prefix_of(name),
            trust=upstream.trust,
            without_contract=settings.without_contract,
            safe_names=settings.names == "safe",
            has_test=upstream.test is not None,
            historic_names=settings.historic_names if upstream.historic_names is None else upstream.historic_names,
            visibility=settings.visibility,
            chosen=upstream.profile is not None or "profile" in settings.model_fields_set,
        )

    async def _compile_aside(self, said: Mapping[str, Said]) -> tuple[tuple[Binding, Compiled], float]:
        """Compile with a turn for everything else between slices; the result, and how long it kept us busy."""
        steps, busy = self._compile(said, dict(self._links)), 0.0
        while True:
            started = time.monotonic()
            try:
                next(steps)
            except StopIteration as done:
                return done.value, busy + time.monotonic() - started
            busy += time.monotonic() - started
            await asyncio.sleep(0)

    def _compile(
        self, said: Mapping[str, Said], links: Mapping[str, Link]
    ) -> Generator[None, None, tuple[Binding, Compiled]]:
        """Bind the contracts to what all upstreams said, and compile anew what that changes, a slice at a step."""
        offers = {name: self._offered(links[name], definitions) for name, (definitions, _) in said.items()}
        binding = bind(self._contracts, offers, self._settings.upstreams.keys() - said.keys())
        compiled: Compiled = {}
        for name, one in said.items():
            mine, old = _part_of(binding, name), self._taken.get(name)
            if old is not None and old[:2] == (one, mine):
                compiled[name] = old
                continue
            slices = list[CompiledTools]()
            for part in self._take_in(links[name], one, mine):
                slices.append(part)
                yield
            compiled[name] = one, mine, _together(slices)
        return binding, compiled

    def _offered(self, link: Link, definitions: Definitions) -> Offered:
        terms, names = self.terms(link.name), [one.get("name") for one in definitions]
        without = {one.name: one.reason for one in link.api.excluded} if isinstance(link, OpenApiLink) else {}
        return Offered({name: terms.canonical(name) for name in names if isinstance(name, str)}, without)

    def _take_in(self, link: Link, said: Said, mine: Mine) -> Iterator[CompiledTools]:
        """The tools of one upstream, a slice at a time."""
        (definitions, unaccepted), (written, ambiguous) = said, mine
        terms, withheld = self.terms(link.name), {**ambiguous, **unaccepted}
        if isinstance(link, OpenApiLink):
            overlays = {terms.canonical(own): one.fields for own, one in written.items()}
            yield link.take_in(overlays, terms, withheld)
            return
        described = link.described
        found = known_contracts(str(described.info.get("name")), definitions, terms) if described else {}
        for own, one in written.items():
            name = terms.canonical(own)
            try:
                found[name] = one.contract if name == one.name else read_contract(name, one.fields)
            except ContractError as error:
                withheld[own] = f"its contract cannot be used: {error.faults[0]}"
        blanket = marks_all_destructive(definitions)
        for start in range(0, len(definitions), SLICE):
            yield compile_tools(definitions[start : start + SLICE], found, terms, withheld, blanket=blanket)

    def _unaccepted(self, link: Link, definitions: Definitions) -> dict[str, str]:
        """What differs from what a person accepted; an API description is the operator's own choice and not pinned."""
        _, pins = self._accepted
        if isinstance(link, OpenApiLink) or pins is None:
            return {}
        found = changed(pins.get(link.name, {}), definitions, attacks_in)
        texts = {str(one.get("name")): attacks_in(one) for one in definitions if str(one.get("name")) in found}
        return {name: "; ".join([why, *texts.get(name, ())[:1]]) for name, why in found.items()}

    def _reread_pins(self) -> str:
        """See what is accepted now, or what is wrong with the file: while it cannot be read, what it said holds."""
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
            logger.warning("%s is not there: nothing is withheld until `assent pin --write`", place)
        self._unpinned = unpinned
        return place, pins


def _together(slices: Iterable[CompiledTools]) -> CompiledTools:
    found = list(slices)
    tools = tuple(tool for one in found for tool in one.tools)
    return CompiledTools(tools, {name: why for one in found for name, why in one.withheld.items()})


def _finish(steps: Generator[None, None, tuple[Binding, Compiled]]) -> tuple[Binding, Compiled]:
    """The result of compiling without a break."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: tuple[Binding, Compiled] = done.value
            return result


def check_contracts(settings: Settings, taken: Iterable[CompiledTools]) -> None:
    """Raise for every tool without a contract under `without_contract: error`."""
    if settings.without_contract != "error":
        return
    names = sorted(name for one in taken for name, why in one.withheld.items() if why == NO_CONTRACT)
    if names:
        remedy = "Write its contract (assent contract init), or set without_contract to infer or withhold"
        raise SettingsError([Fault(NO_CONTRACT, remedy, name) for name in names])


async def tools_of(link: Link) -> Definitions | str:
    """The tools of an upstream, or why it has none now; raises where a file of our own is at fault."""
    try:
        async with asyncio.timeout(LOAD_WITHIN):
            return await link.load()
    except Exception as error:
        if isinstance(error, FaultsError) and isinstance(link, OpenApiLink) and link.is_local:
            raise
        return safe_error_text(error)


def contracts_of(settings: Settings) -> Contracts:
    """The contracts of the files, each with its upstream; raises for a budget that none of them spends."""
    found = load_written(contract_paths(settings.contracts)) if settings.contracts else []
    prefixes = [f"{name}_" for name in settings.upstreams]
    if faults := budgets_never_spent(settings.budgets, (one.contract for one in found), prefixes):
        raise SettingsError(faults)
    return found


def _part_of(binding: Binding, upstream: str) -> Mine:
    """What a binding says of the tools of one upstream."""
    return (
        {own: one for (home, own), one in binding.governs.items() if home == upstream},
        {own: why for (home, own), why in binding.ambiguous.items() if home == upstream},
    )


def _shown(catalogue: Catalogue) -> dict[str, Any]:
    """What a caller could notice of a catalogue."""
    return {name: (tool.definition, tool.contract.digest) for name, tool in catalogue.tools.items()}

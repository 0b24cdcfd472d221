"""What did the upstreams last say of their tools, and what of it stands in the catalogue?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assent.bootstrap import load_pins
from assent.chronicle import Said
from assent.contract.files import contract_paths, load_contracts, load_declared
from assent.contract.model import Contract
from assent.contract.profiles import profile as named_profile
from assent.core.catalogue import Catalogue, catalogue_of, catalogue_that_holds, safe_names
from assent.core.pins import Pin, changed
from assent.edges.api_links import OpenApiLink
from assent.edges.foreign import TakenIn, Terms, take_in
from assent.edges.known import known_contracts
from assent.edges.upstreams.faults import words
from assent.errors import FaultsError, SettingsError
from assent.settings import Settings
from assent.wiring import Link

logger = logging.getLogger("assent")

LOAD_WITHIN = 10.0

Definitions = list[dict[str, Any]]
Accepted = tuple[str | None, dict[str, dict[str, Pin]] | None]
"""A lock file's place and its pins, by upstream; none before the first `assent pin --write`."""
Contracts = tuple[dict[str, Contract], dict[str, dict[str, Any]]]


class Stock:
    """The tools of every upstream under the contracts that hold now, and what is wrong with which upstream."""

    def __init__(
        self,
        settings: Settings,
        links: Mapping[str, Link],
        on_changed: Callable[[], None],
        on_said: Callable[[str, Said | None, Said], None],
    ) -> None:
        self._settings, self._links, self._on_changed, self._on_said = settings, links, on_changed, on_said
        self._contracts, self._declared = contracts_of(settings)
        self._said: dict[str, Said] = {}
        self._taken: dict[str, TakenIn] = {}
        self._accepted: Accepted = None, None
        self._unpinned = False
        self.troubles: dict[str, str] = dict.fromkeys(settings.upstreams, "it has not answered yet")
        self.catalogue = Catalogue()

    async def refresh(self, name: str) -> None:
        """Ask one upstream for its tools, and put what it says into a new catalogue."""
        link = self._links.get(name)
        if link is None:
            return
        try:
            definitions = await link.load()
            doubt = "" if isinstance(link, OpenApiLink) else self._reread_pins()
            said = definitions, self._unaccepted(link, definitions)
            taken = self._take_in(link, definitions) if said != self._said.get(name) else None
        except Exception as error:
            self._say(name, str(error) if isinstance(error, FaultsError) else words(error))
            return
        if self._links.get(name) is not link:
            return  # another one took its place meanwhile
        self._say(name, doubt)
        if taken is not None:
            self._on_said(name, self._said.get(name), said)
            self._said[name], self._taken[name] = said, taken
            for tool, reason in said[1].items():
                logger.warning("upstream %s: %s is withheld: %s", name, tool, reason)
            self.publish()

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
        old = self._settings, (self._contracts, self._declared), self._accepted
        self._settings, (self._contracts, self._declared) = settings, contracts
        try:
            self._accepted = self._read_pins()
            served = {name: found for name, found in {**known, **loaded}.items() if name in settings.upstreams}
            taken = [self._take_in(links[name], found) for name, found in served.items() if isinstance(found, list)]
            tools = [tool for one in taken for tool in one.tools]
            if settings.names == "safe":
                safe_names(tool.wire_name for tool in tools)
            catalogue_of(tools, {})
        finally:
            self._settings, (self._contracts, self._declared), self._accepted = old

    def adopt(self, settings: Settings, contracts: Contracts, loaded: Mapping[str, Definitions | str]) -> None:
        """Live by other settings, with what new upstreams said, or why they said nothing; published by `publish`."""
        self._settings, (self._contracts, self._declared) = settings, contracts
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
        self._taken = {name: self._take_in(self._links[name], found) for name, found in known.items()}

    def publish(self) -> None:
        """Swap the catalogue for one made of what every upstream last said. Calls under way keep the old one."""
        tools = [tool for taken in self._taken.values() for tool in taken.tools]
        withheld = {name: why for taken in self._taken.values() for name, why in taken.withheld.items()}
        catalogue = catalogue_that_holds(tools, withheld)
        for name in catalogue.withheld.keys() - withheld.keys() - self.catalogue.withheld.keys():
            logger.error("%s is withheld: %s", name, catalogue.withheld[name])
        differs = _shown(catalogue) != _shown(self.catalogue)
        self.catalogue = catalogue
        if differs:
            self._on_changed()

    def terms(self, name: str) -> Terms:
        """On what terms the tools of one upstream are taken in."""
        settings, upstream = self._settings, self._settings.upstreams[name]
        prefix = upstream.prefix
        if prefix is None:
            prefix = f"{name}_" if len(settings.upstreams) > 1 else ""
        return Terms(
            upstream=name,
            profile=named_profile(upstream.profile or settings.profile),
            prefix=prefix,
            trust=upstream.trust,
            without_contract=settings.without_contract,
            safe_names=settings.names == "safe",
            has_test=upstream.test is not None,
            historic_names=settings.historic_names if upstream.historic_names is None else upstream.historic_names,
            visibility=settings.visibility,
            chosen=upstream.profile is not None or "profile" in settings.model_fields_set,
        )

    def _take_in(self, link: Link, definitions: Definitions) -> TakenIn:
        terms, unaccepted = self.terms(link.name), self._unaccepted(link, definitions)
        if isinstance(link, OpenApiLink):
            return link.take_in(self._declared, terms, unaccepted)
        described = link.described
        known = known_contracts(str(described.info.get("name")), definitions, terms) if described else {}
        return take_in(definitions, {**known, **self._contracts}, terms, unaccepted)

    def _unaccepted(self, link: Link, definitions: Definitions) -> dict[str, str]:
        """What differs from what a person accepted; an API description is the operator's own choice and not pinned."""
        _, pins = self._accepted
        return {} if isinstance(link, OpenApiLink) or pins is None else changed(pins.get(link.name, {}), definitions)

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
        unpinned = place is not None and pins is None
        if unpinned and not self._unpinned:
            logger.warning("%s is not there: nothing is withheld until `assent pin --write`", place)
        self._unpinned = unpinned
        return place, pins


async def tools_of(link: Link) -> Definitions | str:
    """The tools of an upstream, or why it has none now; raises where a file of our own is at fault."""
    try:
        async with asyncio.timeout(LOAD_WITHIN):
            return await link.load()
    except Exception as error:
        if isinstance(error, FaultsError) and isinstance(link, OpenApiLink) and link.is_local:
            raise
        return words(error)


def contracts_of(settings: Settings) -> Contracts:
    """The contracts of the files, whole and as they were written."""
    paths = contract_paths(settings.contracts) if settings.contracts else []
    return load_contracts(paths), load_declared(paths)


def _shown(catalogue: Catalogue) -> dict[str, Any]:
    """What a caller could notice of a catalogue."""
    return {name: (tool.definition, tool.contract.digest) for name, tool in catalogue.tools.items()}

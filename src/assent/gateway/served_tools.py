"""The tools of every upstream under one configuration: what was listed, and the contracts bound to it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from assent.config.lock_file import load_pins
from assent.config.model import Settings
from assent.contract.binding import Binding, Offered, bind
from assent.contract.files import WrittenContract, contract_paths, load_written
from assent.contract.model import Contract
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue, catalogue_of, catalogue_that_holds, safe_names
from assent.core.contract_names import never_rehearsed, unknown_names
from assent.core.first_sight import SeenServer
from assent.core.material_changes import material_changes
from assent.core.pins import Pin, changed, pin_digest
from assent.core.quotas import budgets_never_spent
from assent.errors import ContractError, Fault, SettingsError
from assent.features import load_feature
from assent.gateway.config_audit import ListedTools
from assent.upstreams.compiled_tools import (
    NO_CONTRACT,
    CompiledTools,
    UpstreamPolicy,
    compile_tools,
    marks_all_destructive,
)
from assent.upstreams.known import known_contracts
from assent.upstreams.link import DocumentLink, UpstreamLink

SLICE = 20
"""How many definitions are compiled before other tasks get a turn."""

Definitions = list[dict[str, Any]]
AcceptedPins = dict[str, dict[str, Pin]] | None
"""The accepted definitions by upstream; None before the first `assent pin --write`."""
Seen = Mapping[str, SeenServer]
"""The definitions as they were first seen, by upstream; they count where there is no lock file."""
Contracts = list[WrittenContract]
UpstreamContracts = tuple[dict[str, WrittenContract], dict[str, str]]
"""The contracts of one upstream's tools by the upstream's names, and the tools with ambiguous contracts."""
Compiled = Mapping[str, tuple[ListedTools, UpstreamContracts, CompiledTools]]
"""What each upstream listed, its contracts, and the tools compiled from both."""


@dataclass(frozen=True, slots=True, eq=False)
class ServedTools:
    """What every upstream listed last, compiled under one configuration."""

    settings: Settings
    contracts: Contracts
    pins: AcceptedPins
    seen: Seen
    listed: Mapping[str, ListedTools]
    tolerated: Mapping[str, Mapping[str, str]]
    """By upstream, the tools that changed since they were first seen and are served all the same, with the reason."""
    compiled: Compiled
    binding: Binding

    def compiled_tools(self) -> list[CompiledTools]:
        return [one for _, _, one in self.compiled.values()]

    def catalogue(self) -> Catalogue:
        """The catalogue of all upstreams; two tools with one name are withheld."""
        return catalogue_that_holds(self._tools(), self._withheld_reasons())

    def check(self) -> Catalogue:
        """The catalogue; raises if tools conflict, or if one has no contract and the settings make that an error."""
        if self.settings.names == "safe":
            safe_names(tool.wire_name for tool in self._tools())
        catalogue = catalogue_of(self._tools(), self._withheld_reasons())
        self.check_contracts()
        return catalogue

    def check_contracts(self) -> None:
        """Raises for every tool without a contract if `without_contract: error` is set."""
        if self.settings.without_contract != "error":
            return
        if names := sorted(name for name, why in self._withheld_reasons().items() if why == NO_CONTRACT):
            remedy = "Write its contract (assent contract init), or set without_contract to infer or withhold"
            raise SettingsError([Fault(NO_CONTRACT, remedy, name) for name in names])

    def unknown_names(self, catalogue: Catalogue) -> list[Fault]:
        """The names in written contracts that their tools do not have."""
        tools = {(tool.upstream, tool.wire_name): tool for tool in catalogue.tools.values()}
        return [
            replace(fault, file=one.file, line=one.line)
            for key, one in self.binding.governs.items()
            if key in tools and not one.pattern
            for fault in unknown_names(tools[key], catalogue) or never_rehearsed(tools[key])
        ]

    def without_contract(self, upstream: str) -> dict[str, str]:
        """The tools of an upstream without a contract, if the settings make that an error."""
        wrong, (_, _, compiled) = self.settings.without_contract == "error", self.compiled[upstream]
        return {tool: why for tool, why in compiled.withheld.items() if wrong and why == NO_CONTRACT}

    def pinned(self, links: Mapping[str, UpstreamLink]) -> dict[str, ListedTools]:
        """What each upstream with pinned definitions last listed, and which of it no person has accepted.

        API descriptions are not pinned.
        """
        return {name: one for name, one in self.listed.items() if not isinstance(links.get(name), DocumentLink)}

    def upstream_of_withheld(self) -> dict[str, str]:
        """The upstream of every withheld tool, by the tool's name on our wire."""
        return {tool: name for name, (_, _, compiled) in self.compiled.items() for tool in compiled.withheld}

    def excluded(self, links: Mapping[str, UpstreamLink]) -> dict[str, set[str]]:
        """The operations of each OpenAPI document that can be no tool, by the name that a tool would have."""
        return {
            name: {self.policy_of(name).canonical(one) for one in link.excluded}
            for name, link in links.items()
            if isinstance(link, DocumentLink) and name in self.settings.upstreams
        }

    def unaccepted(self) -> dict[str, str]:
        """The tools that differ from their pins, by wire name, each with the reason."""
        return {
            self.policy_of(name).canonical(own): why
            for name, (_, found) in self.listed.items()
            for own, why in found.items()
        }

    def policy_of(self, name: str) -> UpstreamPolicy:
        return upstream_policy(self.settings, name)

    def _tools(self) -> list[Any]:
        return [tool for one in self.compiled_tools() for tool in one.tools]

    def _withheld_reasons(self) -> dict[str, str]:
        return {name: why for one in self.compiled_tools() for name, why in one.withheld.items()}


def upstream_policy(settings: Settings, name: str) -> UpstreamPolicy:
    """How the tools of one upstream are compiled."""
    upstream = settings.upstreams[name]
    return UpstreamPolicy(
        upstream=name,
        profile=named_profile(
            upstream.profile or settings.profile,
            publishes_contract=settings.publish_contracts,
            critical_confirmer=settings.defaults.confirmation.critical,
            default_step_up=settings.defaults.step_up.callers != "none",
            completeness=settings.completeness,
        ),
        prefix=settings.prefix_of(name),
        trust=upstream.trust,
        without_contract=settings.without_contract,
        safe_names=settings.names == "safe",
        has_test=upstream.test is not None,
        historic_names=settings.historic_names if upstream.historic_names is None else upstream.historic_names,
        visibility=settings.visibility,
        chosen=upstream.profile is not None or "profile" in settings.model_fields_set,
    )


def compile_served(
    settings: Settings,
    contracts: Contracts,
    pins: AcceptedPins,
    definitions: Mapping[str, Definitions],
    links: Mapping[str, UpstreamLink],
    previous: ServedTools | None = None,
    seen: Seen = MappingProxyType({}),
) -> Generator[None, None, ServedTools]:
    """Binds the contracts to all listed tools and compiles what differs from `previous`, one slice per step."""
    judged = {
        name: _unaccepted(pins, links[name], found)
        if pins is not None
        else _changed_since_seen(seen.get(name), found, previous, name, observing=settings.mode == "observe")
        for name, found in definitions.items()
    }
    listed = {name: (found, judged[name][0]) for name, found in definitions.items()}
    tolerated = {name: others for name, (_, others) in judged.items() if others}
    offers = {name: _offered_tools(settings, links[name], found) for name, (found, _) in listed.items()}
    binding = bind(contracts, offers, settings.upstreams.keys() - listed.keys())
    reusable = previous.compiled if previous is not None and previous.settings is settings else {}
    compiled: dict[str, tuple[ListedTools, UpstreamContracts, CompiledTools]] = {}
    for name, one in listed.items():
        mine, old = _contracts_of_upstream(binding, name), reusable.get(name)
        if old is not None and old[:2] == (one, mine):
            compiled[name] = old
            continue
        slices = list[CompiledTools]()
        for part in _compile_upstream(upstream_policy(settings, name), links[name], one, mine):
            slices.append(part)
            yield
        compiled[name] = one, mine, _merge_slices(slices)
    return ServedTools(settings, contracts, pins, seen, listed, tolerated, compiled, binding)


def finish(steps: Generator[None, None, ServedTools]) -> ServedTools:
    """Runs the compile steps without a break."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: ServedTools = done.value
            return result


def read_pins(settings: Settings) -> AcceptedPins:
    """The pins of the lock file; None where there is none."""
    return None if settings.lock_file is None else load_pins(settings.lock_file)


def contracts_of(settings: Settings) -> Contracts:
    """Loads the contract files; raises if no contract spends from a configured budget."""
    found = load_written(contract_paths(settings.contracts)) if settings.contracts else []

    def listed_names(name: str) -> list[str]:
        return [one for up in settings.upstreams for one in (f"{up}_{name}", settings.wire_name(up, name))]

    if faults := budgets_never_spent(settings.budgets, (one.contract for one in found), listed_names):
        raise SettingsError(faults)
    return found


def _offered_tools(settings: Settings, link: UpstreamLink, definitions: Definitions) -> Offered:
    policy, names = upstream_policy(settings, link.name), [one.get("name") for one in definitions]
    without = dict(link.excluded) if isinstance(link, DocumentLink) else {}
    return Offered({name: policy.canonical(name) for name in names if isinstance(name, str)}, without)


def _compile_upstream(
    policy: UpstreamPolicy, link: UpstreamLink, listed: ListedTools, mine: UpstreamContracts
) -> Iterator[CompiledTools]:
    """Compiles the tools of one upstream, one slice at a time."""
    (definitions, unaccepted), (written, ambiguous) = listed, mine
    withheld = {**ambiguous, **unaccepted}
    if isinstance(link, DocumentLink):
        overlays = {policy.canonical(own): one.fields for own, one in written.items()}
        yield link.take_in(overlays, policy, withheld)
        return
    described = link.described
    shipped = known_contracts(str(described.info.get("name")), definitions, policy) if described else {}
    found = dict[str, Contract]()
    for own, one in written.items():
        name = policy.canonical(own)
        try:
            found[name] = one.contract if name == one.name else read_contract(name, one.fields)
        except ContractError as error:
            withheld[own] = f"its contract cannot be used: {error.faults[0]}"
    blanket = marks_all_destructive(definitions)
    for start in range(0, len(definitions), SLICE):
        part = definitions[start : start + SLICE]
        yield compile_tools(part, found, policy, withheld, blanket=blanket, shipped=shipped)


Objections = tuple[dict[str, str], dict[str, str]]
"""The tools to withhold, and those that changed and are served all the same, each with the reason."""


def _unaccepted(pins: dict[str, dict[str, Pin]], link: UpstreamLink, definitions: Definitions) -> Objections:
    """The tools that differ from their pins. OpenAPI documents are chosen by the operator and not pinned."""
    if isinstance(link, DocumentLink):
        return {}, {}
    attacks_in = load_feature("lint").attacks_in
    found = changed(pins.get(link.name, {}), definitions, attacks_in)
    texts = {str(one.get("name")): attacks_in(one) for one in definitions if str(one.get("name")) in found}
    return {name: "; ".join([why, *texts.get(name, ())[:1]]) for name, why in found.items()}, {}


def _changed_since_seen(
    seen: SeenServer | None, definitions: Definitions, previous: ServedTools | None, name: str, *, observing: bool
) -> Objections:
    """The tools that changed since they were first seen. Material changes are withheld, unless calls are observed."""
    if seen is None:
        return {}, {}
    if previous is not None and previous.seen.get(name) is seen and name in previous.listed:
        old = previous.listed[name]
        if old[0] == definitions:  # Judged before; inference and the search for orders take time.
            return old[1], dict(previous.tolerated.get(name, {}))
    withheld, tolerated = dict[str, str](), dict[str, str]()
    for one in definitions:
        tool = str(one.get("name"))
        pin = seen.tools[tool].pin if tool in seen.tools else None
        if pin is None or pin.digest == pin_digest(one):
            continue
        material = "; ".join(material_changes(pin.definition, one, load_feature("lint").attacks_in))
        if material and not observing:
            withheld[tool] = (
                f"its definition changed since it was first seen: {material}. Accept it: assent pin --accept {tool}"
            )
        else:
            tolerated[tool] = f"enforce would withhold it: {material}" if material else "its wording changed"
    return withheld, tolerated


def _merge_slices(slices: Iterable[CompiledTools]) -> CompiledTools:
    found = list(slices)
    tools = tuple(tool for one in found for tool in one.tools)
    withheld = {name: why for one in found for name, why in one.withheld.items()}
    return CompiledTools(tools, withheld, {name: places for one in found for name, places in one.hidden.items()})


def _contracts_of_upstream(binding: Binding, upstream: str) -> UpstreamContracts:
    """The contracts of one upstream in a binding."""
    return (
        {own: one for (home, own), one in binding.governs.items() if home == upstream},
        {own: why for (home, own), why in binding.ambiguous.items() if home == upstream},
    )

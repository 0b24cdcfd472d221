"""Profiles: named tables from tier to hints, with further requirements of a source system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from assent.contract.tiers import Risk, Tier
from assent.errors import ContractError, Fault, SettingsError

if TYPE_CHECKING:
    from assent.contract.model import Contract

Completeness = Literal["required", "noted"]
HistoricNames = bool | Literal["both"]
"""Whether hints are sent under the profile's historic names, under the standard ones, or under both."""
HINTS = ("read_only", "destructive", "idempotent", "open_world")
WIRE_NAMES = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
_CELL = re.compile(r"(T|F|-)|d\((T|F|-)\)")
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VALUES = {"T": True, "F": False, "-": None}


@dataclass(frozen=True, slots=True)
class Cell:
    """One hint of one row: a value, or the contract's declaration with a default."""

    value: bool | None
    declared: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """A named table from tier to hints, with the names and `_meta` keys that it writes. It decides what is sent,
    not what is enforced.
    """

    name: str
    summary: str
    rows: Mapping[str, tuple[Cell, Cell, Cell, Cell]]
    title: str = "both"
    order: tuple[str, ...] = HINTS
    historic: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    visibility: str = "scoped"
    failures: bool = False
    spend_key: str = "auto"
    """The default of `idempotency.key` for a tool that spends."""
    mechanical: bool = False
    """Whether hints follow from the tier alone; then a contract must not override them."""
    publishes_contract: bool = True
    """Whether `_meta` has the public part of the contract."""
    critical_confirmer: str = "user"
    """Who confirms a critical call whose contract does not say it."""
    default_step_up: bool = True
    """Whether a critical call whose contract has no step-up may need one all the same."""
    completeness: Completeness | None = None
    """Whether a written contract that leaves fields open is refused (required) or only reported (noted)."""
    verbs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Verbs by tier: a tool without a contract whose name has one is treated at least as strictly as that tier."""
    always_confirms: tuple[str, ...] = ()
    """The risks at which `confirmation: {by: none}` is refused, even with a reason."""
    repeats_destructive: bool = False
    """Whether a client repeats a failed call that is destructive and idempotent."""
    plain_annotations: bool = False
    """Whether annotations have no keys besides the title and the hints."""
    doubtful_rows: Mapping[str, str] = field(default_factory=dict)
    """The row of a tier for tools whose contract the operator did not write, or whose risk is high or critical."""

    def row_name(self, contract: Contract, *, doubtful: bool = False) -> str:
        """The row of the table for a contract; `doubtful`: neither operator nor author wrote it."""
        overwriting = contract.side_effect is Tier.WRITE and contract.overwrites
        name = "overwrites" if overwriting else contract.side_effect.value
        return self.doubtful_rows.get(name, name) if doubtful or contract.risk >= Risk.HIGH else name

    def row(self, contract: Contract, *, doubtful: bool = False) -> tuple[Cell, Cell, Cell, Cell]:
        return self.rows[self.row_name(contract, doubtful=doubtful)]

    def adapt(self, contract: Contract) -> Contract:
        """The contract with this profile's default for the key, if the contract itself sets none.

        Raises ContractError for hints of its own under a profile that has no exceptions.
        """
        if self.mechanical and (tuned := [name for name in HINTS if getattr(contract.hints, name) is not None]):
            message = f"under the profile {self.name} every hint follows from the tier"
            raise ContractError(
                Fault(message, "Remove it, or choose another tier", f"{contract.name}.hints.{tuned[0]}")
            )
        spends = contract.side_effect is Tier.EXTERNAL_SPEND and "key" not in contract.idempotency.model_fields_set
        if not spends or contract.idempotency.key == self.spend_key:
            return contract
        keyed = contract.idempotency.model_copy(update={"key": self.spend_key})
        return contract.changed(idempotency=keyed)

    def states_open_world(self, contract: Contract) -> bool:
        """Whether the table itself says that tools of this tier reach external systems."""
        cell = self.row(contract)[HINTS.index("open_world")]
        return cell.value is True and not cell.declared and contract.open_world is None

    def check(self, contract: Contract) -> None:
        """Raise ContractError for a contract that this profile does not accept."""
        if contract.risk.value in self.always_confirms and contract.confirmation.by == "none":
            message = f"under the profile {self.name}, a tool of {contract.risk} risk always needs a confirmation"
            remedy = "Remove `confirmation`, lower the risk, or use another profile"
            raise ContractError(Fault(message, remedy, f"{contract.name}.confirmation.by"))

    def tier_by_verb(self, name: str) -> Tier | None:
        """The tier of the first word in a tool's name that is in the table of verbs."""
        tiers = {verb: Tier(tier) for tier, verbs in self.verbs.items() for verb in verbs}
        words = (word.lower() for word in _NAME_WORD.findall(name))
        return next((tiers[word] for word in words if word in tiers), None) if tiers else None

    def hints(self, contract: Contract, *, doubtful: bool = False) -> dict[str, bool | None]:
        """The four hints of a contract; None means not sent."""
        row = self.row(contract, doubtful=doubtful)
        hints = {name: _hint(cell, name, contract) for name, cell in zip(HINTS, row, strict=True)}
        if doubtful and hints["idempotent"] and self._assumes_repeatable(contract, row):
            hints["idempotent"] = False
        return hints

    @staticmethod
    def _assumes_repeatable(contract: Contract, row: tuple[Cell, Cell, Cell, Cell]) -> bool:
        """Whether only this table, and nobody who knows the tool, says that it can be repeated."""
        stated = contract.hints.idempotent is not None or contract.idempotency.recovery == "natural"
        return row[HINTS.index("idempotent")].declared and not stated


def _hint(cell: Cell, name: str, contract: Contract) -> bool | None:
    override: bool | None = getattr(contract.hints, name)
    if override is not None:
        return override
    if name == "idempotent" and cell.value and _denies_repeating(contract):
        return False
    if not cell.declared:
        return cell.value
    declared = _declared_hint(name, contract)
    return cell.value if declared is None else declared


def _denies_repeating(contract: Contract) -> bool:
    """Whether the contract itself says `recovery: none`."""
    idempotency = contract.idempotency
    return idempotency.recovery == "none" and "recovery" in idempotency.model_fields_set


def _declared_hint(name: str, contract: Contract) -> bool | None:
    if name == "open_world":
        return contract.open_world
    if name == "idempotent" and contract.idempotency.recovery == "natural":
        return True
    return None


GENERAL = ("spec", "openai", "anthropic")
"""The profiles for everyone. The others are those of the systems that they are named after."""


def profile_names() -> list[str]:
    """The names of all profiles."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


@cache
def profile(name: str, *, completeness: Completeness | None = None, **settings: Any) -> Profile:
    """The profile of that name with fields that the configuration sets; raises SettingsError with the known names."""
    from assent.contract.yaml_document import packaged_yaml

    if name not in profile_names():
        raise SettingsError(
            Fault(f"there is no profile {name!r}", "Use one of " + ", ".join(profile_names()), "profile")
        )
    data = packaged_yaml(__name__, f"{name}.yaml")
    like = profile(data.pop("like")) if "like" in data else None
    rows = like.rows if like else {tier: _row(text) for tier, text in data.pop("hints").items()}
    for listed in ("order", "omit", "always_confirms"):
        if listed in data:
            data[listed] = tuple(data[listed])
    if completeness is not None:
        data["completeness"] = completeness
    return Profile(name=name, rows=rows, **settings, **data)


def _row(text: str) -> tuple[Cell, Cell, Cell, Cell]:
    cells = []
    for word in text.split():
        match = _CELL.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is not a cell of a profile")
        cells.append(Cell(_VALUES[match[1] or match[2]], declared=match[2] is not None))
    first, second, third, fourth = cells
    return first, second, third, fourth

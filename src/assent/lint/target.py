"""Lint targets: the tools, their definitions and contracts, and the profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assent.contract.model import Contract
from assent.contract.profiles import Profile, profile
from assent.contract.tiers import Tier
from assent.contract.wire import CONTRACT_KEY, Claims, read_claims
from assent.core.tool import compile_tool
from assent.infer import Inference, classify
from assent.lint.fields import Field, fields_of
from assent.lint.model_visible_text import texts_in

CONFIDENT = 0.8
_TIERS = frozenset(Tier)


@dataclass(frozen=True)
class LintedTool:
    """One tool: its definition as served, its contract if there is one, and their positions."""

    definition: Mapping[str, Any]
    contract: Contract | None = None
    method: str = ""
    """The HTTP method of the tool, if known."""
    file: str = ""
    line: int = 0
    partial: bool = False
    """Whether only the contract is known, not the server's definition."""
    contradictions: tuple[str, ...] = ()
    """Where the author's annotations contradict the author's contract."""
    withheld: str = ""
    """Why the server withholds the tool."""
    upstream: str = ""
    """The upstream of its contract."""

    @property
    def name(self) -> str:
        return self.text("name")

    @property
    def description(self) -> str:
        return self.text("description")

    @property
    def annotations(self) -> Mapping[str, Any]:
        return self.mapping("annotations")

    @property
    def title(self) -> str:
        return self.text("title")

    def text(self, key: str) -> str:
        value = self.definition.get(key)
        return value if isinstance(value, str) else ""

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.definition.get(key)
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def claims(self) -> Claims:
        return read_claims(self.definition)

    @cached_property
    def inference(self) -> Inference:
        return classify(self.definition)

    @property
    def confident(self) -> bool:
        return self.inference.confidence >= CONFIDENT

    @property
    def projection(self) -> Mapping[str, Any]:
        """The contract's projection in `_meta` of a server under contract."""
        said = self.mapping("_meta").get(CONTRACT_KEY)
        return said if isinstance(said, Mapping) else {}

    @cached_property
    def tier(self) -> Tier:
        """The tier of its contract, or the inferred one."""
        if self.contract is not None:
            return self.contract.side_effect
        declared = self.projection.get("tier")
        return Tier(declared if isinstance(declared, str) and declared in _TIERS else self.inference.tier)

    @property
    def because(self) -> str:
        """The main reason of the inference."""
        return self.inference.reasons[0] if self.inference.reasons else "its definition says so"

    @cached_property
    def inputs(self) -> tuple[Field, ...]:
        """Every field of the input, including nested ones."""
        return tuple(fields_of(self.definition.get("inputSchema")))

    @cached_property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Every text that a model or a person reads, by its position."""
        return tuple(texts_in(self.definition))

    @cached_property
    def outputs(self) -> tuple[Field, ...]:
        return tuple(fields_of(self.definition.get("outputSchema")))


@dataclass(frozen=True)
class Target:
    """The tools of one server, contract file, document or configuration."""

    name: str
    subjects: tuple[LintedTool, ...] = ()
    profile: Profile = field(default_factory=lambda: profile("spec"))
    configuration: str = ""
    """The text of a configuration file."""

    @cached_property
    def names(self) -> Counter[str]:
        return Counter(subject.name for subject in self.subjects)


def subject_of(
    definition: Mapping[str, Any],
    contract: Contract | None = None,
    *,
    said_by: Profile,
    method: str = "",
    file: str = "",
    line: int = 0,
    upstream: str = "",
) -> LintedTool:
    """Return the tool as served: unchanged, or with the fields that its contract derives under a profile."""
    partial = contract is not None and not definition
    if contract is not None:
        definition = compile_tool(contract, profile=said_by, definition=definition).definition
    return LintedTool(definition, contract, method, file, line, partial, upstream=upstream)

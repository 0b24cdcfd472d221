"""Lint targets: the tools, their definitions and contracts, and the profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from assent.checks.lint.fields import Field, fields_of
from assent.contract.infer import Inference, classify
from assent.contract.model import Contract
from assent.contract.pointers import escaped
from assent.contract.profiles import Profile, profile
from assent.contract.tiers import Tier
from assent.contract.tool_listing import CONTRACT_KEY, Claims, read_claims
from assent.core.tool import Tool, compile_tool

_MOST = 20_000
_DEEPEST = 40
# Keywords of JSON Schema, which the author did not write.
_GRAMMAR = frozenset(("$ref", "$schema", "$id", "$anchor", "type", "format", "pattern", "required"))
_NAMING = frozenset(("properties", "$defs", "definitions", "patternProperties"))


def texts_in(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every text for people or models with its JSON pointer; names of tools and fields are left out."""
    for key in ("title", "description"):
        if isinstance(definition.get(key), str):
            yield f"/{key}", definition[key]
    annotations = definition.get("annotations")
    title = annotations.get("title") if isinstance(annotations, Mapping) else None
    if isinstance(title, str):
        yield "/annotations/title", title
    for key in ("inputSchema", "outputSchema"):
        yield from islice(_within(definition.get(key), f"/{key}", 0), _MOST)


def _within(value: Any, at: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _within(inner, f"{at}/{index}", depth + 1)
    elif isinstance(value, Mapping):
        named = at.rpartition("/")[2] in _NAMING
        for key, inner in value.items():
            if named or key not in _GRAMMAR:
                yield from _within(inner, f"{at}/{escaped(str(key))}", depth + 1)


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
    compiled: Tool | None = None
    """Its contract and definition as a server would serve them, if both are known."""

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
    compiled = compile_tool(contract, profile=said_by, definition=definition) if contract is not None else None
    shown = definition if compiled is None else compiled.definition
    known = None if partial else compiled
    return LintedTool(shown, contract, method, file, line, partial, upstream=upstream, compiled=known)

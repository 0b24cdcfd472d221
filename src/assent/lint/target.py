"""What is under the linter's eyes: which tools, what is said of each, and under which profile?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from assent.contract.model import Contract
from assent.contract.profiles import Profile, profile
from assent.contract.reader import read_contract
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
    """One tool: its definition as it goes out, its contract where there is one, and where both stand."""

    definition: Mapping[str, Any]
    contract: Contract | None = None
    method: str = ""
    """The HTTP method behind it, where it is known."""
    file: str = ""
    line: int = 0
    partial: bool = False
    """Whether only the contract is known, not what the server says beside it."""
    contradictions: tuple[str, ...] = ()
    """Where the annotations that its author wrote say something else than the contract of the same author."""
    withheld: str = ""
    """Why the server has the tool and does not serve it."""
    upstream: str = ""
    """The upstream that its contract is bound to."""

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
        """What a server under contract says of it in `_meta`."""
        said = self.mapping("_meta").get(CONTRACT_KEY)
        return said if isinstance(said, Mapping) else {}

    @cached_property
    def tier(self) -> Tier:
        """The tier its contract declares, or the one inferred."""
        if self.contract is not None:
            return self.contract.side_effect
        declared = self.projection.get("tier")
        return Tier(declared if isinstance(declared, str) and declared in _TIERS else self.inference.tier)

    @property
    def because(self) -> str:
        """The decisive reason of the inference."""
        return self.inference.reasons[0] if self.inference.reasons else "its definition says so"

    @cached_property
    def inputs(self) -> tuple[Field, ...]:
        """Every field of the input, nested ones too."""
        return tuple(fields_of(self.definition.get("inputSchema")))

    @cached_property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Every text that a model or a person reads, by its place."""
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
    """The text of a configuration file, as it was written."""

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
    """A definition as it goes out: as it is, or as its contract derives it under a profile."""
    partial = contract is not None and not definition
    if contract is not None:
        definition = compile_tool(contract, profile=said_by, definition=definition).definition
    return LintedTool(definition, contract, method, file, line, partial, upstream=upstream)


def target_of(example: Mapping[str, Any], profile_name: str = "spec") -> Target:
    """The target that an example of a rule describes."""
    said_by = profile(profile_name)
    if "name" in example:
        example = {"tools": [example]}
    contracts = {name: read_contract(name, fields) for name, fields in example.get("contracts", {}).items()}
    definitions = {tool["name"]: tool for tool in example.get("tools", ())}
    subjects = [
        LintedTool(tool, method=tool.get("method", ""))
        for tool in example.get("tools", ())
        if tool["name"] not in contracts
    ]
    subjects += [subject_of(definitions.get(name, {}), one, said_by=said_by) for name, one in contracts.items()]
    beside = example.get("beside", {})
    subjects = [replace(one, **beside.get(one.name, {})) for one in subjects]
    return Target("example", tuple(subjects), said_by, example.get("configuration", ""))

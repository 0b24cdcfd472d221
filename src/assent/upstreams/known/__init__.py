"""Contracts that Assent ships for widely used servers.

Any server can claim any name. If inference is confident that a tool does serious harm that the shipped contract
does not declare, the inference is used instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from assent.contract.infer import classify
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.contract.tiers import Risk, Tier
from assent.contract.yaml_document import YamlDocument
from assent.upstreams.compiled_tools import CONFIDENT, UpstreamPolicy


@cache
def known_servers() -> dict[str, dict[str, dict[str, Any]]]:
    """The fields of every shipped contract, by the server's name and the tool's."""
    return {name: fields for text in _texts().values() for name, fields in _parse_contracts(text).items()}


@cache
def _texts() -> dict[str, str]:
    """Every shipped file, by its name."""
    files = resources.files(__name__).iterdir()
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.name.endswith(".yaml")}


@cache
def _parse_contracts(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    shipped = YamlDocument(text, "a shipped contract").value
    return dict.fromkeys(shipped["servers"], shipped["tools"])


def fields_of(server: str) -> dict[str, dict[str, Any]]:
    """The shipped fields of one server. Only a file that names it is read: most servers are in none."""
    found = (_parse_contracts(text).get(server) for text in _texts().values() if server in text)
    return next((fields for fields in found if fields is not None), {})


def known_contracts(
    server: str, definitions: Iterable[Mapping[str, Any]], policy: UpstreamPolicy
) -> dict[str, Contract]:
    """The shipped contracts for the tools of this server, by canonical name; none if only written contracts count."""
    if policy.without_contract != "infer":
        return {}
    found = known_fields(server, definitions).items()
    return {policy.canonical(name): read_contract(policy.canonical(name), fields) for name, fields in found}


def known_fields(server: str, definitions: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The fields of the shipped contracts for the tools of this server, by the server's own names."""
    fields = fields_of(server)
    return {
        name: fields[name]
        for definition in definitions
        if (name := str(definition.get("name"))) in fields
        and not _is_more_severe(definition, Tier(fields[name]["side_effect"]))
    }


def _is_more_severe(definition: Mapping[str, Any], tier: Tier) -> bool:
    inference = classify(definition)
    inferred = Tier(inference.tier)
    serious = inferred >= Tier.SHARE_EXPORT or Risk(inference.risk) >= Risk.CRITICAL
    return serious and inference.confidence >= CONFIDENT and inferred > tier

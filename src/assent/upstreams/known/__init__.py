"""Which contracts do we bring for servers that many people use?

A server says its name itself, and anybody can say any name: where inference is sure that a tool does serious harm that
the contract we bring does not speak of, inference stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml

from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.contract.tiers import Risk, Tier
from assent.infer import classify
from assent.upstreams.compiled_tools import CONFIDENT, UpstreamPolicy

_SERIOUS = (Tier.SHARE_EXPORT, Tier.EXTERNAL_SPEND, Tier.DESTRUCTIVE)
_WEIGHT = {tier: weight for weight, tier in enumerate(Tier)}


@cache
def known_servers() -> dict[str, dict[str, dict[str, Any]]]:
    """The fields of every contract we bring, by the server's name and the tool's."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for file in resources.files(__name__).iterdir():
        if file.name.endswith(".yaml"):
            said = yaml.safe_load(file.read_text(encoding="utf-8"))
            found.update(dict.fromkeys(said["servers"], said["tools"]))
    return found


def known_contracts(
    server: str, definitions: Iterable[Mapping[str, Any]], terms: UpstreamPolicy
) -> dict[str, Contract]:
    """The contracts we bring for the tools of this server, by canonical name; none where only written ones count."""
    if terms.without_contract != "infer":
        return {}
    found = known_fields(server, definitions).items()
    return {terms.canonical(name): read_contract(terms.canonical(name), fields) for name, fields in found}


def known_fields(server: str, definitions: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """What the contracts we bring say of the tools of this server, by the server's own names."""
    fields = known_servers().get(server, {})
    return {
        name: fields[name]
        for definition in definitions
        if (name := str(definition.get("name"))) in fields
        and not _is_graver(definition, Tier(fields[name]["side_effect"]))
    }


def _is_graver(definition: Mapping[str, Any], tier: Tier) -> bool:
    inference = classify(definition)
    inferred = Tier(inference.tier)
    serious = inferred in _SERIOUS or Risk(inference.risk) in (Risk.CRITICAL, Risk.FORBIDDEN)
    return serious and inference.confidence >= CONFIDENT and _WEIGHT[inferred] > _WEIGHT[tier]

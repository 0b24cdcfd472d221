"""The policies of a configuration together with the tools that they are about, for commands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import click

from assent.cli.shared.store_access import contract_catalogue
from assent.config.load import UNASKED, find_settings, load_settings
from assent.config.model import Settings
from assent.config.rules import load_engine, policy_faults
from assent.core.call import Call, Request
from assent.core.catalogue import Catalogue
from assent.core.outcome import Refusal
from assent.core.policy_verdict import PolicyVerdict
from assent.core.question import visible
from assent.errors import Fault, SettingsError
from assent.files import read_text
from assent.gateway.catalogue_preview import preview_catalogue
from assent.pipeline.record import CallTrace
from assent.pipeline.validate import validate
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import policy_paths

_SIDE = "Correct the path: OLD and NEW are configurations (.yaml) or policies (a file, a folder, a pattern)"


class LoadedPolicies(NamedTuple):
    """Policies that fit the tools of a configuration."""

    settings: Settings
    engine: PolicyEngine
    catalogue: Catalogue
    troubles: Mapping[str, str]
    """The upstreams that did not answer, so that their tools are known from contracts only."""


def load_policies_of(config: Path | None) -> LoadedPolicies:
    """The policies of a configuration; raises if it has none, or if they do not fit its tools."""
    settings = find_settings(config, unused=UNASKED)
    if not settings.policies:
        remedy = "Write `policies: [policies/*.cedar]` into the configuration"
        raise SettingsError(Fault("the configuration names no policies", remedy, "policies"))
    return _load_checked(settings, settings.policies)


def load_side(target: str, config: Path | None) -> LoadedPolicies:
    """One side of a comparison: a configuration, or policy files beside the tools of a configuration."""
    if target.endswith((".yaml", ".yml", ".json")):
        read_text(Path(target), _SIDE)
        settings = load_settings(Path(target), unused=UNASKED)
        return _load_checked(settings, settings.policies)
    settings = find_settings(config, unused=UNASKED)
    policy_paths((target,), _SIDE)
    return _load_checked(settings, (target,))


def _load_checked(settings: Settings, patterns: tuple[str, ...]) -> LoadedPolicies:
    engine = load_engine(patterns)
    catalogue, troubles = tools_of(settings)
    if faults := policy_faults(engine, catalogue, settings.upstreams, complete=not troubles):
        raise SettingsError(faults)
    return LoadedPolicies(settings, engine, catalogue, troubles)


def tools_of(settings: Settings) -> tuple[Catalogue, Mapping[str, str]]:
    """The tools that the upstreams list; those of upstreams that do not answer come from contracts."""
    if not settings.upstreams:
        return contract_catalogue(settings), {}
    loader = asyncio.run(preview_catalogue(settings))
    for name, trouble in loader.troubles.items():
        click.echo(f"upstream {name}: {visible(trouble)}; its tools are taken from contracts", err=True)
    if not loader.troubles:
        return loader.catalogue, {}
    written = contract_catalogue(settings)
    tools = {**written.tools, **loader.catalogue.tools}
    return Catalogue(tools, loader.catalogue.withheld), dict(loader.troubles)


def call_of(request: Request, loaded: LoadedPolicies) -> Call:
    """The call that a request makes; raises SettingsError if the tool or the arguments do not exist."""
    tool = loaded.catalogue.find(request.tool)
    if tool is None:
        raise SettingsError(
            Fault(f"there is no tool {visible(request.tool)}", "`assent policy check` lists them", "tool")
        )
    try:
        return validate(request, request.principal, tool, CallTrace())
    except Refusal as refusal:
        raise SettingsError(Fault(refusal.problem()["detail"], "Correct the arguments", "arguments")) from None


def judge(call: Call, loaded: LoadedPolicies, now: float) -> PolicyVerdict:
    """What all policies decide about a call."""
    return loaded.engine.judge_tool(call.principal, call.tool).combine(loaded.engine.judge_call(call, now))

"""The policies that a configuration names, checked against its tools. Cedar is imported only if there are any."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.contract.digest import digest_of
from assent.core.catalogue import Catalogue
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.policy.engine import PolicyEngine


def policies_of(settings: Settings) -> PolicyEngine | None:
    """The configured policies, or None; raises SettingsError with the file and line of every fault."""
    return load_engine(settings.policies) if settings.policies else None


def load_engine(patterns: Iterable[str | Path]) -> PolicyEngine:
    """The policies of files, folders and patterns."""
    from assent.policy.engine import PolicyEngine
    from assent.policy.source import load_policies, policy_paths

    engine = PolicyEngine(load_policies(policy_paths(patterns)))
    if engine.faults:
        raise SettingsError(engine.faults)
    return engine


def policy_files(settings: Settings) -> list[Path]:
    """The files of the configured policies; none for a pattern that matches nothing any more."""
    from assent.policy.source import policy_paths

    found: list[Path] = []
    for pattern in settings.policies:
        try:
            found += policy_paths([pattern])
        except SettingsError:
            continue  # The last matching file was removed; the shorter list shows the change.
    return found


def policy_digest(settings: Settings, policies: PolicyEngine | None) -> str:
    """The digest of everything that an approver relies on besides the contract."""
    return settings.policy_digest() if policies is None else digest_of([settings.policy_digest(), policies.digest])


def port_settings(settings: Settings, policies: PolicyEngine | None) -> dict[str, Any]:
    """What a configuration says about the fields of `Ports`, for the gateway and for commands alike."""
    return {
        "guards": settings.rules(),
        "mode": settings.mode,
        "policies": policies,
        "policy_digest": policy_digest(settings, policies),
        "limits": settings.limits,
        "budgets": settings.budgets,
        "most_pending": settings.approvals.most_pending,
        "cooldown": settings.approvals.cooldown,
        "retention": settings.defaults.idempotency.retention,
        "approver_step_up": settings.approver_step_up(),
        "default_step_up": settings.default_step_up(),
    }


def policy_faults(
    policies: PolicyEngine | None, catalogue: Catalogue, upstreams: Collection[str], *, complete: bool
) -> list[Fault]:
    """Why policies do not fit the tools; names are checked if every upstream has listed its tools."""
    if policies is None:
        return []
    from assent.policy.checks import name_faults

    faults = policies.faults_of(catalogue.tools.values())
    if complete:
        faults += name_faults(policies.policies, {*catalogue.tools, *catalogue.withheld}, upstreams)
    return list(dict.fromkeys(faults))

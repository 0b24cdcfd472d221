"""The rules of a configuration: its policies, checked against its tools, and flow control."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.contract.digest import digest_of
from assent.core.catalogue import Catalogue
from assent.errors import Fault, SettingsError
from assent.features import load_feature
from assent.ports import Rules

if TYPE_CHECKING:
    from assent.config.model import Settings


def flow_control(settings: Settings, previous: Any = None) -> Any:
    """Flow control, or None if it is off. What the previous one remembers is kept."""
    chosen = settings.flow
    if chosen.mode == "off":
        return None
    return load_feature("flow").FlowControl(
        chosen.mode, chosen.by, chosen.window, emits_labels=chosen.emit_labels, previous=previous
    )


PolicyEngine = Any
"""The policies of `assent.rules.policy`, a feature that the core does not import."""


def policies_of(settings: Settings) -> PolicyEngine | None:
    """The configured policies, or None; raises SettingsError with the file and line of every fault."""
    return load_engine(settings.policies) if settings.policies else None


def load_engine(patterns: Iterable[str | Path]) -> PolicyEngine:
    """The policies of files, folders and patterns."""
    source = load_feature("policy_source")
    engine = load_feature("policy").PolicyEngine(source.load_policies(source.policy_paths(patterns)))
    if engine.faults:
        raise SettingsError(engine.faults)
    return engine


def policy_files(settings: Settings) -> list[Path]:
    """The files of the configured policies; none for a pattern that matches nothing any more."""
    policy_paths, found = load_feature("policy_source").policy_paths, list[Path]()
    for pattern in settings.policies:
        try:
            found += policy_paths([pattern])
        except SettingsError:
            continue  # The last matching file was removed; the shorter list shows the change.
    return found


def policy_digest(settings: Settings, policies: PolicyEngine | None) -> str:
    """The digest of everything that an approver relies on besides the contract."""
    return settings.policy_digest() if policies is None else digest_of([settings.policy_digest(), policies.digest])


def rules_of(settings: Settings, policies: PolicyEngine | None, flow: Any = None) -> Rules:
    """The rules of a configuration, for the gateway and for commands alike."""
    return Rules(
        mode=settings.mode,
        guards=settings.rules(),
        policies=policies,
        policy_digest=policy_digest(settings, policies),
        flow=flow,
        limits=settings.limits + (settings.auth.anonymous.limits if settings.auth.anonymous else ()),
        budgets=settings.budgets,
        most_pending=settings.approvals.most_pending,
        cooldown=settings.approvals.cooldown,
        critical_confirmer=settings.defaults.confirmation.critical,
        test_confirmation=settings.defaults.confirmation.test,
        retention=settings.defaults.idempotency.retention,
        approver_step_up=settings.approver_step_up(),
        default_step_up=settings.default_step_up(),
        connections=frozenset(name for name, one in settings.upstreams.items() if one.auth),
    )


def policy_faults(
    policies: PolicyEngine | None, catalogue: Catalogue, upstreams: Collection[str], *, complete: bool
) -> list[Fault]:
    """Why policies do not fit the tools; names are checked if every upstream has listed its tools."""
    if policies is None:
        return []
    faults = policies.faults_of(catalogue.tools.values())
    if complete:
        faults += load_feature("policy_checks").name_faults(
            policies.policies, {*catalogue.tools, *catalogue.withheld}, upstreams
        )
    return list(dict.fromkeys(faults))

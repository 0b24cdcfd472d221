"""The one loader of features: the core names a feature, and nothing of it is imported before.

A feature is everything beside governing a call: Cedar policies, flow control, OpenAPI, OAuth, hooks, the rooms for
people. The core never imports one directly; import-linter checks this.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from assent.errors import Fault, SettingsError

_FEATURES = {
    "policy": "assent.rules.policy.engine",
    "policy_source": "assent.rules.policy.source",
    "policy_checks": "assent.rules.policy.checks",
    "flow": "assent.rules.flow.control",
    "lint": "assent.checks.lint.attacks",
    "lint_target": "assent.checks.lint.target",
    "hosts": "assent.checks.hosts.matrix",
    "api": "assent.people.api.app",
    "hooks": "assent.hooks.process",
    "notify": "assent.people.notify.notifier",
    "authorization_server": "assent.people.authorization_server.tokens",
    "pending_step_up": "assent.people.authorization_server.pending_step_up",
}
"""The module of each feature that the core uses, or another feature."""

INSTALL = "Install it: pipx install 'assent[standard]'"


def load_feature(name: str) -> Any:
    """The module of a feature. Raises SettingsError with the line that installs what it needs."""
    try:
        return import_module(_FEATURES[name])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "assent":
            raise
        text = f"{name.replace('_', ' ')} needs the package {error.name}, which is not installed"
        raise SettingsError(Fault(text, INSTALL)) from None

"""The one loader of features: the core names a feature, and nothing of it is imported before.

A feature is everything beside governing a call: Cedar policies, flow control, OpenAPI, OAuth, hooks, the rooms for
people. The core never imports one directly; import-linter checks this. Every message about a package that is not
installed comes from here, with the line that installs it. See ADR 0166.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from assent.errors import Fault, SettingsError

_FEATURES = {
    "policy": "assent.rules.policy.engine",
    "policy_source": "assent.rules.policy.source",
    "policy_checks": "assent.rules.policy.checks",
    "flow": "assent.rules.flow.control",
    "openapi": "assent.upstreams.openapi.link",
    "oauth": "assent.upstreams.oauth.tokens",
    "oauth_sign_in": "assent.upstreams.oauth.grants",
    "sandbox": "assent.upstreams.sandbox.link",
    "sandbox_grants": "assent.upstreams.sandbox.grants",
    "sandbox_trace": "assent.upstreams.sandbox.trace",
    "lint": "assent.checks.lint.attacks",
    "lint_target": "assent.checks.lint.target",
    "hosts": "assent.checks.hosts.matrix",
    "replay": "assent.checks.history.replay",
    "recorded_call": "assent.checks.history.recorded_call",
    "telemetry": "assent.gateway.telemetry",
    "api": "assent.people.api.app",
    "hooks": "assent.hooks.process",
    "store_console": "assent.people.console.store_console",
    "hooks_over_http": "assent.hooks.http",
    "notify": "assent.people.notify.notifier",
    "authorization_server": "assent.people.authorization_server.grant_store",
    "pending_step_up": "assent.people.authorization_server.grant_store",
    "engine_console": "assent.people.console.engine",
    "engine_hook": "assent.hooks.engine",
}
"""The module of each feature that the core uses, or another feature."""

_EXTRAS = {
    "asyncpg": "postgres",
    "opentelemetry": "telemetry",
    "hypothesis": "verify",
    "fastmcp": "fastmcp",
    "pydantic_ai": "pydantic-ai",
    "agents": "openai-agents",
    "langchain_core": "langchain",
    "anthropic": "anthropic",
    "openai": "openai",
    "pytest": "",
    "keyring": "",
}
"""The extra that installs a package; `standard` for all others. Empty: no extra has it, it is installed by itself."""


def load_feature(name: str) -> Any:
    """The module of a feature. Raises SettingsError with the line that installs what it needs."""
    return load_package(_FEATURES[name])


def load_package(name: str, field: str = "") -> Any:
    """A module that an extra installs, or that needs one. Raises SettingsError with the line that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        fault = missing_package(error, field)
        if fault is None:
            raise
        raise SettingsError(fault) from None


def require_package(name: str, field: str = "") -> None:
    """Raises SettingsError with the line that installs a package, if it is missing. It is not imported yet."""
    if find_spec(name) is None:
        fault = missing_package(ModuleNotFoundError(name=name), field)
        assert fault is not None, "a package of ours is always there"
        raise SettingsError(fault)


def missing_package(error: ModuleNotFoundError, field: str = "") -> Fault | None:
    """What is missing and the line that installs it; None if the missing module is our own, which is a defect."""
    package = (error.name or "").partition(".")[0]
    if not package or package == "assent":
        return None
    extra = _EXTRAS.get(package, "standard")
    wanted = f"'assent[{extra}]'" if extra else package
    return Fault(
        f"this needs the package {package}, which is not installed", f"Install it: pip install {wanted}", field
    )

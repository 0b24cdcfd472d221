"""What lives as long as the gateway's process, whatever the configuration."""

from __future__ import annotations

import os
import secrets as random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assent.audit.signing_schedule import PeriodicSigner, SigningPlan
from assent.config.model import Settings
from assent.core.open_questions import OpenQuestions
from assent.core.secret_keys import Keyring
from assent.gateway.audit_evidence import LogEvidence
from assent.gateway.auth.authenticator import AuthParts
from assent.gateway.call_lines import CallLines
from assent.gateway.config_audit import ConfigAuditLog
from assent.gateway.endpoint import MOST_STREAMS_OF_ONE, Authenticate
from assent.gateway.fair_share import Places
from assent.gateway.hidden_text import HiddenText
from assent.gateway.metrics import CallCounters
from assent.gateway.sessions.notifications import Notifications
from assent.gateway.sessions.table import SessionTable
from assent.gateway.upstream_factory import UpstreamFactory
from assent.pipeline.authorize import StopSwitches
from assent.pipeline.leased_effects import EffectRunner
from assent.ports import Ports, Store
from assent.stores.probe import StoreProbe
from assent.upstreams.subscriptions import Subscriptions
from assent.upstreams.vault import CredentialVault
from assent.web.asgi import App


def same_ports(ports: Ports) -> Ports:
    return ports


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What a gateway shares with the others of its process, and whose environment its child processes get."""

    store: Store | None = None
    """A store that stays open when the gateway stops."""
    flow: Any = None
    """Flow control whose conversations this gateway continues."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    umask: int = -1
    console: Callable[[], str] = lambda: ""
    """The address of the console that shows this store on this machine; empty while none is served."""


@dataclass(frozen=True, slots=True, eq=False)
class Runtime:
    """What lives as long as the process, whatever the configuration: the store, its keys, sessions and counters."""

    store: Store
    keyring: Keyring
    vault: CredentialVault
    upstream_factory: UpstreamFactory
    work: EffectRunner
    evidence: LogEvidence | None
    stop_switches: StopSwitches
    sessions: SessionTable
    notifications: Notifications
    subscriptions: Mapping[str, Subscriptions]
    reauthenticate: Authenticate
    """Authenticates the caller of an open stream again, by the configuration that is current then."""
    other: App
    """Every path that is not the MCP endpoint's."""
    auth: AuthParts
    probe: StoreProbe
    signing: PeriodicSigner | None
    config_log: ConfigAuditLog
    adapt: Callable[[Ports], Ports] = same_ports
    """How the door in front of this gateway changes the ports: `assent wrap` has no page, tests have another clock."""
    tally: CallCounters = field(default_factory=CallCounters)
    call_lines: CallLines = field(default_factory=CallLines)
    """Tells the person who runs the gateway of calls that wait or were refused."""
    hidden_text: HiddenText = field(default_factory=HiddenText)
    questions: OpenQuestions = field(default_factory=OpenQuestions)
    streams: Places = field(default_factory=lambda: Places(MOST_STREAMS_OF_ONE))


def open_runtime(
    settings: Settings,
    store: Store,
    subscriptions: Mapping[str, Subscriptions],
    adapt: Callable[[Ports], Ports],
    around: Surroundings,
    *,
    public_scopes: Callable[[], list[str]],
    signing_plan: Callable[[], SigningPlan],
    reauthenticate: Authenticate,
    other: App,
) -> Runtime:
    """Makes the lasting parts of a gateway with this store. They ask the gateway for what its configuration changes."""
    keyring = Keyring(Path(settings.secrets.directory))
    tally, call_lines, auth = CallCounters(), CallLines(), AuthParts(store, public_scopes)
    tally.on_refusal, auth.failed_auth.tell = call_lines.refused, call_lines.failed
    retention = settings.defaults.idempotency.retention
    signing = None if settings.store.startswith("memory:") else PeriodicSigner(signing_plan)
    sessions = SessionTable(time.monotonic, lambda: random.token_urlsafe(24), who=lambda caller: caller.identity)
    vault = CredentialVault(store, lambda: keyring.key("sealing"), time.time)
    return Runtime(
        store,
        keyring,
        vault,
        UpstreamFactory(vault, store, around.environment, around.umask),
        EffectRunner(store, time.time, retention=retention, keyed_hash=keyring.keyed_hash),
        None if signing is None else LogEvidence(store, signing, time.time),
        StopSwitches(store),
        sessions,
        Notifications(sessions),
        subscriptions,
        reauthenticate,
        other,
        auth,
        StoreProbe(store, time.time),
        signing,
        ConfigAuditLog(store.append, time.time, keyring.keyed_hash),
        adapt,
        tally,
        call_lines,
    )

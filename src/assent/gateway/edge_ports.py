"""The ports of the pipeline at the gateway: what calls need of the configuration and of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from assent.audit.signing_schedule import SigningPlan
from assent.config.model import Settings
from assent.config.rules import rules_of
from assent.core.approval import Approval
from assent.core.call import Call
from assent.core.catalogue import Catalogue
from assent.core.question import texts_in
from assent.gateway.auth.authenticator import Authenticator
from assent.gateway.connections import UpstreamConnections
from assent.gateway.runtime import Runtime
from assent.pipeline.ports_factory import make_ports
from assent.ports import Ports
from assent.upstreams.link import UpstreamLink


@dataclass(frozen=True, slots=True, eq=False)
class Rulebook:
    """What a configuration decides, apart from the tools that its upstreams list."""

    settings: Settings
    links: Mapping[str, UpstreamLink]
    policies: Any
    """The Cedar policies, or None."""
    flow: Any
    """Flow control, or None."""
    authenticator: Authenticator
    notifier: Any
    """Tells people of approvals that wait, or None."""
    signing: SigningPlan | None


def ports_of(runtime: Runtime, rulebook: Rulebook, catalogue: Catalogue, connections: UpstreamConnections) -> Ports:
    """The ports of one configuration and its tools."""
    settings = rulebook.settings

    def page(path: str) -> str | None:
        return f"{settings.public_url.rstrip('/')}/console/{path}"

    def announce(approval: Approval) -> None:
        """Tell of an approval that waits: in the log, and by the configured channels."""
        runtime.call_lines.waits(approval, page(f"approvals/{approval.id}"))
        if rulebook.notifier is not None:
            rulebook.notifier.offer(approval)

    return make_ports(
        runtime.store,
        catalogue.itself,
        work=runtime.work,
        derive_key=runtime.keyring.derive,
        keyed_hash=runtime.keyring.keyed_hash,
        stops=runtime.stop_switches.look,
        questions=runtime.questions,
        page=page,
        leads_to=partial(_leads_to, settings),
        seen=runtime.tally.count_call,
        evidence=runtime.evidence,
        connect=connections.needed,
        rules=rules_of(settings, rulebook.policies, rulebook.flow),
        waiting=announce,
    )


# Arguments that are paths on this machine

LONGEST = 4096
MOST_LOOKED_AT = 64 * 1024
"""The most characters of one call that are resolved, because each part of a path costs a disk access."""

_TIMEOUT = 5.0


async def _leads_to(settings: Settings, call: Call) -> list[tuple[str, str]]:
    """The real paths of a call to a server that a command starts on this machine."""
    upstream = settings.upstreams.get(call.tool.upstream)
    if upstream is None or upstream.command is None:
        return []
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await asyncio.to_thread(real_paths, call.stated, Path(upstream.cwd or "."))
    except TimeoutError:
        return [("paths", "not looked up: the disk did not answer in time")]


def real_paths(arguments: Mapping[str, Any], base: Path) -> list[tuple[str, str]]:
    """Every argument that, as a path relative to `base`, leads elsewhere than it says, with its real path."""
    home, left, found = os.path.realpath(base), MOST_LOOKED_AT, list[tuple[str, str]]()
    for name, text in texts_in(arguments):
        path = _path(text)
        if path is None or not name or name.startswith("the name "):
            continue
        left -= len(path)
        if left < 0:
            return [*found, (name, "not looked up: there is too much text")]
        if (real := _real(path, home)) is not None:
            found.append((name, real))
    return found


def _path(text: str) -> str | None:
    """The text as a path, or None if it cannot be one."""
    if text.lower().startswith("file:"):
        text = unquote(urlsplit(text.translate({9: None, 10: None, 13: None})).path)
    elif "://" in text:
        return None
    return text if 0 < len(text) <= LONGEST and "\0" not in text else None


def _real(path: str, home: str) -> str | None:
    """The real path, if it differs from the written one."""
    try:
        full = Path(home, Path(path).expanduser())
        real = os.path.realpath(full)
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no such user.
        return None
    is_literal = not path.startswith("~") and ".." not in path.split("/")
    return None if is_literal and os.path.normpath(full) == real else real

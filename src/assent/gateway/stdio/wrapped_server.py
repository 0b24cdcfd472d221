"""One server behind the standard streams of a client, until either side ends: what `assent wrap` runs."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from pydantic import ValidationError

from assent.config.callers import ConfiguredCaller, principal_of
from assent.config.load import load_settings, user_file, user_settings
from assent.config.model import DefaultConfirmation, Defaults, Settings, UpstreamSettings
from assent.config.references import UNREAD
from assent.config.sandbox import OFF, SandboxSettings
from assent.core.approval import Approval
from assent.errors import Fault, SettingsError
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.metrics import summarize_observed
from assent.gateway.runtime import Surroundings
from assent.gateway.stdio.streams import StandardStreams
from assent.gateway.stdio.wrap import StdioGateway
from assent.ports import Ports, no_command
from assent.stores.inspect import in_doubt
from assent.upstreams.errors import UpstreamError as UpstreamFault
from assent.upstreams.stdio.link import StdioLink

_UNUSED = ("upstreams", "auth.api_keys", "auth.jwt", "auth.embedded", "console")
CommandLine = Callable[[str], str | None]
_RUNNERS = frozenset({"npx", "bunx", "uvx", "pipx", "node", "bun", "deno", "python", "python3", "docker", "uv"})


@dataclass(frozen=True, slots=True)
class WrapRequest:
    """A server that a client wants wrapped, with the client's own folder and environment."""

    command: tuple[str, ...]
    config: Path | None = None
    start_within: int = 60
    sandbox: dict[str, Any] | None = None
    folder: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    umask: int = -1


@dataclass(frozen=True, slots=True)
class WrapClient:
    """How a wrapped server reaches its client and the person there."""

    streams: Callable[[], StandardStreams]
    """Opened once the server has started."""
    tell: Callable[[str], None]
    """One line for the person."""
    stop: asyncio.Event
    on_waiting: Callable[[Approval, str | None], None]
    """Told of a call that waits for a person, with the command that decides."""
    on_start: Callable[[GatewayApp, StdioLink], None] = lambda *_: None


def wrapping(request: WrapRequest) -> Settings:
    """The configuration with this command as its only upstream, in observe mode unless it sets `mode: enforce`."""
    command, settings = request.command, _load(request)
    enforced = "mode" in settings.model_fields_set and settings.mode == "enforce"
    stdio = settings.auth.stdio or ConfiguredCaller(kind="agent", scopes=("*",))
    known = _configured_as(request, settings)
    usual = SandboxSettings(mode="observe") if settings.preset == "recommended" else OFF
    server = _server(request, settings.upstreams.get(known or "", UpstreamSettings(command=command, sandbox=usual)))
    # A lock file that is not configured but is beside the configuration belongs to its upstreams.
    pinned = known is not None or "pins" in settings.model_fields_set
    return settings.model_copy(
        update={
            "mode": "enforce" if enforced else "observe",
            "upstreams": {known or name_of(command): server},
            "pins": settings.pins if pinned or settings.pins == "off" else None,
            "auth": settings.auth.model_copy(update={"stdio": stdio}),
            "defaults": _local_defaults(settings),
        }
    )


def _local_defaults(settings: Settings) -> Defaults:
    """The defaults for a caller on standard streams: the person at this machine is the user, and has no login to renew.

    Contracts, and `callers: all`, ask for more.
    """
    step_up = settings.defaults.step_up
    none = step_up.model_copy(update={"callers": "none"}) if step_up.callers == "oauth" else step_up
    return settings.defaults.model_copy(update={"confirmation": DefaultConfirmation(critical="user"), "step_up": none})


def _server(request: WrapRequest, known: UpstreamSettings) -> UpstreamSettings:
    """The wrapped server. It has the folder and the environment of its client, unless it is confined."""
    sandbox = request.sandbox
    try:
        chosen = SandboxSettings(**sandbox) if sandbox is not None else known.sandbox
    except ValidationError as error:
        raise SettingsError([Fault(one["msg"], "", "sandbox") for one in error.errors()]) from None
    env = known.env if chosen.mode == "enforce" else dict(request.environment)
    return UpstreamSettings(
        command=request.command,
        env=env,
        cwd=request.folder,
        timeout=request.start_within,
        sandbox=chosen,
        roots=known.roots,
        trust=known.trust,
        profile=known.profile,
        historic_names=known.historic_names,
    )


def _load(request: WrapRequest, *but: str) -> Settings:
    """The settings; variables of other servers and of a gateway's callers may be unset."""
    if request.config is not None:
        return load_settings(request.config, request.environment, unused=_UNUSED, but=but)
    return user_settings(request.environment, unused=_UNUSED, but=but)


def _configured_as(request: WrapRequest, settings: Settings) -> str | None:
    """The configured upstream with the same command; its contracts, pins and what it says about hints apply."""
    for name, one in settings.upstreams.items():
        words = one.command
        if words is not None and any(UNREAD in word for word in words):
            with suppress(SettingsError):  # A command whose variables are unset is another one.
                words = _load(request, f"upstreams.{name}.command").upstreams[name].command
        if words == request.command:
            return name
    return None


def name_of(command: tuple[str, ...]) -> str:
    """A name for the server before it tells its own: the program that is run, not the runner."""
    enforced = [word for word in command[1:] if not word.startswith("-") and word not in ("run", "exec", "tool")]
    runner = PurePath(command[0]).stem in _RUNNERS
    safe_name = re.sub(
        r"[^A-Za-z0-9_-]+", "-", PurePath(enforced[0] if runner and enforced else command[0]).stem
    ).strip("-")
    return safe_name[:40] or "server"


async def serve_wrapped(
    request: WrapRequest, client: WrapClient, settings: Settings, around: Surroundings | None = None
) -> int:
    """Governs the server until the client leaves, the server ends or it is stopped; returns the exit code."""
    _make_state_directory(settings)
    command = _deciding(settings, request.config)
    around = around or Surroundings(None, None, request.environment)

    def page(path: str) -> str | None:
        address = around.console()
        return f"{address}/console/{path}" if address else None

    def adapt(ports: Ports) -> Ports:
        def waiting(approval: Approval) -> None:
            ports.waiting(approval)
            client.on_waiting(approval, command(f"approvals show {approval.id}"))

        return ports._replace(page=page, command=command, waiting=waiting)

    gateway_app = await open_gateway(settings, adapt, around)
    try:
        link = next(iter(gateway_app.current.links.values()))
        assert isinstance(link, StdioLink)
        try:
            await link.upstream.start()
        except UpstreamFault as fault:
            raise SettingsError(Fault(fault.detail, "Correct the command after --")) from None
        client.on_start(gateway_app, link)
        client.tell(_notice(settings, link.name, request.config or user_file(request.environment)))
        if doubts := await in_doubt(gateway_app.store, time.time()):
            client.tell(f"assent wrap: {doubts}")
        return await _talk(gateway_app, link, client)
    finally:
        left = await gateway_app.stop(within=1.0)
        if settings.mode == "observe" and gateway_app.runtime.tally.would:
            for line in summarize_observed(gateway_app.runtime.tally):
                client.tell(f"assent wrap: {line}")
        if left:
            client.tell(f"assent wrap: {left} calls are in doubt: see `assent claims list`")


def _deciding(settings: Settings, config: Path | None) -> CommandLine:
    """The command with which a person decides or settles something in this store."""
    if settings.store.startswith("memory:"):
        return no_command
    chosen = f" -c {shlex.quote(str(config.resolve()))}" if config is not None else ""
    return lambda words: f"assent {words}{chosen}"


async def _talk(gateway_app: GatewayApp, link: StdioLink, client: WrapClient) -> int:
    streams = client.streams()
    caller = gateway_app.settings.auth.stdio
    assert caller is not None

    async def reload() -> None:
        await gateway_app.reload(link.name)
        if (trouble := gateway_app.tools.troubles.get(link.name)) is not None:
            raise UpstreamFault(link.name, trouble, sent=False)

    wrapped = StdioGateway(
        link.upstream,
        lambda: gateway_app.current,
        principal_of(caller, "stdio", "stdio"),
        streams.write,
        reload=reload,
        hidden_text=gateway_app.runtime.hidden_text,
    )
    serving = asyncio.ensure_future(wrapped.serve(streams.lines()))
    ended, stopped = asyncio.ensure_future(link.upstream.wait_until_ended()), asyncio.ensure_future(client.stop.wait())
    gone = asyncio.ensure_future(streams.gone.wait())
    try:
        waiting: set[asyncio.Future[Any]] = {serving, ended, stopped, gone, wrapped.failed}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        reason = wrapped.failed.result() if wrapped.failed.done() else ended.result() if ended.done() else ""
        if not reason:
            return 0
        client.tell(f"assent wrap: the server has failed: {reason}")
        await wrapped.stop(f"{link.name}: {reason}")
        return 1
    finally:
        for task in (serving, ended, stopped, gone):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(serving, ended, stopped, gone, return_exceptions=True)
        await wrapped.stop("assent wrap is stopping")


def _make_state_directory(settings: Settings) -> None:
    """Creates the user's private state directory."""
    directory = Path(settings.secrets.directory).parent
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def _notice(settings: Settings, name: str, file: Path) -> str:
    if settings.mode == "enforce":
        return (
            f"assent wrap: enforcing contracts for {name} (set in {file});"
            " if this client cannot ask its user, decide with `assent approvals watch`"
        )
    return (
        f"assent wrap: observing {name}: calls are recorded, and only forbidden tools are refused;"
        f" to enforce contracts, write `mode: enforce` into {file}"
    )

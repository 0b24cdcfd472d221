"""A hook's own process: answers one event on the user's store, without an engine."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from assent.config.callers import ConfiguredCaller, principal_of
from assent.config.load import load_settings, user_settings
from assent.config.model import DefaultConfirmation, Settings
from assent.config.rules import flow_control, policies_of, rules_of
from assent.contract.files import contract_paths, load_written
from assent.core.catalogue import Catalogue
from assent.core.secret_keys import Keyring
from assent.errors import AssentError
from assent.hooks import answers
from assent.hooks.calls import HookDoor, HookSource
from assent.hooks.contracts import BuiltinTools
from assent.hooks.events import HookEvent
from assent.pipeline.ports_factory import make_ports
from assent.ports import Ports, Store, no_command
from assent.stores.open import open_store

ANSWERS_WITHIN = 20.0
"""How long a hook may take. Clients wait longer, and let the call run if a hook is too slow for them."""
_UNUSED = ("upstreams", "auth.api_keys", "auth.jwt", "auth.embedded", "console", "notify")


def hook_settings(config: Path | None, environment: Mapping[str, str] = os.environ) -> Settings:
    """The named configuration or the user's own, as hooks use it."""
    if config is None:
        return local_settings(user_settings(environment, unused=_UNUSED))
    return local_settings(load_settings(config, environment, unused=_UNUSED))


def local_settings(settings: Settings) -> Settings:
    """The settings of a door on this machine: observe unless they say enforce, and the person at it confirms."""
    enforced = "mode" in settings.model_fields_set and settings.mode == "enforce"
    stdio = settings.auth.stdio or ConfiguredCaller(kind="agent", scopes=("*",))
    step_up = settings.defaults.step_up
    none = step_up.model_copy(update={"callers": "none"}) if step_up.callers == "oauth" else step_up
    confirmation = DefaultConfirmation(critical="user")
    return settings.model_copy(
        update={
            "mode": "enforce" if enforced else "observe",
            "auth": settings.auth.model_copy(update={"stdio": stdio}),
            "defaults": settings.defaults.model_copy(update={"confirmation": confirmation, "step_up": none}),
        }
    )


def make_door(settings: Settings, ports: Ports) -> HookDoor:
    """The door for hooks under a configuration, on the ports of the process that has the store."""
    assert settings.auth.stdio is not None
    written = load_written(contract_paths(settings.contracts)) if settings.contracts else []
    return HookDoor(
        lambda: ports,
        principal_of(settings.auth.stdio, "stdio", "stdio"),
        BuiltinTools(written, inferring=settings.without_contract == "infer"),
        allow=settings.hooks.allow,
        on_prompt=_sender(settings) if settings.hooks.gateway is not None else None,
        governed_elsewhere=is_governed_elsewhere,
    )


def _sender(settings: Settings) -> Callable[[HookEvent], Awaitable[str]]:
    """Passes prompts on to the team's gateway."""
    from assent.hooks.http import send_prompt

    return lambda event: send_prompt(settings.hooks, event.client, event)


def source_of(environment: Mapping[str, str]) -> HookSource:
    """What the environment of a hook tells: the project, and whether a person is at the client."""
    project = next((environment[name] for name in _PROJECT if environment.get(name)), "")
    headless = environment.get("CLAUDE_CODE_ENTRYPOINT", "cli") != "cli" or environment.get("CI", "") not in ("", "0")
    return HookSource(project, headless, environment)


_PROJECT = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "ASSENT_PROJECT_DIR")


def answer_here(config: Path | None, client: str, raw: bytes) -> str:
    """The answer to one event. It never raises: what fails or takes too long is denied, and says so."""
    try:
        return asyncio.run(asyncio.wait_for(_answer(config, client, raw), ANSWERS_WITHIN))
    except TimeoutError:
        return answers.failure(client, f"no answer within {ANSWERS_WITHIN:.0f} seconds")
    except (AssentError, OSError) as error:
        return answers.failure(client, " ".join(str(error).split())[:400].rstrip("."))
    except Exception as error:
        return answers.failure(client, f"{type(error).__name__} in Assent")


async def _answer(config: Path | None, client: str, raw: bytes) -> str:
    settings = hook_settings(config)
    store = await open_store(settings.store)
    try:
        ports = make_hook_ports(settings, config, store, flow_control(settings))
        return await make_door(settings, ports).answer(client, raw, source_of(os.environ))
    finally:
        await store.close()


def make_hook_ports(settings: Settings, config: Path | None, store: Store, flow: Any) -> Ports:
    """The ports of hooks on a store: a person decides with the command line."""
    keyring = Keyring(Path(settings.secrets.directory))
    keyring.make_all()
    chosen = f" -c {shlex.quote(str(config.resolve()))}" if config is not None else ""
    return make_ports(
        store,
        Catalogue,
        derive_key=keyring.derive,
        keyed_hash=keyring.keyed_hash,
        command=no_command if settings.store.startswith("memory:") else lambda words: f"assent {words}{chosen}",
        rules=rules_of(settings, policies_of(settings), flow),
    )


_Read = Callable[[bytes], Any]


def is_governed_elsewhere(event: HookEvent, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the server of a tool is behind `assent wrap`, as the client or the user's own file says.

    A file of the workspace does not count: whoever wrote the workspace wrote it. So only this very program counts, and
    only with the user's own configuration.
    """
    if event.command:
        return _is_wrap(event.command)
    servers = _servers(event, environment)
    if event.server:
        named = servers.get(event.server)
    else:  # opencode and Copilot put the server before the tool, without a mark.
        named = next((one for name, one in servers.items() if event.tool.startswith((f"{name}_", f"{name}-"))), None)
    return named is not None and _is_wrap(named)


def _is_wrap(words: tuple[str, ...]) -> bool:
    own = Path(sys.executable).with_name("assent")
    return len(words) > 3 and words[1:3] == ("wrap", "--") and os.path.realpath(words[0]) == os.path.realpath(own)


_FILES: Mapping[str, tuple[str, str, str, _Read]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude.json", "mcpServers", json.loads),
    "codex": ("CODEX_HOME", "~/.codex/config.toml", "mcp_servers", lambda raw: tomllib.loads(raw.decode())),
    "copilot": ("COPILOT_HOME", "~/.copilot/mcp-config.json", "mcpServers", json.loads),
    "opencode": ("OPENCODE_CONFIG_DIR", "~/.config/opencode/opencode.json", "mcp", json.loads),
    "cursor": ("", "~/.cursor/mcp.json", "mcpServers", json.loads),
    "gemini": ("", "~/.gemini/settings.json", "mcpServers", json.loads),
}


def _servers(event: HookEvent, environment: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    variable, usual, table, read = _FILES[event.client]
    folder = environment.get(variable) if variable else None
    path = Path(folder) / PurePath(usual).name if folder else Path(usual.replace("~", environment.get("HOME", "~"), 1))
    try:
        found = path.stat()
    except OSError:
        return {}
    whole = _read_file(str(path), found.st_mtime_ns, found.st_size, read)
    own = whole.get("projects", {}).get(event.cwd, {}) if event.client == "claude-code" else {}
    return {**_table(whole.get(table)), **_table(own.get(table) if isinstance(own, dict) else None)}


@lru_cache(32)
def _read_file(path: str, _changed: int, _size: int, read: _Read) -> dict[str, Any]:
    try:
        given = read(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}


def _table(listed: Any) -> dict[str, tuple[str, ...]]:
    return {name: _words(one) for name, one in listed.items()} if isinstance(listed, dict) else {}


def _words(entry: Any) -> tuple[str, ...]:
    command = entry.get("command") if isinstance(entry, dict) else None
    words = command if isinstance(command, list) else [command, *(entry.get("args") or [])] if command else []
    return tuple(word for word in words if isinstance(word, str))

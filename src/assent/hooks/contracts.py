"""The contracts of built-in tools: shipped ones, judged by what a call names, and what operators write over them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from assent.contract.binding import fits, is_built_in
from assent.contract.files import WrittenContract, is_pattern
from assent.contract.infer import classify
from assent.contract.reader import read_contract
from assent.contract.tiers import Risk, Tier
from assent.contract.tool_listing import Claims
from assent.contract.yaml_document import YamlDocument
from assent.core.limited_dict import LimitedDict
from assent.core.tool import Tool, compile_tool
from assent.hooks.events import HookEvent
from assent.hooks.shell_effects import Effect, effect_of
from assent.upstreams.compiled_tools import judge

LONGEST_NAME = 128
_SECRETS = re.compile(
    r"(?:^|/)(?:\.ssh|\.aws|\.gnupg|\.kube|\.azure|gcloud)(?:/|$)|(?:^|/)(?:\.netrc|\.pgpass|\.git-credentials|\.npmrc"
    r"|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)\w*|shadow|gshadow|\.vault-token)$|\.docker/config\.json$|assent/keys(?:/|$)"
    r"|(?:^|/)\.env(?:\.(?!example|sample|template)[\w.-]+)?$|/proc/[^/]+/environ$"
)
"""Files with credentials."""
_GUARDED = re.compile(
    r"(?:^|/)(?:\.claude|\.codex|\.gemini|\.copilot|\.cursor|\.opencode|\.ssh|\.gnupg|\.aws)(?:/|$|\.json)"
    r"|(?:^|/)\.config/(?:opencode|assent|systemd|autostart)(?:/|$)|local/state/assent(?:/|$)"
    r"|(?:^|/)\.git/(?:hooks|config)|(?:^|/)\.github/hooks(?:/|$)|(?:^|/)opencode\.jsonc?$"
    r"|(?:^|/)assent\.(?:yaml|lock|db)$|(?:^|/)(?:\.mcp\.json|\.envrc|\.bashrc|\.zshrc|\.zshenv|\.profile|\.bash_profile"
    r"|\.gitconfig|\.npmrc|\.netrc|authorized_keys)$|(?:^|/)\.vscode/(?:tasks|settings|mcp)\.json$|^/(?:etc|boot|usr)/"
)
"""Files that decide what runs later, or what may run: an agent that writes one can switch its own guard off."""


class JudgedCall(NamedTuple):
    """A tool for one call, and why it is taken for what it is."""

    tool: Tool
    why: str = ""


@cache
def _shipped() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The named effects, and what each tool of each client is."""
    text = resources.files(__name__.rpartition(".")[0]).joinpath("contracts.yaml").read_text(encoding="utf-8")
    given = YamlDocument(text, "the shipped contracts of built-in tools").value
    return given["effects"], given["clients"]


class BuiltinTools:
    """The tools of coding agents under one configuration. A tool is compiled once for each effect."""

    def __init__(self, written: Iterable[WrittenContract] = (), *, inferring: bool = True) -> None:
        self._written = [one for one in written if is_built_in(one)]
        self._inferring = inferring
        self._compiled: LimitedDict[tuple[str, str], Tool] = LimitedDict(2000)

    def judge(self, event: HookEvent, project: str) -> JudgedCall | None:
        """The tool of an event; None if it has no contract and none may be inferred."""
        name, own = tool_name(event.client, event.tool), self._own_fields(event)
        shipped = _shipped()[1].get(event.client, {}).get(event.tool)
        if own is not None and "side_effect" in own:
            return JudgedCall(self._tool(event, name, own, written=True))
        if shipped is None or event.server:
            if not self._inferring and own is None:
                return None
            return JudgedCall(self._tool(event, name, {**_inferred(event), **(own or {})}, written=own is not None))
        effect = _effect(shipped, event, project)
        fields = {**_shipped()[0][effect.kind], **(own or {})}
        return JudgedCall(self._tool(event, name, fields, written=True), effect.why)

    def _own_fields(self, event: HookEvent) -> Mapping[str, Any] | None:
        """What the operator wrote for a tool: by its own name first, then by a pattern."""
        names = {(event.client, event.tool), ("", f"{event.client}.{event.tool}")}
        for one in self._written:
            if (one.upstream, one.name) in names:
                return one.fields
        for one in self._written:
            whole = one.name if not one.upstream else f"{one.upstream}.{one.name}"
            if is_pattern(one.name) and fits(whole, f"{event.client}.{event.tool}"):
                return one.fields
        return None

    def _tool(self, event: HookEvent, name: str, fields: Mapping[str, Any], *, written: bool) -> Tool:
        key = name, str(sorted(fields.items()))
        found = self._compiled.get(key)
        if found is None:
            tool = compile_tool(
                read_contract(name, fields),
                upstream=event.client,
                wire_name=event.tool,
                definition={"name": event.tool},
                written=written,
            )
            found = self._compiled[key] = replace(tool, rehearses=True)  # The door refuses dry runs: none is simulated.
        return found


def tool_name(client: str, tool: str) -> str:
    """The name of a tool in contracts, rules and the log; what no contract could name is shortened to a digest."""
    name = f"{client}.{tool}"
    if len(name) <= LONGEST_NAME and re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        return name
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:100]
    return f"{safe}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _inferred(event: HookEvent) -> dict[str, Any]:
    """What the name of a tool tells. The definition is not in the event, so it is never taken for less than a write
    unless the name is clear.
    """
    own = event.tool.rpartition("__")[2] if event.server else event.tool
    properties: dict[str, Any] = {name: {} for name in event.input if isinstance(name, str)}
    guess = classify({"name": own, "inputSchema": {"type": "object", "properties": properties}})
    tier, risk = judge(guess, Claims(), trusted=False)
    risk = min(risk, Risk.CRITICAL)  # A guess by a name alone forbids nothing.
    return {
        "side_effect": Tier(tier),
        "risk": risk,
        "open_world": guess.open_world,
        "overwrites": tier is Tier.WRITE and guess.overwrites,
        "labels": guess.labels._asdict(),
    }


def _effect(shipped: str | Mapping[str, Any], event: HookEvent, project: str) -> Effect:
    """What a call of a tool does, by what it names."""
    if isinstance(shipped, str):
        return Effect(shipped)
    if "shell" in shipped:
        return _shell_effect(event.input.get(shipped["shell"]), event.cwd, project)
    if "patch" in shipped:
        return _patch_effect(event.input, shipped["patch"], event.cwd, project)
    path = event.input.get(shipped["path"])
    if path is not None and not isinstance(path, str):
        return Effect("unreadable", f"`{shipped['path']}` is not a text")
    if shipped.get("reads"):
        return _read_effect(path or "", event.cwd)
    return _write_effect([path or ""], event.cwd, project)


def _shell_effect(command: Any, cwd: str, project: str) -> Effect:
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = command[2] if len(command) == 3 and command[1] in ("-c", "-lc") else None
    if not isinstance(command, str):
        return Effect("unreadable", "the command is not a text")
    effect = effect_of(command)
    if effect.kind in ("write", "read", "fetch") and any(_is_secret(path, cwd) for path in effect.paths):
        return Effect("read_secret", "it names a file with credentials")
    if effect.kind == "fetch":
        return effect._replace(kind="fetch_shell")
    return _write_effect(effect.paths, cwd, project, effect.why) if effect.kind == "write" else effect


def _read_effect(path: str, cwd: str) -> Effect:
    return Effect("read_secret", "it is a file with credentials") if _is_secret(path, cwd) else Effect("read")


def _write_effect(paths: Iterable[str], cwd: str, project: str, why: str = "") -> Effect:
    """Writing inside the project, outside of it, or where an agent could switch its guard off."""
    kind = "write"
    for path in paths:
        forms = _forms(path, cwd)
        if any(_GUARDED.search(form) for form in forms):
            return Effect("write_guarded", "it writes a file that decides what may run")
        if not all(_is_inside(form, project or cwd) for form in forms[1:]):
            kind, why = "write_outside", "it writes outside the project"
    return Effect(kind, why)


_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) )(.+?)\s*$", re.MULTILINE
)


def _patch_effect(given: Mapping[str, Any], argument: str, cwd: str, project: str) -> Effect:
    """What a patch writes: the files that it names."""
    text = next((given[key] for key in (argument, "input", "patch", "patchText", "command") if key in given), None)
    names = _PATCHED.findall(text) if isinstance(text, str) else []
    if not names:
        return Effect("unreadable", "the files of the patch cannot be read")
    return _write_effect([re.sub(r"^[ab]/", "", name) for name in names if name != "/dev/null"], cwd, project)


def _is_secret(path: str, cwd: str) -> bool:
    return any(_SECRETS.search(form) for form in _forms(path, cwd))


def _forms(path: str, cwd: str) -> list[str]:
    """A path as written, in full, and where its links lead."""
    full = os.path.normpath(Path(cwd or "/") / Path(path).expanduser()) if "\0" not in path else path
    try:
        return [path, full, os.path.realpath(full)]
    except (OSError, ValueError):
        return [path, full, full]


def _is_inside(path: str, folder: str) -> bool:
    return bool(folder) and (Path(path).is_relative_to(folder) or Path(path).is_relative_to(os.path.realpath(folder)))

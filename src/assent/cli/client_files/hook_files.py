"""Puts Assent's hooks into the user's own settings of a coding agent, and takes them out again."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from assent.cli.client_files.backup import keep_and_write, restore
from assent.cli.client_files.json_file import JsonFile
from assent.errors import Fault, SettingsError
from assent.files import Disk

WITHIN = 60
"""Seconds that a client waits for a hook. The hook itself denies after 20: a client lets the call run if it waits in
vain."""


@dataclass(frozen=True, slots=True)
class HookFile:
    """The file of a coding agent in which hooks are configured, and what Assent writes into it."""

    title: str
    folder: str
    name: str
    before: tuple[str, ...]
    """The events before a tool. If the hook cannot run, these calls are denied."""
    other: tuple[str, ...]
    entry: Callable[[str, str], Any]
    """The entry of an event, given the event's name and the command."""
    variable: str = ""
    """An environment variable that names another folder."""
    head: Mapping[str, Any] | None = None
    """What a new file begins with."""
    note: str = ""
    """What the user must do besides."""

    def path(self, environment: Mapping[str, str] = os.environ) -> Path:
        from assent.config.load import own_path

        named = environment.get(self.variable) if self.variable else None
        return (Path(named) if named else own_path(self.folder, environment)) / self.name


def _grouped_entry(timeout: int) -> Callable[[str, str], Any]:
    def entry(event: str, command: str) -> Any:
        matcher = {"matcher": "*"} if "Tool" in event else {}
        return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}

    return entry


_CODEX_NOTE = "Codex runs a hook only after you reviewed it: start `codex` and enter /hooks."
HOOK_FILES: Mapping[str, HookFile] = {
    "claude-code": HookFile(
        "Claude Code", "~/.claude", "settings.json", ("PreToolUse",),
        ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd"),
        _grouped_entry(WITHIN), "CLAUDE_CONFIG_DIR",
    ),
    "codex": HookFile(
        "Codex", "~/.codex", "hooks.json", ("PreToolUse",),
        ("PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd"),
        lambda event, command: _grouped_entry(3 if event == "SessionEnd" else WITHIN)(event, command), "CODEX_HOME",
        note=_CODEX_NOTE,
    ),
    "gemini": HookFile(
        "Gemini CLI", "~/.gemini", "settings.json", ("BeforeTool",),
        ("AfterTool", "BeforeAgent", "SessionStart", "SessionEnd"), _grouped_entry(WITHIN * 1000),
    ),
    "copilot": HookFile(
        "Copilot CLI", "~/.copilot", "hooks/assent.json", ("preToolUse",),
        ("postToolUse", "postToolUseFailure", "userPromptSubmitted", "sessionStart", "sessionEnd"),
        lambda _, command: {"type": "command", "bash": command, "timeoutSec": WITHIN}, "COPILOT_HOME",
        head={"version": 1},
    ),
    "cursor": HookFile(
        "Cursor", "~/.cursor", "hooks.json", ("preToolUse", "beforeShellExecution", "beforeMCPExecution"),
        ("postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "sessionStart", "sessionEnd"),
        lambda event, command: {"command": command, **({"failClosed": True} if "efore" in event else {})},
        head={"version": 1}, note="Cursor's hooks are written by its documentation and were not tried.",
    ),
    "opencode": HookFile("opencode", "~/.config/opencode", "plugins/assent.js", (), (), lambda *_: None),
}  # fmt: skip


def hook_words(assent: str, client: str, config: Path | None) -> list[str]:
    return [assent, "hook", client, *(["-c", str(config.resolve())] if config is not None else [])]


def with_hooks(client: str, text: str, words: list[str]) -> str:
    """The file of a client with Assent's hooks in it; `text` is empty for a new file. Raises ValueError."""
    if client == "opencode":
        source = resources.files("assent.hooks").joinpath("opencode_plugin.js").read_text(encoding="utf-8")
        return source.replace("__COMMAND__", json.dumps(words))
    known = HOOK_FILES[client]
    entries = {event: known.entry(event, _command(words, denies=True)) for event in known.before}
    entries |= {event: known.entry(event, _command(words, denies=False)) for event in known.other}
    if not text.strip():
        whole = {**(known.head or {}), "hooks": {event: [entry] for event, entry in entries.items()}}
        return json.dumps(whole, indent=2) + "\n"
    file = JsonFile(text)
    if not isinstance(file.data, dict) or not isinstance(file.data.get("hooks", {}), dict):
        raise ValueError("`hooks` is not a set of events")
    _remove_ours(file)
    return _add(JsonFile(file.text()), entries).text()


def _add(file: JsonFile, entries: Mapping[str, Any]) -> JsonFile:
    hooks = file.data.get("hooks")
    if not hooks:
        all_events = {event: [entry] for event, entry in entries.items()}
        if hooks is None:
            file.add((), "hooks", all_events)
        else:
            file.replace(("hooks",), all_events)
        return file
    for event, entry in entries.items():
        if event not in hooks:
            file.add(("hooks",), event, [entry])
        elif not isinstance(hooks[event], list):
            raise ValueError(f"`hooks.{event}` is not a list")
        else:
            file.append(("hooks", event), entry)
    return file


def without_hooks(text: str) -> str | None:
    """The file without Assent's hooks; None if it has none."""
    file = JsonFile(text)
    return file.text() if _remove_ours(file) else None


def _remove_ours(file: JsonFile) -> bool:
    found = False
    hooks = file.data.get("hooks") if isinstance(file.data, dict) else None
    for event, entries in (hooks or {}).items():
        ours = [index for index, one in enumerate(entries) if is_ours(one)] if isinstance(entries, list) else []
        if ours and len(ours) == len(entries):
            file.remove(("hooks",), [event])
        elif ours:
            file.remove(("hooks", event), ours)
        found = found or bool(ours)
    return found


def is_ours(entry: Any) -> bool:
    """Whether an entry of an event runs Assent alone."""
    commands = list(commands_in(entry))
    return bool(commands) and all(is_hook_command(one) for one in commands)


def commands_in(entry: Any) -> Iterator[str]:
    """The commands of an entry, as each client writes them."""
    if isinstance(entry, dict):
        yield from (entry[key] for key in ("command", "bash") if isinstance(entry.get(key), str))
        for one in entry["hooks"] if isinstance(entry.get("hooks"), list) else ():
            yield from commands_in(one)


def is_hook_command(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return len(words) > 2 and Path(words[0]).stem == "assent" and words[1] == "hook"


def _command(words: list[str], *, denies: bool) -> str:
    """The command as a shell runs it. Exit code 2 denies the call where Assent itself cannot be started."""
    return shlex.join(words) + (" || exit 2" if denies else "")


def write_hooks(client: str, words: list[str]) -> tuple[Path, Path | None]:
    """Write the hooks; gives the file, and the copy of the old one if there was one."""
    path = HOOK_FILES[client].path()
    old = _text_of(path)
    new = _changed(client, old, words, path)
    if old is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Disk().create(path, new.encode())
        return path, None
    return path, keep_and_write(path, new) if new != old else None


def preview_hooks(client: str, words: list[str]) -> tuple[Path, str, str]:
    """The file, its text, and its text with the hooks."""
    path = HOOK_FILES[client].path()
    old = _text_of(path)
    return path, old or "", _changed(client, old, words, path)


def undo_hooks(client: str) -> tuple[Path, str]:
    """Take the hooks out; gives the file and what was done. An unchanged file is restored byte for byte."""
    path = HOOK_FILES[client].path()
    text = _text_of(path)
    words = None if text is None else words_in(client, text)
    if text is None or words is None:
        return path, "has no hooks of Assent"
    if _text_with_hooks(client, "", words) == text:
        path.unlink()
        return path, "is removed; it had only Assent's hooks"
    if client != "opencode" and restore(path, text, lambda old: _text_with_hooks(client, old, words)) is not None:
        return path, "is restored as it was before"
    if client == "opencode":
        path.unlink()
        return path, "is removed"
    without = without_hooks(text)
    assert without is not None
    kept = keep_and_write(path, without)
    return path, f"has no hooks of Assent any more; it was changed since, so your changes are kept (before: {kept})"


def words_in(client: str, text: str) -> list[str] | None:
    """The command of Assent's hooks in a file."""
    if client == "opencode":
        line = next((line for line in text.splitlines() if line.startswith("const COMMAND = ")), "")
        try:
            found: list[str] = json.loads(line.removeprefix("const COMMAND = "))
        except ValueError:
            return None
        return found
    try:
        data = JsonFile(text).data
    except ValueError:
        return None
    hooks = data.get("hooks") if isinstance(data, dict) else None
    for entries in (hooks or {}).values():
        for command in (one for entry in (entries if isinstance(entries, list) else ()) for one in commands_in(entry)):
            if is_hook_command(command):
                return shlex.split(command.removesuffix(" || exit 2"))
    return None


def _text_with_hooks(client: str, old: str, words: list[str]) -> str | None:
    """What `--write` makes of a file without our hooks."""
    try:
        return None if words_in(client, old) else with_hooks(client, old, words)
    except ValueError:
        return None


def _changed(client: str, old: str | None, words: list[str], path: Path) -> str:
    try:
        new = with_hooks(client, old or "", words)
        return old if old and client != "opencode" and JsonFile(old).data == JsonFile(new).data else new
    except ValueError as error:
        raise SettingsError(Fault(f"cannot be changed: {error}", "Correct it first", file=str(path))) from None


def _text_of(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(Fault(f"cannot be read: {reason}", "Correct it first", file=str(path))) from None


def missing_events(client: str, text: str) -> list[str]:
    """The events before a tool and after it that Assent's hooks do not get."""
    if client == "opencode":
        return []
    hooks = JsonFile(text).data.get("hooks") or {}
    known = HOOK_FILES[client]
    return [
        event
        for event in (*known.before, *known.other)
        if not any(is_ours(one) for one in (hooks.get(event) if isinstance(hooks.get(event), list) else ()) or ())
    ]

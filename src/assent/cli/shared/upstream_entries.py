"""Adds upstreams to a configuration file; comments and order stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assent.cli.client_files.tree_file import YamlFile
from assent.config.load import parse_settings
from assent.errors import Fault, SettingsError
from assent.files import write_whole

_NEW_FILE = """\
# Assent's configuration. `assent serve` runs the gateway; `assent serve --check` checks this file.
upstreams: {}
auth:
  anonymous: {kind: agent, scopes: ["*"]}   # callers without a key; accepted on a loopback address only
"""


def add_upstreams(path: Path, upstreams: Mapping[str, Mapping[str, Any]]) -> Path:
    """Add upstreams to the configuration at this path, which is created if it does not exist.

    Raises SettingsError, and writes nothing, if a name is taken by another server or the result is not valid.
    """
    exists = path.exists()
    file = _read(path) if exists else YamlFile(_NEW_FILE)
    if not isinstance(file.data.get("upstreams"), dict):
        file.data["upstreams"] = {}
    held = file.data["upstreams"]
    for name, upstream in upstreams.items():
        if name in held and dict(held[name]) != dict(upstream):
            raise SettingsError(
                Fault("another upstream has this name", "Choose another name", f"upstreams.{name}", str(path))
            )
    if not held:
        file.data["upstreams"] = dict(upstreams)  # Not the flow style of an empty mapping.
    else:
        held.update(upstreams)
    text = file.text()
    parse_settings(text, str(path), _AnyVariable())
    path.parent.mkdir(parents=True, exist_ok=True)
    if not exists:
        _create_private(path)  # Headers can hold credentials.
    write_whole(path, text, "-c")
    return path


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; what replaces it keeps these permissions."""
    with suppress(OSError):  # The write itself says why the file cannot be created.
        path.touch(mode=0o600)


def _read(path: Path) -> YamlFile:
    try:
        file = YamlFile(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(Fault(f"cannot be read: {reason}", "Correct it first", file=str(path))) from None
    if file.data is None:
        return YamlFile(_NEW_FILE)
    if not isinstance(file.data, dict):
        raise SettingsError(Fault("a configuration is a mapping of keys to values", file=str(path)))
    return file


class _AnyVariable(dict[str, str]):
    """An environment in which every variable is set: only the structure of the file is checked."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return "x"

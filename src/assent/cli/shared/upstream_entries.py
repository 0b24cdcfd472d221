"""Adds upstreams to a configuration file; comments and order stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assent.cli.client_files.tree_file import YamlFile
from assent.config.load import check_structure
from assent.config.model import LOCK
from assent.config.trust import trust_written
from assent.errors import Fault, SettingsError
from assent.files import read_text, write_whole

_NEW_FILE = """\
# Assent's configuration. `assent serve` runs the gateway; `assent serve --check` checks this file.
upstreams: {}
auth:
  anonymous: {kind: agent, scopes: ["*"]}   # callers without a key; accepted on a loopback address only
"""


def add_upstreams(path: Path, upstreams: Mapping[str, Mapping[str, Any]], new_file: str = "") -> Path:
    """Add upstreams to the configuration at this path, which is created if it does not exist.

    Raises SettingsError, and writes nothing, if a name is taken by another server or the result is not valid.
    """
    exists = path.exists()
    text = with_upstreams(path, upstreams, new_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not exists:
        _create_private(path)  # Headers can hold credentials.
    write_whole(path, text, "-c")
    if not exists:
        trust_written(path)
    return path


def remove_upstreams(path: Path, upstreams: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Remove the upstreams that are in a configuration just so; return their names."""
    file = _load_file(path)
    held = file.data.get("upstreams")
    gone = [name for name, one in upstreams.items() if isinstance(held, dict) and held.get(name) == one]
    if gone:
        file.remove(["upstreams"], gone)
        write_whole(path, file.text(), "-c")
    return gone


def has_upstreams(path: Path) -> bool:
    """Whether a configuration has any upstream."""
    return bool(_load_file(path).data.get("upstreams"))


def lock_file_beside(path: Path) -> Path | None:
    """The lock file that a configuration uses, if it exists."""
    pins = _load_file(path).data.get("pins")
    lock = path.parent / (LOCK if pins is None else str(pins))
    return lock if lock.is_file() else None


def with_upstreams(path: Path, upstreams: Mapping[str, Mapping[str, Any]], new_file: str = "") -> str:
    """The text of the configuration with more upstreams; raises SettingsError as `add_upstreams` does."""
    file = _load_file(path) if path.exists() else YamlFile(new_file or _NEW_FILE)
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
    check_structure(text, str(path))
    return text


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; what replaces it keeps these permissions."""
    with suppress(OSError):  # The write itself says why the file cannot be created.
        path.touch(mode=0o600)


def _load_file(path: Path) -> YamlFile:
    text = read_text(path, "Name another file with -c")
    try:
        file = YamlFile(text)
    except ValueError as error:
        raise SettingsError(Fault(f"cannot be read: {error}", "Correct it first", file=str(path))) from None
    if file.data is None:
        return YamlFile(_NEW_FILE)
    if not isinstance(file.data, dict):
        raise SettingsError(Fault("a configuration is a mapping of keys to values", file=str(path)))
    return file

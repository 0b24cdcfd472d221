"""Replaces the references in a configuration: `${NAME}`, `exec:COMMAND`, `file:PATH` and `keyring:SERVICE/NAME`.

Only the parts that a command uses are resolved. In the others each text with a reference becomes a value that
nobody can guess, so that it works neither as a key nor as an address.
"""

from __future__ import annotations

import importlib
import re
import secrets
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.errors import Fault

if TYPE_CHECKING:
    from assent.contract.yaml_document import YamlDocument

UNREAD = f"https://not-read.invalid/{secrets.token_hex(16)}"
"""What stands for a text with a reference that was not resolved."""
_VARIABLES = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"(exec|file|keyring):(?!//)(.+)", re.DOTALL)
_NEVER_SECRETS = ("guards", "upstreams.*.command", "mcpServers")
_ENDS_WITHIN = 60
_MALFORMED = (
    "the text after ${ is not a variable name",
    "Write ${NAME} with letters, digits and underscores, or $${ for a literal ${",
)


class _Unreadable(Exception):
    """A reference that could not be resolved: what happened, and what to do."""


@dataclass(frozen=True)
class References:
    """Which references are resolved, and from what."""

    environment: Mapping[str, str]
    unused: Sequence[str] = ()
    """The parts that the command does not use, as `auth.api_keys.*.key`."""
    but: Sequence[str] = ()
    """The parts of those that it does use."""
    found: bool = False
    """Whether the file was only found, so that it may not read secrets."""
    home: Path = Path()
    faults: list[Fault] = field(default_factory=list)

    def is_unused(self, path: tuple[Any, ...]) -> bool:
        """Whether the command does not use this part."""
        path = ("upstreams", *path[1:]) if path[:1] == ("mcpServers",) else path
        return _is_under(path, self.unused) and not _is_under(path, self.but)

    def resolve(self, value: Any, document: YamlDocument, path: tuple[Any, ...] = ()) -> Any:
        """The value with every reference replaced; what cannot be read is added to the faults."""
        if isinstance(value, dict):
            return {key: self.resolve(item, document, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item, document, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        secret = None if _is_under(path, _NEVER_SECRETS) else _SECRET.fullmatch(value)
        if secret is None and "${" not in value:
            return value
        if self.is_unused(path) and (secret or _names_in(value)):
            return UNREAD
        return self._read_secret(secret, path, document) if secret else self._expand(value, path, document)

    def _expand(self, text: str, path: tuple[Any, ...], document: YamlDocument) -> str:
        def replacement(match: re.Match[str]) -> str:
            name, closed = match[1], match[2]
            if name is None:
                return "${"
            well_formed = closed and _VARIABLE.fullmatch(name)
            if well_formed and name in self.environment:
                return self.environment[name]
            message, remedy = (f"the variable {name} is not set", f"Set {name}") if well_formed else _MALFORMED
            self._fault(message, remedy, path, document)
            return ""

        return _VARIABLES.sub(replacement, text)

    def _read_secret(self, secret: re.Match[str], path: tuple[Any, ...], document: YamlDocument) -> str:
        kind, name = secret[1], secret[2].strip()
        if self.found:
            message = f"`{kind}:` is not read from a configuration that was only found in this folder"
            self._fault(message, "Name the file: -c assent.yaml", path, document)
            return ""
        try:
            return _run(name, self.home, self.environment) if kind == "exec" else _READERS[kind](name, self.home)
        except _Unreadable as error:
            self._fault(f"`{kind}:` cannot be read: {error}", "Correct it, or run it by hand", path, document)
            return ""

    def _fault(self, message: str, remedy: str, path: tuple[Any, ...], document: YamlDocument) -> None:
        file, line = document.locate(path)
        self.faults.append(Fault(message, remedy, ".".join(map(str, path)), file, line))


def variables_in(value: Any) -> list[str]:
    """The names of all variables that a configuration refers to."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return sorted({name for one in inner for name in variables_in(one)})
    return _names_in(value) if isinstance(value, str) else []


def _names_in(text: str) -> list[str]:
    return [match[1] for match in _VARIABLES.finditer(text) if match[1]]


def _is_under(path: tuple[Any, ...], patterns: Sequence[str]) -> bool:
    """Whether a path is one of the patterns, or inside one."""
    parts = list(map(str, path))
    return any(
        len(parts) >= len(wanted) and all(one in ("*", part) for one, part in zip(wanted, parts, strict=False))
        for wanted in (pattern.split(".") for pattern in patterns)
    )


def _run(command: str, home: Path, environment: Mapping[str, str]) -> str:
    try:
        words = shlex.split(command)
        done = subprocess.run(
            words, cwd=home, env=dict(environment), stdout=subprocess.PIPE, timeout=_ENDS_WITHIN, check=False
        )
    except ValueError as error:
        raise _Unreadable(f"the command is not complete: {error}") from None
    except OSError as error:
        raise _Unreadable(f"{words[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _Unreadable(f"{words[0]} did not end within {_ENDS_WITHIN} seconds") from None
    if done.returncode != 0:
        raise _Unreadable(f"{words[0]} ended with code {done.returncode}")
    return _line(done.stdout, words[0])


def _from_file(path: str, home: Path) -> str:
    try:
        return _line((home / Path(path).expanduser()).read_bytes(), path)
    except OSError as error:
        raise _Unreadable(f"{path}: {error.strerror}") from None


def _from_keyring(name: str, home: Path) -> str:
    service, _, account = name.rpartition("/")
    if not service or not account:
        raise _Unreadable("write keyring:SERVICE/NAME")
    try:
        found = importlib.import_module("keyring").get_password(service, account)
    except ImportError:
        raise _Unreadable("the package is not installed (pip install keyring)") from None
    except Exception as error:  # Each system has its own errors, and the package names no common base.
        raise _Unreadable(f"{type(error).__name__} of the system's keyring") from None
    if found is None:
        raise _Unreadable(f"the keyring has no {account} of {service}")
    return str(found)


def _line(content: bytes, source: str) -> str:
    try:
        text = content.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _Unreadable(f"{source} gave no UTF-8 text") from None
    if not text:
        raise _Unreadable(f"{source} gave nothing")
    return text


_READERS = {"file": _from_file, "keyring": _from_keyring}

"""The folders whose `assent.yaml` commands use although nobody named it with `-c`.

Such a file can start programs and send variables of the shell away, and it may come with a folder that somebody else
made. The user is asked once for each folder; the answer is kept beside the user's own configuration.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assent.config.folders import NoHome, config_folder
from assent.errors import Fault, SettingsError

_LIST = "trusted-folders"


class UntrustedError(SettingsError):
    """A configuration that was found in a folder which the user has not trusted yet."""

    def __init__(self, file: Path) -> None:
        self.file = file
        message = f"{file} was found in this folder, and you have not said yet that it may be used"
        remedy = f"Name it with -c {file}, or trust this folder from now on: assent trust"
        super().__init__(Fault(message, remedy))


def check_trusted(file: Path, environment: Mapping[str, str]) -> None:
    """Raises UntrustedError unless the user has trusted the folder of this file."""
    if _real(file.parent) not in _read_trusted(environment):
        raise UntrustedError(file)


def trust(folder: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Remembers that the configuration of this folder may be used; returns whether that is new."""
    folder_name = _real(folder)
    if folder_name in _read_trusted(environment):
        return False
    place = _place(environment)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.touch(mode=0o600)
        with place.open("a", encoding="utf-8") as file:
            file.write(json.dumps(folder_name) + "\n")
    except OSError as error:
        remedy = "Name the configuration with -c instead"
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", remedy, file=str(place))) from None
    return True


def trust_written(file: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Trusts the folder of a configuration that Assent itself has just created there."""
    if file.name == "assent.yaml":
        with suppress(SettingsError):  # Then the user is asked as for any other folder.
            trust(file.parent, environment)


def _read_trusted(environment: Mapping[str, str]) -> set[str]:
    found = set()
    with suppress(OSError, UnicodeDecodeError):
        for line in _place(environment).read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                found.add(str(json.loads(line)))
    return found


def _place(environment: Mapping[str, str]) -> Path:
    try:
        return Path(config_folder(environment), _LIST)
    except NoHome as error:
        raise SettingsError(Fault(str(error))) from None


def _real(folder: Path) -> str:
    return str(folder.resolve())

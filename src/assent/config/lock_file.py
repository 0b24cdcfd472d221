"""The lock file of accepted tool definitions: read and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assent.core.pins import RESTORE, Pin, Pins, pins_text, read_pins
from assent.errors import Fault, SettingsError
from assent.files import write_whole


def load_pins(path: Path) -> dict[str, dict[str, Pin]] | None:
    """The pins in the lock file, or None if the file does not exist."""
    try:
        return read_pins(path.read_bytes().decode("utf-8"), str(path))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingsError(Fault("not a lock file: it is not UTF-8 text", RESTORE, file=str(path))) from None
    except OSError as error:
        fault = Fault(f"cannot be read: {error.strerror}", "Correct the path or the file permissions", file=str(path))
        raise SettingsError(fault) from None


def write_pins(path: Path, pins: Mapping[str, Pins], option: str = "pins") -> None:
    """Write the lock file in one step; `option` is named in the error where that cannot be done."""
    write_whole(path, pins_text(pins), option)

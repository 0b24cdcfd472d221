"""Reads the lock file of pinned definitions."""

from __future__ import annotations

from pathlib import Path

from assent.core.pins import RESTORE, Pin, read_pins
from assent.errors import Fault, SettingsError


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

"""The systems on which commands run."""

from __future__ import annotations

import sys

from assent.errors import Fault, SettingsError


def require_posix(command: str) -> None:
    """Stop at once on Windows: processes are ended by group, signals and file locks are those of POSIX."""
    if sys.platform == "win32":
        message = f"{command} does not run on Windows: it needs the process groups, signals and file locks of POSIX"
        raise SettingsError(Fault(message, "Run Assent in WSL, Linux or macOS. Nothing was changed"))

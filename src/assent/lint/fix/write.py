"""Writes fixed files: all or none, each atomically."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assent.errors import Fault, SettingsError
from assent.files import draft, is_protected
from assent.lint.fix.fixer import FixedFile


def write_all(files: Sequence[FixedFile]) -> None:
    """Write every new and old text next to its file first, then rename them into place."""
    drafts: list[Path] = []
    steps: list[tuple[Path, Path, Path]] = []
    placed: list[tuple[Path, Path]] = []
    at = ""
    try:
        for one in files:
            if one.after == one.before:
                continue
            at, home = str(one.file), one.file.resolve()
            if is_protected(home):
                raise SettingsError(Fault("it is write-protected", "Allow writing to it", file=at))
            if home.read_bytes() != one.before:
                raise SettingsError(Fault("it was changed meanwhile", "Run it again", file=at))
            drafts.append(old := draft(home, one.before))
            drafts.append(new := draft(home, one.after))
            steps.append((new, old, home))
        for new, old, home in steps:
            at = str(home)
            placed.append((old, home))
            new.replace(home)
    except OSError as error:
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", "Nothing was changed", file=at)) from None
    else:
        placed.clear()
    finally:
        for old, home in placed:
            with suppress(OSError):
                old.replace(home)
        for left in drafts:
            with suppress(OSError):
                left.unlink(missing_ok=True)

"""Keeps the file that an edit replaces, and restores it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assent.errors import Fault, SettingsError
from assent.files import draft

_SUFFIX = ".before-assent"


def backups_of(link: Path) -> list[Path]:
    """The kept files, newest first."""
    file = link.resolve()
    found = [file.with_name(f"{file.name}{_SUFFIX}")]
    while (more := file.with_name(f"{file.name}{_SUFFIX}-{len(found) + 1}")).exists():
        found.append(more)
    return [path for path in reversed(found) if path.exists()]


def require_writable(link: Path) -> None:
    """Raise if the file cannot be replaced, before anything else is changed."""
    try:
        draft(link.resolve(), b"").unlink()
    except OSError as error:
        raise _not_written(link, error) from None


def keep_and_write(link: Path, new: str) -> Path:
    """Write the new text and keep the old file under a free name, with the same permissions."""
    file = link.resolve()  # A symbolic link stays a link.
    made: list[Path] = []
    try:
        made.append(draft(file, file.read_bytes()))
        made.append(draft(file, new.encode()))
        kept = _free_name(file.with_name(f"{file.name}{_SUFFIX}"))
        made[0].rename(kept)
        made[0] = kept
        made[1].replace(file)
        made.clear()
    except OSError as error:
        raise _not_written(link, error) from None
    finally:
        for one in made:
            one.unlink(missing_ok=True)
    return kept


def restore(link: Path, current: str, rewrite: Callable[[str], str | None]) -> Path | None:
    """Put back the newest kept file byte for byte, if the current file is what `rewrite` makes of it.

    Returns None and changes nothing if the file was edited since.
    """
    for kept in backups_of(link)[:1]:
        if rewrite(kept.read_bytes().decode("utf-8", "surrogateescape")) == current:
            try:
                kept.replace(link.resolve())
            except OSError as error:
                raise _not_written(link, error) from None
            return kept
    return None


def _free_name(wanted: Path) -> Path:
    path, number = wanted, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path


def _not_written(link: Path, error: OSError) -> SettingsError:
    remedy = "Nothing was changed; check that you may write to this folder"
    return SettingsError(Fault(f"cannot be written: {error.strerror}", remedy, file=str(link)))

"""How do mended files come to stand where the old ones did: all of them or none, each whole?"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assent.drafts import draft
from assent.errors import Fault, SettingsError
from assent.lint.mending.mend import Mended


def write_all(files: Sequence[Mended]) -> None:
    """Write every file beside its place first, and only then put them there, one rename each."""
    changed = [one for one in files if one.after != one.before]
    staged: list[tuple[Path, Path, bytes]] = []
    placed: list[tuple[Path, bytes]] = []
    try:
        for one in changed:
            home = one.file.resolve()
            if not home.stat().st_mode & stat.S_IWUSR:
                raise SettingsError(Fault("it is write-protected", "Allow writing to it", file=str(one.file)))
            if home.read_bytes() != one.before:
                raise SettingsError(Fault("it was changed meanwhile", "Run it again", file=str(one.file)))
            staged.append((draft(home, one.after), home, one.before))
        for beside, home, before in staged:
            beside.replace(home)
            placed.append((home, before))
    except OSError as error:
        for home, before in placed:
            draft(home, before).replace(home)
        raise SettingsError(
            Fault(f"cannot be written: {error.strerror}", "Nothing was changed", file=str(error.filename or ""))
        ) from None
    finally:
        for beside, _, _ in staged:
            with suppress(OSError):
                beside.unlink(missing_ok=True)

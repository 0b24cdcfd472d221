"""How does a file come to stand where another stood, whole, without anybody seeing a half of it?"""

import os
import secrets
import stat
from pathlib import Path


def draft(home: Path, content: bytes) -> Path:
    """A file beside its place with this content, safely on the disk; one rename puts it there.

    It has the rights of what stands there now, and nobody who may not read that reads it, not even for a moment.
    """
    mode = stat.S_IMODE(home.stat().st_mode) if home.exists() else None
    beside = home.with_name(f".{home.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(mode)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside

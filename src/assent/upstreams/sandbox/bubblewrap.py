"""The command line of bubblewrap for one box (ADR 0160)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from assent.upstreams.sandbox.grants import OWN_FILES, SYSTEM, SYSTEM_FILES, Box, CannotConfine, Grants, is_under

_OWN = Path(__file__).parent / "etc"
_BASE = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
         "--die-with-parent", "--cap-drop", "ALL")  # fmt: skip
ALWAYS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER")


@cache
def bubblewrap() -> str:
    """The path of bubblewrap. Raises CannotConfine where it is not installed."""
    if (found := shutil.which("bwrap")) is None:
        raise CannotConfine("bubblewrap (bwrap) is not installed", "apt install bubblewrap, or dnf install bubblewrap")
    return found


def box_command(grants: Grants, box: Box, cwd: str, home: str, filter_fd: int) -> list[str]:
    """The words before the program's own command."""
    return [bubblewrap(), *_BASE, *_mounts(grants, box, cwd, home), "--seccomp", str(filter_fd), "--"]


def _mounts(grants: Grants, box: Box, cwd: str, home: str) -> Iterator[str]:
    yield from _system()
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var", "--symlink", "/tmp", "/var/tmp")
    yield from ("--dir", "/run")
    granted = {**dict.fromkeys(grants.read, False), **dict.fromkeys(grants.write, box.writes)}
    own = {path: False for path in grants.program if not is_under(path, granted)}
    for path, writable in sorted({**own, **granted}.items()):  # A folder comes before what is in it.
        if os.path.realpath(path) != path:
            raise CannotConfine(
                f"{path} has become a link to {os.path.realpath(path)}", "Restore it, or grant that path"
            )
        yield from ("--bind" if writable else "--ro-bind", path, path)
    for place in (home, cwd):
        if place and not is_under(place, [*granted, *own, *SYSTEM]):
            yield from ("--dir", place)
    yield from ("--remount-ro", "/", "--chdir", cwd)


@cache
def _system() -> tuple[str, ...]:
    words: list[str] = []
    for path in SYSTEM:
        if os.path.islink(path):  # noqa: PTH114
            words += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        elif os.path.isdir(path):  # noqa: PTH112
            words += ["--ro-bind", path, path]
    for path in filter(os.path.exists, SYSTEM_FILES):
        words += ["--ro-bind", path, path]
    for path in OWN_FILES:
        words += ["--ro-bind", str(_OWN / Path(path).name), path]
    return tuple(words)


def box_environment(env: Mapping[str, str], own: Mapping[str, str], named: tuple[str, ...]) -> dict[str, str]:
    """The variables in a box: a few harmless ones, those that are configured for the server, and the named ones."""
    kept = {name: value for name, value in env.items() if name in ALWAYS}
    chosen = {name: env[name] for name in named if name in env}
    fixed = {"TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": "/tmp/.cache"}
    return {**kept, **fixed, **{k: v for k, v in own.items() if not k.startswith("LD_")}, **chosen}

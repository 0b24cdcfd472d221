"""What this machine can confine, found out by trying it."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from assent.upstreams.sandbox.grants import CannotConfine

_TRIAL_WITHIN = 20.0
_SYSCTLS = {
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "allow bwrap in AppArmor, or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}
_CONTAINER = (
    "in a container: allow user namespaces and mounts (for Docker a seccomp profile that does, or a machine of its own)"
)


class BoxNeed(NamedTuple):
    """One thing that a box needs."""

    what: str
    missing: str = ""
    """Why it is not there; empty if it is."""
    remedy: str = ""


_supported = False


def require_support() -> None:
    """Raise CannotConfine with everything that is missing. A machine that has it all is not asked again."""
    global _supported
    if _supported:
        return
    missing = [one for one in findings() if one.missing]
    if missing:
        what = "; ".join(f"{one.what}: {one.missing}" for one in missing)
        raise CannotConfine(f"this machine cannot confine a server ({what})", missing[0].remedy)
    _supported = True


def findings() -> list[BoxNeed]:
    """Each thing that a box needs, in the order in which it is needed; the last one tries a whole box."""
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"):
        here = f"this is {platform.system()} on {platform.machine()}"
        return [BoxNeed("Linux on x86-64 or ARM64", here, "Run the server in a container or a virtual machine")]
    found = [BoxNeed(f"Linux {platform.release()}"), *map(_part, ("bubblewrap", "libseccomp"))]
    if not any(one.missing for one in found):
        found += [_trial()]
    return found


def _part(name: str) -> BoxNeed:
    from assent.upstreams.sandbox.bubblewrap import bubblewrap
    from assent.upstreams.sandbox.seccomp import forbidding_filter, reporting_filter

    try:
        if name == "bubblewrap":
            said = subprocess.run([bubblewrap(), "--version"], capture_output=True, text=True, timeout=10, check=False)
            return BoxNeed(said.stdout.strip() or name)
        forbidding_filter(unix_sockets=False), reporting_filter(reads=False)
    except CannotConfine as error:
        return BoxNeed(name, str(error), error.remedy)
    except (OSError, subprocess.TimeoutExpired) as error:
        return BoxNeed(name, str(error), f"Install {name} again")
    return BoxNeed(name)


def _trial() -> BoxNeed:
    """Start `true` in the strictest box."""
    what = "a box: user, mount, process and network namespaces, system call filters"
    try:
        if (trouble := _try_box()) is None:
            return BoxNeed(what)
    except (OSError, subprocess.TimeoutExpired) as error:
        trouble = str(error)
    return BoxNeed(what, trouble, _remedy())


def _try_box() -> str | None:
    from assent.upstreams.sandbox.bubblewrap import box_command
    from assent.upstreams.sandbox.grants import WEAKEST, Grants
    from assent.upstreams.sandbox.launch import SHIM, descriptor_of
    from assent.upstreams.sandbox.seccomp import forbidding_filter, reporting_filter
    from assent.upstreams.sandbox.supervisor import Supervisor

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    forbidding = descriptor_of(forbidding_filter(unix_sockets=False))
    watching = descriptor_of(reporting_filter(reads=False))
    given = (theirs.fileno(), watching, forbidding)
    command = [*box_command(Grants(), WEAKEST, "/", "", forbidding), "/bin/true"]
    words = [sys.executable, "-I", "-S", SHIM, str(given[0]), str(watching), "", "", "--", *command]
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=given
        )
    finally:
        theirs.close()
        for one in given[1:]:
            os.close(one)
    with ours, process:
        ours.settimeout(_TRIAL_WITHIN)
        said, descriptors, _, _ = socket.recv_fds(ours, 1000, 2)
        if said != b"ready":
            return said.decode("utf-8", "replace") or "the process ended at once"
        Supervisor(descriptors[0], lambda _: None)
        for one in descriptors[1:]:
            os.close(one)
        _, errors = process.communicate(timeout=_TRIAL_WITHIN)
        return None if process.returncode == 0 else errors.decode("utf-8", "replace").strip()[-200:] or "it failed"


def _remedy() -> str:
    for file, (bad, remedy) in _SYSCTLS.items():
        with suppress(OSError):
            if Path(file).read_text(encoding="ascii").strip() == bad:
                return remedy
    return _CONTAINER

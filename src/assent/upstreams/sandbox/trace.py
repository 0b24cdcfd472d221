"""Runs a command and writes what it does into a file: `python -m assent.upstreams.sandbox.trace FILE COMMAND...`.

For programs that start servers in their own way. Where the machine cannot observe, the command runs as it is.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence

from assent.upstreams.sandbox.errors import CannotConfine
from assent.upstreams.sandbox.filters import reporting_filter
from assent.upstreams.sandbox.grants import Attempt
from assent.upstreams.sandbox.launch import SHIM, descriptor_of
from assent.upstreams.sandbox.supervisor import Supervisor


def traced(file: str, command: Sequence[str]) -> list[str]:
    """The words that run a command and write its attempts into a file, one in each line."""
    return [sys.executable, "-m", "assent.upstreams.sandbox.trace", file, *command]


def main(file: str, command: list[str]) -> int:
    try:
        watching = descriptor_of(reporting_filter(reads=True))
    except (CannotConfine, OSError, AttributeError):  # Not Linux, or no libseccomp.
        os.execvp(command[0], command)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, "-I", "-S", SHIM, str(theirs.fileno()), str(watching), "-", "", "--", *command]
    with subprocess.Popen(words, pass_fds=(theirs.fileno(), watching)) as process:
        theirs.close()
        said, descriptors, _, _ = socket.recv_fds(ours, 1000, 1)
        if said != b"ready":
            os.execvp(command[0], command)
        with open(file, "a", buffering=1, encoding="utf-8", errors="backslashreplace") as log:  # noqa: PTH123

            def write(attempt: Attempt) -> None:
                log.write(f"{attempt.kind} {attempt.target!a}\n")

            Supervisor(descriptors[0], write)
            return process.wait()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))

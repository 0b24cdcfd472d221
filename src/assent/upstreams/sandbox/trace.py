"""Runs a command and writes what it does into a file: `python -m assent.upstreams.sandbox.trace FILE COMMAND...`.

For programs that start servers in their own way. Where the machine cannot observe, the command runs as it is.
"""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from assent.upstreams.sandbox.grants import STRONGEST, Attempt, CannotConfine, Grants, Kind
from assent.upstreams.sandbox.launch import SHIM, descriptor_of
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.seccomp import reporting_filter
from assent.upstreams.sandbox.supervisor import Supervisor
from assent.upstreams.sandbox.usage import BoxObserver, Usage

_MOST_NOTES = 5


def traced(file: str, command: Sequence[str]) -> list[str]:
    """The words that run a command and write its attempts into a file, one in each line."""
    return [sys.executable, "-m", "assent.upstreams.sandbox.trace", file, *command]


class TracedUsage(BoxObserver):
    """What each tool of a traced command touched beside the system's files and the program's own."""

    def __init__(self, file: Path, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._log, self._read, self.usage, self._tool = file, 0, Usage(), ""
        self.command = traced(str(file), command)
        try:
            program = find_program(command, env, None).reads
        except CannotConfine:
            program = {}
        super().__init__("", self.usage, Grants(program=program), lambda: STRONGEST, list, confined=False)

    def take(self, tool: str) -> None:
        """Read what was written since the last look; it belongs to this tool."""
        self._tool = tool
        text = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        lines, self._read = text[self._read :].splitlines(), len(text)
        for line in lines:
            kind, _, target = line.partition(" ")
            self(Attempt(cast(Kind, kind), ast.literal_eval(target)))

    def notes(self) -> Iterator[str]:
        """What tools changed and reached, in words."""
        for tool, found in sorted(self.usage.used.items()):
            for kind, verb in (("write", "changed"), ("network", "reached")):
                targets = sorted(one.target for one in found if one.kind == kind and tool)
                more = f" and {len(targets) - _MOST_NOTES} more" if len(targets) > _MOST_NOTES else ""
                if targets:
                    yield f"{tool} {verb} {', '.join(targets[:_MOST_NOTES])}{more}"

    def _keep(self, attempt: Attempt) -> None:
        self.usage.add([self._tool], attempt, stopped=False)


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

"""Walks a page of the documentation: writes its files, types its commands, compares what they print.

- A fence with a title (`python title="shop.py"`) is a file, which is written.
- A `console` fence has commands after `$ ` and what they print. A terminal runs them, one after the other.
- A `console` fence with a title is a second terminal: its command keeps running until the next fence of that title.
- Any other fence must follow the comment `<!-- not run: REASON -->`.

In shown output, `…` alone on a line is any number of lines, and `…` in a line any text. Ids and keys that differ in
each run are learned from the output: later commands use the real ones, as a reader does. A free port replaces 8420.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

LIMIT = 120.0
_FENCE = re.compile(
    r"(<!-- not run: [^>]+ -->\n+)?^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_ASKED = re.compile(r"\[[yY]/[nN]\]: (\w+)$", re.MULTILINE)
_LEARNED = r"\b[0-9a-f]{32}\b|assent_[A-Za-z0-9_-]{16,}|link=[\w-]{20,}"
_VARYING = (
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)",
    r"\b\d{1,2}m(?:\d{1,2}s)?\b",
    r"\[\d{3,}\]",
    r"\bsha256:[0-9a-f]{6,}",
    r"\b\d+\.\d+s\b",
    r"/\S*/python[\d.]*",
)
_TOKEN = re.compile(
    "|".join((f"(?P<learned>{_LEARNED})", *(f"(?P<v{n}>{one})" for n, one in enumerate(_VARYING)), "(?P<any>…)"))
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")


@dataclass
class PageWalk:
    """One reader in one folder."""

    folder: Path
    port: str = field(default_factory=lambda: str(free_port()))
    known: dict[str, str] = field(default_factory=dict)
    running: dict[str, Terminal] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def walk(self, page: str) -> int:
        """Do everything that the page says, and return how many commands ran."""
        ran = 0
        for not_run, language, title, body in _FENCE.findall(page):
            if not_run:
                continue
            if language == "console":
                ran += self._type(body, title)
            else:
                assert title, f"this block is neither a file nor a command:\n{body}"
                path = self.folder / title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._real(body), encoding="utf-8")
        return ran

    def close(self) -> None:
        for terminal in self.running.values():
            terminal.stop()

    def _type(self, body: str, title: str) -> int:
        commands = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
        for shown in commands:
            command, _, output = shown.partition("\n")
            if command.startswith("export "):
                name, _, value = self._real(command).removeprefix("export ").partition("=")
                self.environment[name] = value
                continue
            if title and title in self.running:
                self.running.pop(title).stop()
            port = f" --port {self.port}" if title and command.startswith("assent serve") else ""
            terminal = Terminal(self._real(command) + port, self.folder, self.environment)
            if title:
                self.running[title] = terminal
                terminal.read(lambda text, wanted=output: self._fits(wanted, text, whole=False))
            else:
                text = terminal.read(None, answers=_ASKED.findall(output))
                assert self._fits(output, text), f"$ {command}\nThe page shows:\n{output}\nIt printed:\n{text}"
        return len(commands)

    def _real(self, text: str) -> str:
        """The page's text with the values of this run."""
        for shown, real in self.known.items():
            text = text.replace(shown, real)
        return text.replace("8420", self.port)

    def _fits(self, shown: str, printed: str, whole: bool = True) -> bool:
        names: list[str] = []
        parts = [self._line(line, names) for line in self._real(shown).rstrip("\n").split("\n")]
        pattern = re.compile("".join(parts).removesuffix(r"\n") + r"\n*")
        found = pattern.fullmatch(printed) if whole else pattern.match(printed)
        if found is not None:
            self.known.update(zip(names, found.groups(), strict=True))
        return found is not None

    def _line(self, line: str, names: list[str]) -> str:
        if line == "…":
            return r"(?:.*\n)*?"
        pattern, end = "", 0
        for token in _TOKEN.finditer(line):
            pattern += re.escape(line[end : token.start()])
            end = token.end()
            if token["any"]:
                pattern += ".*?"
            elif not token["learned"]:
                pattern += f"(?:{_VARYING[int((token.lastgroup or 'v0')[1:])]})"
            elif token[0] in self.known.values():
                pattern += re.escape(token[0])
            else:
                names.append(token[0])
                pattern += f"({_LEARNED})"
        return pattern + re.escape(line[end:]) + r" *\n"


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


class Terminal:
    """A terminal in which one command runs."""

    def __init__(self, command: str, folder: Path, exported: dict[str, str]) -> None:
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        # The commands run as the page's reader would: without what this test run has set.
        environment = {**kept, **exported, "PATH": path, "HOME": str(folder), "TERM": "dumb", "NO_COLOR": "1"}
        self._process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)
        self.text = ""

    def read(self, until: object, answers: list[str] | None = None) -> str:
        """Read until the command has ended, or until `until` says that enough was printed."""
        left, deadline = list(answers or ()), time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self._main], [], [], 0.5)
            more = self._more() if ready else b""
            if more is None:
                self._process.wait(LIMIT)
                return self.text
            self.text += _CONTROL.sub("", more.decode("utf-8", "replace"))
            if left and re.search(r"\[[yY]/[nN]\]: $", self.text):
                os.write(self._main, f"{left.pop(0)}\n".encode())
            if callable(until) and until(self.text):
                return self.text
        raise AssertionError(f"this is all that was printed:\n{self.text}")

    def _more(self) -> bytes | None:
        try:
            return os.read(self._main, 65536) or None
        except OSError:  # Linux says so when the last process has closed the other end.
            return None

    def stop(self) -> None:
        """Press Ctrl-C and wait for the end."""
        os.killpg(self._process.pid, signal.SIGINT)
        self.read(None)
        os.close(self._main)

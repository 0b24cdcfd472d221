"""What a program needs to start: its own installation, the interpreter, the caches of npx and uvx.

All of it is granted for reading, and named. Nothing broad is granted by this, such as a home folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assent.upstreams.sandbox.grants import SYSTEM, CannotConfine, is_broad, is_under

_INTERPRETERS = re.compile(r"(python|pypy|node|bun|deno|ruby|php|perl|tsx|ts-node|java|bash|sh)[\d.]*\Z")
_CODE = {".py", ".js", ".mjs", ".cjs", ".ts", ".json", ".rb", ".php", ".pl", ".sh", ".jar"}
_MOST_FILES = 500


@dataclass
class Program:
    """A command as it runs in its box, and the paths it needs, each with the reason."""

    command: list[str]
    reads: dict[str, str] = field(default_factory=dict)

    def grant(self, path: Path, reason: str) -> None:
        """Grant a path, unless the system's folders contain it or it is too broad."""
        text = str(path)
        if path.exists() and not is_under(text, [*SYSTEM, *self.reads]) and not is_broad(text):
            self.reads[text] = reason


def find_program(command: Sequence[str], env: Mapping[str, str], cwd: str | None) -> Program:
    """The command with full paths, and what it needs. Raises CannotConfine if it cannot be found."""
    folder = Path(cwd or os.getcwd())  # noqa: PTH109
    command = _without_runner(list(command), env, folder)
    found = shutil.which(command[0], path=env.get("PATH"))
    if found is None:
        raise CannotConfine(f"the command {command[0]!r} was not found", "Install it, or give its full path")
    program = Program([found, *command[1:]])
    program.command[0] = str(_executable(program, folder / found))
    if _INTERPRETERS.match(Path(found).name):
        _script(program, folder)
    return program


def _executable(program: Program, path: Path) -> Path:
    """Grant the installation of an executable file; returns the path by which it is run."""
    venv = next((up for up in list(path.parents)[:2] if (up / "pyvenv.cfg").is_file()), None)
    if venv is not None:
        program.grant(venv, "its virtual environment")
        _base_of(program, venv)
        _script_interpreter(program, path)
        return path
    real = path.resolve()
    if is_under(str(real), SYSTEM):
        return real
    prefix = real.parent.parent
    if real.parent.name in ("bin", "sbin", "shims") and not is_broad(str(prefix)):
        program.grant(prefix, f"the installation of {real.name}")
    elif (package := _package_of(real)) is not None:
        program.grant(package, "its package")
    else:
        program.grant(real, "the program")
    _script_interpreter(program, real)
    return real


def _script_interpreter(program: Program, path: Path) -> None:
    try:
        with path.open("rb") as file:
            line = file.read(256).split(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return
    words = line[2:].split() if line.startswith("#!") else []
    if words and Path(words[0]).name == "env":
        words = [shutil.which(word) or word for word in words[1:] if not word.startswith("-")][:1]
    if words and Path(words[0]) != path and Path(words[0]).exists():
        _executable(program, Path(words[0]))


def _base_of(program: Program, venv: Path) -> None:
    """Grant the Python that a virtual environment is made of, and the folders that it links to."""
    for line in (venv / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            program.grant(Path(value.strip()).resolve().parent, "its Python")
    python = venv / "bin" / "python"
    if python.exists():
        program.grant(python.resolve().parent.parent, "its Python")
    for file in venv.glob("lib/python*/site-packages/*.pth"):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()[:_MOST_FILES]:
            if line.startswith("/"):
                program.grant(Path(line.strip()), "a package that its environment links to")


def _script(program: Program, folder: Path) -> None:
    """Grant the script that an interpreter runs, and the code beside it; never the data beside it."""
    for position, word in enumerate(program.command[1:], 1):
        if word == "-m":
            for one in _code_in(folder):
                program.grant(one, "code in its folder")
            return
        path = folder / word
        if word.startswith("-") or not path.is_file():
            continue
        real = path.resolve()
        if (package := _package_of(real)) is not None:
            program.grant(package, "its package")
        else:
            program.grant(real, "its script")
            for one in _code_in(real.parent):
                program.grant(one, "code beside its script")
        program.command[position] = str(real)
        return


def _package_of(path: Path) -> Path | None:
    """The installed packages of Node that a file belongs to, or its own package."""
    parts = path.parts
    if "node_modules" in parts:
        return Path(*parts[: parts.index("node_modules") + 1])
    package = next((up for up in list(path.parents)[:4] if (up / "package.json").is_file()), None)
    return package if package is not None and not is_broad(str(package)) else None


def _code_in(folder: Path) -> Iterable[Path]:
    try:
        entries = sorted(folder.iterdir())[:_MOST_FILES]
    except OSError:
        return []
    return [
        one
        for one in entries
        if (one.suffix in _CODE and one.is_file()) or (one / "__init__.py").is_file() or one.name == "node_modules"
    ]


def _without_runner(command: list[str], env: Mapping[str, str], folder: Path) -> list[str]:
    """What npx, uvx or pipx would run, from their caches: in a box they can neither download nor write."""
    runner, words = Path(command[0]).name, command[1:]
    home = Path(env.get("HOME", "~")).expanduser()
    if runner == "npx":
        return _npx(words, home, env, folder)
    if runner == "uvx":
        return _uvx(words, home, env)
    if runner == "uv" and words[:2] == ["tool", "run"]:
        return _uvx(words[2:], home, env)
    if runner in ("uv", "pipx", "bunx", "npm", "pnpm", "yarn"):
        remedy = "Install the server and give the path of its own program as the command"
        raise CannotConfine(f"{runner} downloads and installs while it starts, which a box does not allow", remedy)
    return command


def _npx(words: list[str], home: Path, env: Mapping[str, str], folder: Path) -> list[str]:
    package, chosen, rest = _package_and_program(words, ("-p", "--package"))
    name = package[0] + package[1:].partition("@")[0]
    cache = Path(env.get("npm_config_cache") or home / ".npm")
    places = [folder / "node_modules", *(one / "node_modules" for one in _npx_folders(cache, package))]
    for modules in places:
        manifest = modules / name / "package.json"
        if manifest.is_file():
            programs = json.loads(manifest.read_text(encoding="utf-8")).get("bin") or {}
            own = chosen or name.rpartition("/")[2]
            file = programs if isinstance(programs, str) else programs.get(own) or next(iter(programs.values()), None)
            if file:
                return ["node", str((modules / name / file).resolve()), *rest]
    raise CannotConfine(
        f"{package} is not in the cache of npx", f"Run `npx -y {package} --help` once, then start again"
    )


def _npx_folders(cache: Path, package: str) -> list[Path]:
    """The folders that npx made for exactly this package, the newest first."""
    found = []
    for manifest in cache.glob("_npx/*/package.json"):
        try:
            asked = json.loads(manifest.read_text(encoding="utf-8")).get("_npx", {}).get("packages", [])
        except (OSError, ValueError, AttributeError):
            continue
        if package in asked:
            found.append(manifest.parent)
    return sorted(found, key=lambda one: one.stat().st_mtime, reverse=True)


def _uvx(words: list[str], home: Path, env: Mapping[str, str]) -> list[str]:
    package, chosen, rest = _package_and_program(words, ("--from",))
    name = re.split(r"[@=<>\[~! ]", package)[0]
    program = chosen or name
    tools = Path(env.get("UV_TOOL_DIR") or home / ".local/share/uv/tools")
    cache = Path(env.get("UV_CACHE_DIR") or home / ".cache/uv")
    cached = sorted(cache.glob(f"archive-v0/*/bin/{program}"), key=lambda one: one.stat().st_mtime, reverse=True)
    folder = re.sub(r"[-_.]+", "-", name).lower()
    for file in (tools / folder / "bin" / program, *cached):
        if file.is_file():
            return [str(file), *rest]
    raise CannotConfine(f"{package} is not installed for uvx", f"Run `uv tool install {name}`, then start again")


def _package_and_program(words: list[str], options: tuple[str, ...]) -> tuple[str, str, list[str]]:
    """The package that a runner is told to run, the program if another one is named, and the arguments after it."""
    package, words = "", list(words)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in options and words:
            package = words.pop(0)
        elif word.partition("=")[0] in options:
            package = word.partition("=")[2]
    if not words and not package:
        raise CannotConfine("the runner is not told which package to run", "Name the package in the command")
    first, rest = (words[0], words[1:]) if words else ("", [])
    return (package, first, rest) if package else (first, "", rest)

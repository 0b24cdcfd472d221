"""Judges what a shell command does: the worst of the programs that it runs.

The parser of the guard `shell_commands` reads the text. It refuses what a shell would expand, so that what is judged is
what runs; such a command is `unreadable`, and a person is asked. A redirection into a plain file is a write to it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import PurePosixPath
from typing import NamedTuple

from assent.rules.guards.shell import UnreadableCommand, Word, may_be_option, risky_options, simple_commands

EFFECTS = ("read", "fetch", "write", "unreadable", "share", "destroy")
"""What a command can do, from harmless to severe."""


class Effect(NamedTuple):
    """What a command does, and why; the paths that it names."""

    kind: str
    why: str = ""
    paths: tuple[str, ...] = ()


_TABLES = tomllib.loads(resources.files(__package__).joinpath("shell_programs.toml").read_text(encoding="utf-8"))
_INLINE: dict[str, str] = _TABLES.pop("inline")
_WORDS = {name: frozenset(text.split()) for name, text in _TABLES.items()}
_REDIRECTION = re.compile(r"(?<![\w>&])(?:[12]|&)?>>?[ \t]*(?![&(>|])([A-Za-z0-9_./@%+:,=-]+)(?=$|[\s;|])")
_SILENCE = re.compile(r"(?<![\w>&])(?:2>&1|1>&2|(?:[12]|&)?>[ \t]*/dev/null)(?=$|[\s;|])")
_LOOPBACK = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/[^@]*)?\Z")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\!]*\"")


def effect_of(command: str) -> Effect:
    """What a command does. A pipe or a list of commands is as severe as its worst part."""
    try:
        plain, written = _without_redirections(command)
        parts = [_judge([word.text for word in one], one) for one in simple_commands(plain)]
    except UnreadableCommand as why:
        return Effect("unreadable", str(why))
    if written:
        parts.append(Effect("write", "it writes a file", written))
    if not parts:
        return Effect("unreadable", "it is empty")
    worst = max(parts, key=lambda one: EFFECTS.index(one.kind))
    paths = tuple(path for one in parts for path in one.paths)
    if worst.kind == "fetch" and any(one.kind == "write" for one in parts):
        return Effect("unreadable", "it writes or runs what it fetches", paths)
    return worst._replace(paths=paths)


def _without_redirections(command: str) -> tuple[str, tuple[str, ...]]:
    """The command without redirections into plain files, and these files. Quoted text is left alone."""
    pieces, found, at = [], list[str](), 0
    for quoted in [*_QUOTED.finditer(command), None]:
        end = quoted.start() if quoted is not None else len(command)
        bare = _SILENCE.sub(" ", command[at:end])
        found += _REDIRECTION.findall(bare)
        pieces += [_REDIRECTION.sub(" ", bare), quoted[0] if quoted is not None else ""]
        at = quoted.end() if quoted is not None else end
    return "".join(pieces), tuple(found)


def _judge(words: list[str], parsed: Sequence[Word]) -> Effect:
    program = PurePosixPath(words[0]).name
    rest, paths = words[1:], tuple(word for word in words[1:] if not word.startswith("-"))
    if not words[0].isascii():
        return Effect("unreadable", "its program has unusual letters")
    if "/" in words[0] and not words[0].startswith(("/bin/", "/usr/bin/", "/usr/local/bin/", "./", "../")):
        return Effect("unreadable", f"it runs the file {words[0][:80]}")
    if program in _WORDS["shells"] or program in _WORDS["runs_others"]:
        return Effect("unreadable", f"{program} runs other commands")
    if program == "env" and rest:
        return Effect("unreadable", "env runs another command")
    if program == "git":
        risky = any(_is_any(word, risky_options(parsed)) for word in parsed[1:])
        judged = _judge_git(rest, paths)
        return (
            Effect("unreadable", "git has an option that runs or writes") if risky and judged.kind == "read" else judged
        )
    if program in _INLINE and any(_is_any(word, _INLINE[program].split()) for word in parsed[1:]):
        return Effect("unreadable", f"{program} runs code that is written in the command")
    if program in _WORDS["destroys"]:
        return Effect("destroy", f"{program} deletes, stops or changes more than files of the project", paths)
    if program in _WORDS["managers"] and "publish" in rest:
        return Effect("share", f"{program} publish makes a package public")
    if program in _WORDS["managers"] and any(word in _WORDS["installs"] for word in rest[:2]):
        return Effect("unreadable", f"{program} {rest[0][:20]} can run code from the network", paths)
    if "http.server" in rest or ("pip" in rest[:2] and program.startswith("python")):
        return Effect("unreadable", f"{program} -m {rest[-1][:40]} reaches the network")
    if program in _WORDS["shares"]:
        return Effect("share", f"{program} sends data to another machine", ())
    if program in _WORDS["fetches"]:
        sends = any(_is_any(word, _WORDS["sending"]) for word in parsed[1:])
        writes = any(_is_any(word, risky_options(parsed)) for word in parsed[1:]) or program == "wget"
        if sends:
            return Effect("share", f"{program} sends data")
        if writes:
            return Effect("unreadable", f"{program} writes what it fetches")
        return Effect("read") if paths and all(map(_LOOPBACK.match, paths)) else Effect("fetch")
    if program in _WORDS["reads"]:
        if any(_is_any(word, risky_options(parsed)) for word in parsed[1:]):
            severe = program == "find"
            return Effect("destroy" if severe else "write", f"{program} has an option that runs or writes", paths)
        if any(word.bare and _reaches_out(word.text) for word in parsed[1:]):
            return Effect("unreadable", "a pattern in it can name files outside the project", paths)
        return Effect("read", paths=paths)
    if program in _WORDS["writes"]:
        return Effect("write", f"{program} can change files", paths)
    return Effect("unreadable", f"{program[:40]} is not a program that Assent knows")


def _judge_git(rest: list[str], paths: tuple[str, ...]) -> Effect:
    if rest and rest[0].startswith(("-c", "--exec-path", "--config-env", "--upload-pack")):
        return Effect("unreadable", "git is given settings that can run programs")
    command = next((word for word in rest if not word.startswith("-")), "")
    if command == "push":
        forced = any(word.startswith(("-f", "--force", "--mirror", "--delete", "-d", "+")) for word in rest)
        return Effect("destroy" if forced else "share", "git push sends commits to another machine")
    if command in _WORDS["git_destroys"] or any(word in ("-D", "--delete", "--hard", "--force") for word in rest):
        return Effect("destroy", f"git {command} can lose work", paths)
    if command in _WORDS["git_reads"]:
        return Effect("read", paths=paths)
    if command in ("remote", "branch", "tag", "stash", "worktree") and len(rest) == 1:
        return Effect("read")
    if command in _WORDS["git_writes"]:
        return Effect("write", f"git {command} changes the repository", paths)
    return Effect("unreadable", f"git {command[:40]} is not a command that Assent knows")


def _reaches_out(text: str) -> bool:
    """Whether a shell may expand a word to files elsewhere."""
    return any(sign in text for sign in "*?[") and (text.startswith(("/", "~")) or ".." in text)


def _is_any(word: Word, options: Iterable[str]) -> bool:
    return any(may_be_option(word, option) for option in options)

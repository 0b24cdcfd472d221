"""Judges what a shell command does: the worst of the programs that it runs.

The parser of the guard `shell_commands` reads the text. It refuses what a shell would expand, so that what is judged is
what runs; such a command is `unreadable`, and a person is asked. A redirection into a plain file is a write to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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


def _table(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READS = _table(
    "ls cat head tail grep egrep fgrep rg ag wc pwd echo printf true false which whereis type file stat du df ps uname"
    " date whoami id hostname basename dirname realpath readlink sort uniq cut tr nl tac rev column diff cmp comm"
    " md5sum sha1sum sha256sum cksum tree less more jq yq env printenv locale uptime free lscpu test expr seq sleep"
    " find fd strings od hexdump xxd base64 fold fmt join paste zcat tokei cloc nproc tty groups cal bc cd pushd popd"
)
_WRITES = _table(
    "mkdir touch cp mv ln tee patch sed install unzip tar gzip gunzip bzip2 xz zip make cmake ninja pytest tox nox ruff"
    " mypy black isort flake8 pylint pyright tsc eslint prettier jest vitest mocha cargo rustc rustfmt go gofmt gradle"
    " gradlew mvn npm pnpm yarn bun deno pip pip3 uv poetry conda bundle rake rspec composer dotnet swift"
    " node python python3 ruby php java javac gcc g++ clang clang++ ctest pre-commit alembic chmod"
)
_INSTALLS = _table("install i add exec dlx x run-script create init sync update upgrade get")
"""Words after a package manager with which it fetches code or runs code that it fetched."""
_MANAGERS = _table("npm pnpm yarn bun pip pip3 uv poetry conda bundle composer cargo go gem deno dotnet")
_FETCHES = _table("curl wget http https xh lynx w3m dig nslookup host ping whois")
_SHARES = _table("scp sftp rsync ssh nc ncat netcat socat telnet ftp mail sendmail mutt gh glab aws gcloud az s3cmd")
_DESTROYS = _table(
    "rm rmdir shred dd mkfs fdisk parted wipefs truncate kill pkill killall shutdown reboot halt poweroff sudo doas su"
    " chown chgrp mount umount iptables nft ufw systemctl service launchctl crontab at userdel useradd usermod passwd"
    " visudo docker podman kubectl helm terraform pulumi vagrant ansible psql mysql mongo redis-cli sqlite3 dropdb"
    " assent"
)
_RUNS_OTHERS = _table("eval exec source . command builtin xargs parallel watch nohup time timeout nice ionice strace")
_SHELLS = _table("sh bash zsh dash ksh fish ash busybox pwsh powershell cmd")
_INLINE = {
    "python": "-c",
    "python3": "-c",
    "node": "-e -p --eval --print",
    "ruby": "-e",
    "php": "-r",
    "perl": "-e -E",
    "deno": "eval",
    "bun": "-e --eval",
}
_GIT_READS = _table(
    "status log diff show blame describe shortlog reflog rev-parse rev-list ls-files ls-tree cat-file grep name-rev"
    " whatchanged cherry merge-base for-each-ref show-ref var version help count-objects"
)
_GIT_WRITES = _table(
    "add commit checkout switch restore merge rebase cherry-pick revert stash tag branch init mv apply am bisect"
    " worktree config notes format-patch fetch pull clone submodule"
)
_GIT_DESTROYS = _table("clean reset gc prune filter-branch filter-repo update-ref rm")
_SENDING = tuple(
    "-d -F -T -X --data --data-raw --data-binary --data-urlencode --form --upload-file --request --json --post-data"  # noqa: SIM905
    " --post-file --method --body-data --body-file".split()
)
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
    if program in _SHELLS or program in _RUNS_OTHERS:
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
    if program in _DESTROYS:
        return Effect("destroy", f"{program} deletes, stops or changes more than files of the project", paths)
    if program in _MANAGERS and "publish" in rest:
        return Effect("share", f"{program} publish makes a package public")
    if program in _MANAGERS and any(word in _INSTALLS for word in rest[:2]):
        return Effect("unreadable", f"{program} {rest[0][:20]} can run code from the network", paths)
    if "http.server" in rest or ("pip" in rest[:2] and program.startswith("python")):
        return Effect("unreadable", f"{program} -m {rest[-1][:40]} reaches the network")
    if program in _SHARES:
        return Effect("share", f"{program} sends data to another machine", ())
    if program in _FETCHES:
        sends = any(_is_any(word, _SENDING) for word in parsed[1:])
        writes = any(_is_any(word, risky_options(parsed)) for word in parsed[1:]) or program == "wget"
        if sends:
            return Effect("share", f"{program} sends data")
        if writes:
            return Effect("unreadable", f"{program} writes what it fetches")
        return Effect("read") if paths and all(map(_LOOPBACK.match, paths)) else Effect("fetch")
    if program in _READS:
        if any(_is_any(word, risky_options(parsed)) for word in parsed[1:]):
            severe = program == "find"
            return Effect("destroy" if severe else "write", f"{program} has an option that runs or writes", paths)
        if any(word.bare and _reaches_out(word.text) for word in parsed[1:]):
            return Effect("unreadable", "a pattern in it can name files outside the project", paths)
        return Effect("read", paths=paths)
    if program in _WRITES:
        return Effect("write", f"{program} can change files", paths)
    return Effect("unreadable", f"{program[:40]} is not a program that Assent knows")


def _judge_git(rest: list[str], paths: tuple[str, ...]) -> Effect:
    if rest and rest[0].startswith(("-c", "--exec-path", "--config-env", "--upload-pack")):
        return Effect("unreadable", "git is given settings that can run programs")
    command = next((word for word in rest if not word.startswith("-")), "")
    if command == "push":
        forced = any(word.startswith(("-f", "--force", "--mirror", "--delete", "-d", "+")) for word in rest)
        return Effect("destroy" if forced else "share", "git push sends commits to another machine")
    if command in _GIT_DESTROYS or any(word in ("-D", "--delete", "--hard", "--force") for word in rest):
        return Effect("destroy", f"git {command} can lose work", paths)
    if command in _GIT_READS:
        return Effect("read", paths=paths)
    if command in ("remote", "branch", "tag", "stash", "worktree") and len(rest) == 1:
        return Effect("read")
    if command in _GIT_WRITES:
        return Effect("write", f"git {command} changes the repository", paths)
    return Effect("unreadable", f"git {command[:40]} is not a command that Assent knows")


def _reaches_out(text: str) -> bool:
    """Whether a shell may expand a word to files elsewhere."""
    return any(sign in text for sign in "*?[") and (text.startswith(("/", "~")) or ".." in text)


def _is_any(word: Word, options: Iterable[str]) -> bool:
    return any(may_be_option(word, option) for option in options)

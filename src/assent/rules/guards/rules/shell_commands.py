"""Guard `shell_commands`: only allowed commands are run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule
from assent.rules.guards.shell import UnreadableCommand, Word, may_be_option, risky_options, simple_commands
from assent.rules.guards.values import Named


class ShellCommands(GuardRule):
    """Every command must be one of the allowed commands; `git status` allows it with any further arguments.

    The text is parsed as a POSIX shell reads it. Several commands joined by `;`, `&&`, `||`, `|` or line ends are each
    checked, and so is each item of a list `commands`; any other list is one command with its arguments. Not allowed is
    anything that a shell would expand or that starts something else: variables, substitutions, subshells, redirections,
    background jobs, assignments before the program, comments. Options that run a program or write a file (`sort -o`,
    `find -exec`, `sed -i`) are known for some programs and need an entry of their own: `sort -o`. An allowed program
    that runs others (`env`, `awk`, `sed`, `sh`) allows those too, so allow `git status` rather than `git`.
    `block_arguments` are found shortened (`--out`), with a value (`-oX`) and among other letters (`-ro`). For
    PowerShell and cmd.exe use `allow_values`.
    """

    usual_fields: ClassVar[tuple[str, ...]] = ("command", "commands", "cmd", "script", "shell", "argv")
    changed: ClassVar[tuple[str, str]] = ("", "options that run a program or write a file are refused unless allowed")
    per_character: ClassVar[float] = 1.0
    most_characters: ClassVar[int] = 100_000
    examples: ClassVar[Examples] = Examples(
        {"allow": ["ls", "git status", "git log"]},
        passes=(
            {"command": "ls -l '/tmp/my files'"},
            {"command": "git status && git log -3"},
            {"command": ["git", "log"]},
        ),
        objects=(
            {"command": "rm -rf /"},
            {"command": "ls; rm x"},
            {"command": "ls $(rm x)"},
            {"command": "l''s > /etc/passwd"},
            {"command": "git push"},
            {"command": "git log --output=/etc/passwd"},
            {"command": ["rm", "x"]},
        ),
    )

    allow: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, description="The allowed commands.")
    ]
    block_arguments: Annotated[tuple[str, ...], Field(description="Arguments that no command may have.")] = ()

    @cached_property
    def _allowed(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(command.split()) for command in self.allow)

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        for path, value in self.checked_values(arguments):
            if (found := self._judge((path, value))) is not None:
                return found
        return None

    def _judge(self, named: Named) -> Denial | None:
        path, value = named
        if value is None:
            return None
        several = path.rpartition(".")[2].lower() == "commands"
        if isinstance(value, list) and value and (several or all(isinstance(item, list | dict) for item in value)):
            found = (self._judge((f"{path}[{index}]", item)) for index, item in enumerate(value))
            return next((one for one in found if one is not None), None)
        try:
            commands = simple_commands(value) if isinstance(value, str) else [_words(value)]
        except UnreadableCommand as why:
            return path, str(why)
        reasons = filter(None, map(self._judge_words, commands))
        return next(((path, reason) for reason in reasons), None)

    def _judge_words(self, words: list[Word]) -> str | None:
        fitting = [len(one) for one in self._allowed if tuple(word.text for word in words[: len(one)]) == one]
        if not fitting:
            return "it runs a command that is not allowed"
        rest = words[max(fitting) :]
        blocked = any(may_be_option(word, one) for word in words for one in self.block_arguments)
        risky = any(may_be_option(word, one) for word in rest for one in risky_options(words, max(fitting)))
        if blocked:
            return "it has an argument that is not allowed"
        return "it has an option that runs a program or writes a file" if risky else None


def _words(value: Any) -> list[Word]:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return [Word(item, bare=False) for item in value]
    raise UnreadableCommand("it is not a command")

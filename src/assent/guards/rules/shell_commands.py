"""Guard `shell_commands`: only allowed commands are run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.guards.context import NO_CONTEXT, Context
from assent.guards.rule import Denial, Examples, GuardRule
from assent.guards.shell import UnreadableCommand, simple_commands
from assent.guards.values import Named


class ShellCommands(GuardRule):
    """Every command must be one of the allowed commands; `git status` allows it with any further arguments.

    The text is parsed as a POSIX shell reads it. Several commands joined by `;`, `&&`, `||`, `|` or line ends are each
    checked. Not allowed is anything that a shell would expand or that starts something else: variables, substitutions,
    subshells, redirections, background jobs, assignments before the program, comments. A list is one command with its
    arguments. An allowed program that runs others (`env`, `find -exec`, `git -c`, `sh`) allows those too, so allow
    `git status` rather than `git`. For PowerShell and cmd.exe use `allow_values`.
    """

    usual_fields: ClassVar[tuple[str, ...]] = ("command", "commands", "cmd", "script", "shell", "argv")
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
        for path, value in self.checked(arguments):
            if (found := self._judge((path, value))) is not None:
                return found
        return None

    def _judge(self, named: Named) -> Denial | None:
        path, value = named
        if value is None:
            return None
        if isinstance(value, list) and value and all(isinstance(item, list | dict) for item in value):
            found = (self._judge((f"{path}[{index}]", item)) for index, item in enumerate(value))
            return next((one for one in found if one is not None), None)
        try:
            commands = simple_commands(value) if isinstance(value, str) else [_words(value)]
        except UnreadableCommand as why:
            return path, str(why)
        for words in commands:
            if not any(tuple(words[: len(one)]) == one for one in self._allowed):
                return path, "it runs a command that is not allowed"
            if any(
                word == blocked or word.startswith(blocked + "=") for word in words for blocked in self.block_arguments
            ):
                return path, "it has an argument that is not allowed"
        return None


def _words(value: Any) -> list[str]:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    raise UnreadableCommand("it is not a command")

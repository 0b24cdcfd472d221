"""The help of the commands: whole sentences, examples, and lines that fit a terminal."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from assent.cli import COMMANDS, cli
from assent.hosts.pages import FORMATS as HOST_FORMATS
from assent.lint.report import FORMATS as LINT_FORMATS
from assent.reference.commands import all_commands

GROUPS = [name for name in COMMANDS if isinstance(cli.get_command(click.Context(cli), name), click.Group)]


def shown(*words: str) -> str:
    return CliRunner().invoke(cli, [*words, "--help"], terminal_width=80).output


@pytest.mark.parametrize("name", GROUPS)
def test_no_line_of_a_groups_help_breaks_off(name: str) -> None:
    listed = shown(name).partition("Commands:\n")[2].splitlines()
    assert listed
    assert [line for line in listed if line.endswith("...")] == []


def test_the_help_names_every_command_once_with_examples_in_80_columns() -> None:
    lines = shown().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in COMMANDS]
    assert sorted(listed) == sorted(COMMANDS)
    examples = [line.split() for line in lines if line.startswith("    assent ")]
    assert len(examples) >= 4 and {words[1] for words in examples} <= COMMANDS.keys()


def test_every_command_has_an_example() -> None:
    found = dict(all_commands(cli, ("assent",)))
    assert [" ".join(path) for path, command in found.items() if "Example" not in (command.help or "")] == []
    assert [name for name in GROUPS if "Example" not in shown(name)] == []


@pytest.mark.parametrize(("name", "formats"), [("lint", LINT_FORMATS), ("hosts", HOST_FORMATS)])
def test_the_offered_formats_are_those_that_exist(name: str, formats: dict[str, object]) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    (option,) = [one for one in command.params if one.name == "form"]
    assert isinstance(option.type, click.Choice) and list(option.type.choices) == list(formats)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_complete_commands_and_options(shell: str, tmp_path: Path) -> None:
    script = complete(shell, "source")
    assert "_ASSENT_COMPLETE" in script
    assert "approvals" in complete(shell, "complete", "assent appr")
    assert "--all" in complete(shell, "complete", "assent approvals list --a")


def complete(shell: str, instruction: str, line: str = "assent ") -> str:
    words = line.split(" ")
    environment = {"_ASSENT_COMPLETE": f"{shell}_{instruction}"}
    environment |= {"COMP_WORDS": line if shell != "fish" else " ".join(words[:-1]), "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        environment["COMP_CWORD"] = words[-1]
    return CliRunner().invoke(cli, [], prog_name="assent", env=environment).output

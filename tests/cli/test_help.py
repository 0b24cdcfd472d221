"""The help of the commands: whole sentences, examples, and lines that fit a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from docs.site.reference.commands import all_commands

from assent.checks.hosts.submission import FORMATS as HOST_FORMATS
from assent.checks.lint.report import FORMATS as LINT_FORMATS
from assent.cli import COMMANDS, cli
from support.clients.transports import ROOT

ASSENT = [str(Path(sys.executable).with_name("assent"))]

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
def test_the_documented_line_gives_each_shell_its_completion(shell: str) -> None:
    line = f"_ASSENT_COMPLETE={shell}_source assent"
    assert line in (ROOT / "docs/install.md").read_text()
    done = subprocess.run(
        [*ASSENT], env=os.environ | {"_ASSENT_COMPLETE": f"{shell}_source"}, capture_output=True, text=True
    )
    assert "_ASSENT_COMPLETE" in done.stdout and done.returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "found"),
    [("assent appr", "approvals"), ("assent approvals list --a", "--all"), ("assent serve --ch", "--check")],
)
def test_bash_completes_commands_and_options(words: str, found: str) -> None:
    last = len(words.split()) - 1
    script = f"""eval "$(_ASSENT_COMPLETE=bash_source assent)"
    COMP_WORDS=({words}); COMP_CWORD={last}; _assent_completion assent; echo "${{COMPREPLY[@]}}" """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert done.stdout.split() == [found], done.stderr


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant() -> None:
    assert "No such command 'wrp'. Did you mean 'wrap'?" in CliRunner().invoke(cli, ["wrp"]).output
    assert "Did you mean" not in CliRunner().invoke(cli, ["xyzzy"]).output

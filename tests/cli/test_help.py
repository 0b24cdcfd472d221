"""Does the help of a group say in a whole sentence what each of its commands is for?"""

import click
import pytest
from click.testing import CliRunner

from assent.cli import COMMANDS, cli

GROUPS = [name for name in COMMANDS if isinstance(cli.get_command(click.Context(cli), name), click.Group)]


@pytest.mark.parametrize("name", GROUPS)
def test_no_line_of_a_groups_help_breaks_off(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"], terminal_width=80).output
    listed = shown.partition("Commands:\n")[2].splitlines()
    assert listed
    assert [line for line in listed if line.endswith("...")] == []

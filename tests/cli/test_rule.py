"""`assent rule` names and explains lint rules and guards."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from assent.checks.lint.run import all_rules
from assent.cli.rule import rule
from assent.errors import SettingsError
from assent.rules.guards import rule_names


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(rule, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_names_are_printed_one_per_line() -> None:
    assert printed("--list", "guards").split("\n")[:-1] == list(rule_names())
    assert printed("--list", "lint").split("\n")[:-1] == list(all_rules())
    assert printed("--list").split("\n")[:-1] == [*all_rules(), *rule_names()]


@pytest.mark.parametrize("name", rule_names())
def test_a_guard_is_explained_with_options_and_examples(name: str) -> None:
    text = printed(name)
    assert text.startswith(f"{name} (guard")
    assert all(part in text for part in ("Options of every guard:", "Example:", "Passes:", "Objects to:"))


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match="Did you mean block_keywords"):
        CliRunner().invoke(rule, ["block_keyword"], catch_exceptions=False)

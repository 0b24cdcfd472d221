"""Reads the list of statements beside an example, and runs commands for it."""

from __future__ import annotations

import re
from types import ModuleType

from click.testing import CliRunner

from assent.cli import cli
from support.clients.transports import ROOT

_ROW = re.compile(r"^\| (\w+) \| (.+?) \| (.+?) \|$")


def statements_of(example: str) -> dict[str, tuple[str, str]]:
    """Each statement of an example by its id: its text, and its test or the reason why it is not met."""
    lines = (ROOT / "examples" / example / "STATEMENTS.md").read_text("utf-8").splitlines()
    rows = [match.groups() for line in lines if (match := _ROW.match(line)) and match[1] != "id"]
    found = {name: (text, proof) for name, text, proof in rows}
    assert len(found) == len(rows), "an id is listed twice"
    return found


def assert_every_statement_has_a_test(example: str, tests: ModuleType, ids: list[str]) -> None:
    """Each listed statement names existing tests, or says `Not met:` and a reason; no statement is left out."""
    listed = statements_of(example)
    assert list(listed) == ids
    for name, (_, proof) in listed.items():
        if proof.startswith("Not met: "):
            assert len(proof) > 40, f"{name}: the reason is too short"
            continue
        for test in re.findall(r"`(test_\w+)`", proof):
            assert callable(getattr(tests, test, None)), f"{name}: there is no test {test}"
        assert "`test_" in proof, f"{name}: it names no test"


def run(*arguments: str, code: int = 0) -> str:
    """What a command prints to standard output; fails if it ends with another exit code."""
    ended = CliRunner().invoke(cli, list(arguments), standalone_mode=False, catch_exceptions=False)
    assert (ended.return_value if code else ended.exit_code) == code, ended.output
    return ended.stdout

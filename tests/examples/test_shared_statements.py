"""The statements that several source documents share each name tests that exist."""

from __future__ import annotations

import re

from support.clients.transports import ROOT

ROW = re.compile(r"^\| (N\d+) \| .+? \| .+? \| (.+) \|$")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_shared_statement_names_tests_that_exist() -> None:
    lines = (ROOT / "examples" / "STATEMENTS.md").read_text("utf-8").splitlines()
    rows = [row for line in lines if (row := ROW.match(line))]
    assert [row[1] for row in rows] == [f"N{number}" for number in range(1, 23)]
    for row in rows:
        named = TEST.findall(row[2])
        assert named, f"{row[1]} names no test"
        for path, name in named:
            text = (ROOT / path).read_text("utf-8")
            assert re.search(rf"\bdef {name}\(", text), f"{row[1]}: {path} has no {name}"

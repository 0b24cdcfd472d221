"""A guard that is configured wrongly is refused at load, with the line and what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assent.config.load import parse_settings
from assent.errors import SettingsError
from assent.gateway.idle_rules import idle_rules
from assent.testing.world import World

WRONG = {
    "rule: alow_domains, domains: [a.b]": ("there is no guard 'alow_domains'", "Did you mean allow_domains?"),
    "domains: [a.b]": ("it names no rule", "Add `rule: NAME`"),
    "rule: bounds, fields: [a]": ("it has no bound", ""),
    "rule: bounds, most: 5": ("bounds needs `fields`", ""),
    "rule: bounds, fields: [a], mots: 5": ("there is no such key", "Did you mean most?"),
    "rule: allow_domains": ("it is required", "Add it"),
    "rule: deny, fields: [a]": ("deny checks the whole call", ""),
    "rule: deny, action: mask": ("deny cannot mask", ""),
    "rule: personal_data, action: mask, on: arguments": ("only results are masked", ""),
    "rule: sql_read_only, dialect: postgres, on: results": ("checks arguments, not results", ""),
    "rule: sql_read_only, dialect: postgress": ("this value is not allowed", "postgres"),
    "rule: secrets, on: results, action: approve": ("an approval comes before the call", ""),
    "rule: deny, action: refuse": ("this value is not allowed", "deny"),
    "rule: deny, match: {inner: {nmae: /a}}": ("there is no such key", "Did you mean name?"),
    "rule: deny, match: {inner: {name: a}}": ("is not a JSON pointer", ""),
    'rule: block_patterns, patterns: ["(a)\\\\1"]': ("look-around or a back reference", ""),
    'rule: block_patterns, patterns: ["(?=a)b"]': ("look-around or a back reference", ""),
    'rule: block_patterns, patterns: ["(unclosed"]': ("is invalid", ""),
    'rule: block_patterns, patterns: ["a{1000}{1000}{1000}"]': ("too large", ""),
    "rule: time_window, zone: Europe/Berln": ("there is no such time zone", ""),
    "rule: time_window, zone: UTC, start: '25:00'": ("this value is not allowed", ""),
    "rule: ip_ranges, fields: [a], allow: [10.0.0.0/99]": ("is not an IP address or range", ""),
    "rule: allow_paths, fields: [a], paths: [files]": ("it is relative", ""),
    "rule: personal_data, kinds: [emial]": ("is not a kind of personal data", "email"),
    "rule: max_amount, limits: {euro: 5}": ("this is not a valid name", ""),
}


@pytest.mark.parametrize("line", WRONG)
def test_the_fault_says_what_is_wrong_and_where(line: str) -> None:
    message, remedy = WRONG[line]
    with pytest.raises(SettingsError) as raised:
        parse_settings(f"mode: enforce\nguards:\n  - {{{line}}}\n", "assent.yaml")
    [fault] = raised.value.faults
    assert message in str(fault) and remedy in str(fault)
    assert (fault.file, fault.line) == ("assent.yaml", 3)


def test_the_line_is_that_of_the_option() -> None:
    text = "guards:\n  - rule: bounds\n    fields: [a]\n    most: much\n"
    with pytest.raises(SettingsError) as raised:
        parse_settings(text, "assent.yaml")
    assert [(fault.field, fault.line) for fault in raised.value.faults] == [("guards.0.most", 4)]


def test_the_sql_parser_is_loaded_for_sql_guards_only() -> None:
    """It takes a tenth of a second."""
    script = (
        "import sys; from assent.config.load import parse_settings;"
        "parse_settings('guards: [{rule: deny}, {rule: secrets}]').rules();"
        "import assent.pipeline.govern; print('sqlglot' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )


@pytest.mark.parametrize(
    ("guard", "is_idle"),
    [
        ("rule: sql_read_only, dialect: sqlite", True),
        ("rule: sql_read_only, dialect: sqlite, fields: [text]", False),
        ("rule: bounds, fields: [/order/amount], most: 5", True),
        ("rule: recipient_count, most: 5", False),
        ("rule: secrets", False),
    ],
)
def test_a_guard_whose_fields_no_tool_has_is_reported(guard: str, is_idle: bool) -> None:
    settings = parse_settings(f"guards: [{{{guard}}}]")
    fields = {"input": {"type": "object", "properties": {"text": {}, "mail": {"properties": {"To": {}}}}}}
    made = World({"send": {"side_effect": "write", **fields}})
    found = list(idle_rules(settings, made.catalogue, {}))
    assert bool(found) == is_idle
    assert all("guards.0: no tool that it matches has a field that it checks" in one for one in found)

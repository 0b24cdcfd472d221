"""Reports hold every finding, in every form, whatever characters it has."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema_rs
import pytest

from assent.checks.lint.report import FORMATS
from assent.checks.lint.run import Report, lint
from assent.checks.lint.suppressions import Suppression, baseline_text
from support.documents.lint_examples import target_of

HOSTILE = {
    "name": "send_email",
    "title": 'A "title" <b>\u202e&\x1b[2J',
    "description": "Sends 100%\n::error::an email.",
    "annotations": {"readOnlyHint": True},
}


def closed(required: str, **properties: object) -> dict[str, object]:
    """An object with these properties and no others, as the standard has it for everything used here."""
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


WORD = {"type": "string"}
TEXT = closed("text", text={"type": "string", "minLength": 1})
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = closed(
    "id",
    id={"type": "string"},
    shortDescription=TEXT,
    fullDescription=TEXT,
    help=TEXT,
    defaultConfiguration=closed("level", level=LEVEL),
)
PLACE = closed(
    "",
    physicalLocation=closed(
        "artifactLocation",
        artifactLocation=closed("uri", uri={"type": "string", "format": "uri-reference"}),
        region=closed("startLine", startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations={"items": closed("name", name=WORD, fullyQualifiedName=WORD, kind=WORD)},
)
RESULT = closed(
    "message ruleId ruleIndex",
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=TEXT,
    locations={"items": PLACE},
    partialFingerprints={"additionalProperties": {"type": "string"}},
    suppressions={"items": closed("kind", kind={"enum": ["inSource", "external"]}, justification={"type": "string"})},
)
DRIVER = closed("name", name={"type": "string"}, version={"type": "string"}, rules={"items": RULE})
RUN = closed(
    "tool",
    tool=closed("driver", driver=DRIVER),
    results={"items": RESULT},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
)
SARIF = closed("version runs", **{"$schema": {"type": "string"}}, version={"const": "2.1.0"}, runs={"items": RUN})


@pytest.fixture
def report() -> Report:
    return lint(target_of(HOSTILE), suppressions=[Suppression("title-in-one-place", "*", "Fine.")])


def test_text_shows_no_character_that_nobody_sees(report: Report) -> None:
    text = FORMATS["text"](report)
    assert "\u202e" not in text and "\x1b" not in text
    assert "error   read-only-contradicted" in text
    assert text.endswith("1 suppressed with a reason")


def test_json_has_findings_and_counts(report: Report) -> None:
    said = json.loads(FORMATS["json"](report))
    assert sum(said["counts"].values()) == len(said["findings"]) == len(report.findings)
    assert said["suppressed"][0]["because"] == "Fine."


def test_sarif_names_its_rules_and_marks_what_is_suppressed(report: Report) -> None:
    said = json.loads(FORMATS["sarif"](report))
    run = said["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert [result["ruleId"] for result in run["results"] if "suppressions" in result] == ["title-in-one-place"]
    assert jsonschema_rs.is_valid(SARIF, said)


def test_github_commands_stay_on_their_lines(report: Report) -> None:
    lines = FORMATS["github"](report).splitlines()
    assert len(lines) == len(report.findings)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


def test_junit_is_xml_with_one_case_per_tool(report: Report) -> None:
    root = ElementTree.fromstring(FORMATS["junit"](report))
    assert [case.get("name") for case in root.iter("testcase")] == ["send_email"]
    assert "read-only-contradicted" in {failure.get("type") for failure in root.iter("failure")}


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_report_can_be_written(form: str) -> None:
    FORMATS[form](Report("nothing", (), ()))


HALF = {
    "name": "send_\ud800",
    "title": "t\udfff",
    "description": "Sends \ud83d.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"p\ud800": {"type": "string", "description": "\ud800"}}},
}
ODD = {
    "tools": [
        {"name": "a", "title": 5, "description": ["x"], "annotations": "no", "inputSchema": [1], "_meta": 7},
        {
            "name": "b",
            "_meta": {"dev.assent/contract": {"tier": ["x"], "idempotency": 5, "dry_run": [], "secrets": {}}},
        },
        {
            "name": "c",
            "inputSchema": {"type": "object", "properties": {"a": None, "c": {"type": ["string", 3], "enum": "x"}}},
        },
    ]
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("example", [HALF, ODD], ids=["half", "odd"])
def test_halves_of_characters_and_wrong_types_can_be_reported(form: str, example: object) -> None:
    report = lint(target_of(example))  # type: ignore[arg-type]
    assert report.findings and len({finding.fingerprint for finding in report.findings}) > 1
    FORMATS[form](report).encode("utf-8")
    baseline_text(report.findings, Path()).encode("utf-8")


def test_sarif_has_no_links_of_a_tool_s_making() -> None:
    linked = {"name": "a_[b](http://127.0.0.1/)", "title": "x"}
    texts = [
        result["message"]["text"]
        for result in json.loads(FORMATS["sarif"](lint(target_of(linked))))["runs"][0]["results"]
    ]
    assert texts and not any("[b](" in text.replace("\\[", "").replace("\\]", "") for text in texts)

"""An auditor gets a report that tells the truth about the log, and receipts that the stand-alone verifier checks."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assent.audit import verifier
from assent.cli import cli
from assent.core.audit import Entry
from assent.stores import SqliteStore
from assent.testing.world import World

MARKUP = "<script>alert(1)</script>=cmd|' /C calc'!A0"
CONTRACTS = {"orders.place": {"side_effect": "write", "description": "Places an order."}}


def audit(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["audit", *arguments, "-c", str(config)], standalone_mode=False)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with two orders, a refused call, a decision by a person with markup in the name, and a violation."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "assent.db")
        world = World(CONTRACTS, {"orders.place": lambda arguments: {"ok": True}}, store=store)
        for number in range(2):
            await world.call("orders.place", {"item": f"{MARKUP} {number}"}, key=f"key-{number}")
        await world.call("orders.burn", {})
        at = world.ports.now()
        facts = {"tool": "orders.place", "tier": "write", "risk": "critical"}
        decision = {**facts, "approval": "appr-1", "verdict": "approve", "channel": "console"}
        store.append(Entry("decision", at, decision, {"person": MARKUP, "seconds": 12.5}))
        store.append(Entry("violation", at, {**facts, "code": "execute.confined"}, {"principal": MARKUP}))
        await store.close()

    asyncio.run(fill())
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "assent.yaml"
    path.write_text("store: sqlite:///assent.db\n")
    return path


ALL = ("--since", "2000-01-01", "--until", "2100-01-01")


def test_the_report_says_who_decided_what_was_refused_and_what_broke(config: Path) -> None:
    result = audit(config, "report", *ALL)
    assert "the log is whole" in result.output, result.output
    page = Path("audit-report.html").read_text("utf-8")
    assert "The log is whole." in page and "console" in page and "12.5 s" in page
    assert "discover.unknown_tool" in page and "execute.confined" in page
    assert re.search(r"<b>2</b>done", page) and re.search(r"<b>1</b>refused", page)


def test_markup_in_names_stays_text_and_nothing_is_loaded(config: Path) -> None:
    audit(config, "report", *ALL)
    page = Path("audit-report.html").read_text("utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "http://" not in page and "https://" not in page


def test_a_report_of_an_altered_log_says_so_and_ends_with_1(config: Path) -> None:
    audit(config, "report", *ALL)
    columns = sqlite3.connect("assent.db").execute("pragma table_info(audit_entries)").fetchall()
    index, leaf = (next(name for _, name, *_ in columns if name in names) for names in (("idx", "id"), ("leaf",)))
    with closing(sqlite3.connect("assent.db")) as connection, connection:
        (first,) = connection.execute(f"select {leaf} from audit_entries order by {index} limit 1").fetchone()
        other = bytes(first).replace(b"orders.place", b"orders.plaza")
        connection.execute(f"update audit_entries set {leaf} = ? where {leaf} = ?", (other, first))
    result = audit(config, "report", *ALL)
    assert result.return_value == 1 or getattr(result.exception, "exit_code", 0) == 1, result.output
    assert "The log is not whole" in Path("audit-report.html").read_text("utf-8")


def test_a_period_that_ends_before_it_begins_is_refused(config: Path) -> None:
    result = audit(config, "report", "--since", "1d", "--until", "2d")
    assert "--since must be before --until" in str(result.exception)


def receipt_of(config: Path) -> dict[str, Any]:
    entries = [json.loads(line) for line in audit(config, "export").stdout.splitlines()]
    claim = next(entry["claim"] for entry in entries if entry["kind"] == "intent")
    result = audit(config, "receipt", claim)
    receipt: dict[str, Any] = json.loads(result.stdout)
    return receipt


def public_keys(config: Path) -> list[str]:
    audit(config, "export", "--format", "bundle", "--output", "bundle")
    text = "\n".join(path.read_text("utf-8", "replace") for path in Path("bundle").iterdir() if path.is_file())
    return sorted(set(re.findall(r"[\w./:-]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{40,}", text)))


def test_a_receipt_has_intent_and_outcome_and_verifies_without_the_store(config: Path) -> None:
    receipt = receipt_of(config)
    kinds = [json.loads(entry["leaf"])["kind"] for entry in receipt["entries"]]
    assert kinds == ["intent", "outcome"]
    Path("receipt.json").write_text(json.dumps(receipt))
    Path("keys.txt").write_text("\n".join(public_keys(config)))
    alone = [sys.executable, "-I", verifier.__file__, "receipt.json", "--key", "keys.txt"]
    done = subprocess.run(alone, capture_output=True, text=True)
    assert (done.returncode, "nothing is wrong" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "no problems found" in audit(config, "verify", "receipt.json").output


def changed(receipt: dict[str, Any], way: str) -> dict[str, Any]:
    entry = receipt["entries"][0]
    if way == "leaf":
        entry["leaf"] = entry["leaf"].replace("orders.place", "orders.plaza")
    elif way == "values":
        entry["values"]["arguments"] = {"item": "another"}
    elif way == "packed":
        entry["packed"] = receipt["entries"][-1]["packed"] or "AAAA"
    elif way == "proof":
        entry["proof"] = receipt["entries"][1]["proof"]
    elif way == "operation":
        receipt["operation"] = "another"
    elif way == "no entries":
        receipt["entries"] = []
    return receipt


@pytest.mark.parametrize("way", ["leaf", "values", "packed", "proof", "operation", "no entries"])
def test_a_changed_receipt_is_found(way: str, config: Path) -> None:
    receipt = receipt_of(config)
    keys = public_keys(config)
    assert verifier.verify_receipt(json.dumps(receipt).encode(), keys).ok
    assert not verifier.verify_receipt(json.dumps(changed(receipt, way)).encode(), keys).ok


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"format": "assent-receipt/1", "entries": [1]}', "[" * 99_999]
)
def test_what_is_no_receipt_is_refused(text: str) -> None:
    assert not verifier.verify_receipt(text.encode(), []).ok


def test_an_unknown_operation_has_no_receipt(config: Path) -> None:
    result = audit(config, "receipt", "nothing-of-this-name")
    assert "no entry about" in result.output + result.stderr

"""The word model: when it may overrule a rule, what it may find, and how it weighs words."""

import json
import math
import os
import subprocess
import sys
from importlib import resources
from typing import Any

import pytest

from assent.contract.infer import classify
from assent.contract.infer.classifier import classify_with
from assent.contract.infer.features.tool import gather
from assent.contract.infer.word_model import (
    SILENT,
    Weights,
    join_words,
    list_traits,
    load_weights,
    parse_weights,
    weigh,
)

LONG = "for every vessel that called at one of the harbours of this coast, with its flag and its tonnage."
READERS = Weights(30.0, -30.0, {})
ACTORS = Weights(-30.0, -30.0, {})
LOSERS = Weights(-30.0, 30.0, {})


def tool(name: str, description: str, **inputs: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": inputs}}


LEXICAL = [
    tool("harbour_manifest", f"Quay by quay, {LONG}"),
    tool("enrich_vessel", f"Everything that is known {LONG}"),
    tool("generate_manifest", f"Generate a manifest {LONG}"),
]
KNOWN = [
    tool("send_manifest", f"Everything that is known {LONG}"),
    tool("create_manifest", f"Everything that is known {LONG}"),
    tool("grant_berth", f"Everything that is known {LONG}"),
    tool("unload_vessel", f"Unload a vessel and tell everything that is known {LONG}"),
    tool("harbour_digest", f"Sends a digest {LONG}"),
    tool("harbour_letter", f"Email a letter {LONG}"),
    tool("generate_image", f"Generate an image {LONG}"),
    tool("harbour_bill", f"Quay by quay, {LONG} The bill is paid on the spot."),
    tool("harbour_weights", f"Load of it {LONG} Also records a sample of it."),
    tool("harbour_wrecks", f"Quay by quay, {LONG} Those that are late are suspended."),
    tool("render_manifest", f"Render a manifest {LONG}", output_path={"type": "string"}),
    tool("manifests", f"Manifests {LONG}", action={"type": "string", "enum": ["list", "create"]}),
    tool("get_manifest", f"Get a manifest {LONG} Marks it as read.", mark_as_read={"type": "boolean"}),
    tool("find_manifest", f"Find a manifest {LONG}", script={"type": "string"}),
    tool("mooring_termination", f"Quay by quay, {LONG}"),
    tool("harbour_toll", f"P\u0430ys the toll {LONG}"),
    tool("harbour_dues", f"Pa\u200bys the dues {LONG}"),
    tool("kaai", "Löscht das Schiff " + "und alles was dazu gehört " * 4),
]


@pytest.mark.parametrize("definition", LEXICAL, ids=lambda definition: definition["name"])
def test_the_model_overrules_an_acting_verdict_that_rests_on_one_word(definition: dict[str, Any]) -> None:
    assert not classify_with(definition, SILENT).read_only
    swayed = classify_with(definition, READERS)
    assert swayed.read_only
    assert swayed.reasons[0].startswith("its words are typical of tools that only read")


@pytest.mark.parametrize("definition", KNOWN, ids=lambda definition: definition["name"])
def test_the_model_never_overrules_a_firm_acting_verdict(definition: dict[str, Any]) -> None:
    found = classify_with(definition, READERS)
    assert (found.read_only, found.destructive) == (False, False), found.reasons


@pytest.mark.parametrize(
    "definition",
    [
        *({**one, "description": one["description"].split(" for every")[0] + " " * 40} for one in LEXICAL[1:]),
        tool("harbour_manifest", " " * 40),
        tool("generate_manifest", "Generate a manifest of every vessel"),
        tool("enrich_vessel", "Everything that is known of her"),
        tool("list_vessels", "This tool will release a vessel."),
    ],
)
def test_the_model_does_not_decide_on_a_few_words(definition: dict[str, Any]) -> None:
    assert not classify_with(definition, READERS).read_only


def test_a_few_words_are_enough_if_the_model_is_sure_and_no_verb_acts() -> None:
    short, likely = tool("harbour_manifest", "Quay by quay, all of it"), Weights(2.5, -30.0, {})
    assert 0.9 < weigh(gather(short), likely).reading < 0.95
    assert classify_with(LEXICAL[0], likely).read_only
    assert not classify_with(short, likely).read_only
    assert classify_with(short, READERS).read_only


@pytest.mark.parametrize("definition", LEXICAL, ids=lambda definition: definition["name"])
def test_words_of_destructive_tools_make_a_tool_destructive(definition: dict[str, Any]) -> None:
    torn = classify_with(definition, Weights(30.0, 30.0, {}))
    assert (torn.read_only, torn.destructive) == (False, False)
    lost = classify_with(definition, LOSERS)
    assert (lost.read_only, lost.destructive) == (False, True)
    assert "its words are typical of tools that lose something" in lost.reasons
    assert lost.confidence <= 0.6


def test_the_model_never_overrules_a_loss_that_a_rule_found() -> None:
    emptied = tool("enrich_vessel", f"Everything that is known {LONG}", purge_rows={"type": "boolean"})
    found = classify_with(emptied, READERS)
    assert (found.read_only, found.destructive) == (False, True)


@pytest.mark.parametrize(
    "definition",
    [tool("enrich_vessel", "{}"), tool("vessel_wreck", "{}"), tool("get_vessel", "{}"), tool("vessels", "List {}")],
    ids=lambda definition: definition["name"],
)
def test_ten_words_are_enough_for_a_loss_and_nine_are_not(definition: dict[str, Any]) -> None:
    count = 9 - definition["description"].count(" ")
    few, enough = (definition["description"].format("berth " * number) for number in (count, count + 1))
    assert not classify_with({**definition, "description": few}, LOSERS).destructive
    assert classify_with({**definition, "description": enough}, LOSERS).destructive


@pytest.mark.parametrize("definition", LEXICAL, ids=lambda definition: definition["name"])
def test_a_loss_counts_if_it_is_likely_and_a_read_is_unlikely(definition: dict[str, Any]) -> None:
    assert classify_with(definition, Weights(-0.1, 0.1, {})).destructive
    assert not classify_with(definition, Weights(-0.1, -0.1, {})).destructive
    assert not classify_with(definition, Weights(0.1, 0.1, {})).destructive


def test_the_model_finds_losses_in_tools_that_add_something() -> None:
    assert classify_with(tool("create_manifest", f"Create a manifest {LONG}"), LOSERS).destructive


@pytest.mark.parametrize(
    "definition",
    [
        tool("send_password_reset", f"Send a link that resets the password {LONG}"),
        tool("restore_vessel", f"Restore a suspended or deleted vessel {LONG}"),
        tool("recover_key", f"Recovers the previously soft-deleted key {LONG}"),
        tool("undelete_manifest", f"Restores a deleted manifest {LONG}"),
    ],
    ids=lambda definition: definition["name"],
)
def test_messages_about_losses_and_restores_are_not_destructive_by_words(definition: dict[str, Any]) -> None:
    assert not classify_with(definition, LOSERS).destructive


def test_a_removal_that_a_rule_found_harmless_is_not_destructive_by_words() -> None:
    spared = tool("remove_reaction", f"Remove a reaction from a message {LONG}")
    assert not classify_with(spared, LOSERS).destructive


@pytest.mark.parametrize(
    "definition",
    [
        tool("restore_vessel", f"Restore a vessel {LONG}"),
        tool("restore_vessel", f"Restore a deleted vessel, deleting those that are not in the file, {LONG}"),
        tool("undelete_vessel", f"Undelete a vessel. The crew that is aboard is removed {LONG}"),
        tool("vessel_restore_points", f"Check the restore points {LONG}"),
    ],
)
def test_a_restore_that_loses_something_else_may_be_destructive_by_words(definition: dict[str, Any]) -> None:
    assert classify_with(definition, LOSERS).destructive


def test_a_started_job_is_not_a_read_by_words() -> None:
    begun = tool("validate_manifest", f"Apply a check {LONG} Returns a job id.")
    assert not classify_with(begun, READERS).read_only


def test_a_possible_loss_prevents_a_read_by_words() -> None:
    some = Weights(30.0, -1.5, {})
    found = classify_with(LEXICAL[0], some)
    assert 0.1 < weigh(gather(LEXICAL[0]), some).losing < 0.5
    assert (found.read_only, found.destructive) == (False, False)


WEAK_LOOKS = [
    tool("scan_vessel", f"Scan what is known {LONG}"),
    tool("get_manifest", f"The manifest {LONG}"),
    tool("export_manifest", f"Export a manifest {LONG} Returns it as text."),
    tool("vessel", f"Run a report {LONG}"),
    tool("manifests", f"Show manifests {LONG}"),
    tool("verify_manifest", f"Verify a manifest {LONG} Returns what was found."),
]
OTHER_LOOKS = [
    tool("manifests", f"List manifests {LONG}"),
    tool("generate_query", f"Generate a query {LONG} Returns it as text, does not execute."),
    tool("push_manifest", f"Provides instructions on how to push a manifest {LONG} Returns documentation."),
    tool("push_manifest", f"Get recommendations on pushing a manifest {LONG}"),
]


@pytest.mark.parametrize("look", WEAK_LOOKS, ids=lambda definition: definition["name"])
def test_a_read_that_rests_on_one_word_is_doubted_below_even_odds(look: dict[str, Any]) -> None:
    assert classify_with(look, SILENT).read_only
    assert classify_with(look, Weights(0.1, -30.0, {})).read_only
    doubted = classify_with(look, Weights(-0.1, -30.0, {}))
    assert not doubted.read_only
    assert not doubted.destructive
    assert doubted.confidence < 0.5
    assert "other words are not typical of tools that only read" in doubted.reasons[0]


@pytest.mark.parametrize("look", OTHER_LOOKS, ids=lambda definition: definition["name"])
def test_any_other_read_is_doubted_only_at_very_low_odds(look: dict[str, Any]) -> None:
    assert classify_with(look, SILENT).read_only
    assert classify_with(look, Weights(-2.0, -30.0, {})).read_only
    assert not classify_with(look, Weights(-2.4, -30.0, {})).read_only


@pytest.mark.parametrize("look", [*WEAK_LOOKS, *OTHER_LOOKS])
def test_a_read_with_the_words_of_losses_becomes_destructive(look: dict[str, Any]) -> None:
    found = classify_with(look, Weights(-0.8, 2.2, {}))
    assert (found.read_only, found.destructive) == (False, True)


@pytest.mark.parametrize("verb", ["get", "list", "peek", "enumerate"])
def test_a_plain_read_is_not_weighed(verb: str) -> None:
    assert classify_with(tool(f"{verb}_manifest", f"{verb.title()} the manifest {LONG}"), LOSERS).read_only


def test_a_read_with_few_words_is_not_doubted() -> None:
    assert classify_with(tool("get_manifest", "The manifest of one vessel, with its flag."), LOSERS).read_only


def test_a_read_in_another_language_is_doubted_only_at_very_low_odds() -> None:
    look = tool("get_manifest", "Holt das Manifest und alles was dazu gehört, und die Ladung " * 2)
    assert classify_with(look, Weights(-2.0, -30.0, {})).read_only
    assert not classify_with(look, ACTORS).read_only


@pytest.mark.parametrize("trick", ["Fast\u200b.", "For n\u043edes.", "Data\u00adbase."])
def test_disguised_letters_do_not_make_a_read(trick: str) -> None:
    for look in WEAK_LOOKS:
        disguised = {**look, "description": f"{look['description']} {trick}"}
        assert not classify_with(disguised, Weights(-0.1, -30.0, {})).read_only


def test_a_doubted_read_is_checked_for_losses() -> None:
    listed = f"Run a command if it is on the read-only list {LONG}"
    run = tool("harbour_run_readonly_command", listed, command={"type": "string"})
    assert classify_with(run, SILENT).read_only
    found = classify_with(run, ACTORS)
    assert (found.read_only, found.destructive) == (False, True), found.reasons
    assert found == classify_with(run, LOSERS)


def test_trusted_annotations_overrule_the_model() -> None:
    declared = {**LEXICAL[0], "annotations": {"readOnlyHint": False}}
    assert not classify_with(declared, READERS, trust_annotations=True).read_only


def test_the_reason_names_the_words_with_the_largest_weights() -> None:
    known = {"name": {"manifest": (9.0, 0.0, 1.0)}, "input": {"manifest": (1.0, 0.0, 1.0), "since": (5.0, 0.0, 1.0)}}
    asked = tool("harbour_manifest", f"Quay by quay, {LONG}", manifest={}, since={})
    told = classify_with(asked, Weights(30.0, -30.0, known)).reasons[0]
    assert told.endswith(": manifest, since")


def test_each_word_counts_at_its_place_and_once() -> None:
    traits = list_traits(gather(tool("list_boats", "List boats and boats.\nReturns: boats", since={})))
    assert [*traits["name"]] == ["list", "boats"]
    assert [*traits["names"]] == [("list", "boats")]
    assert [*traits["named"]] == ["list"]
    assert [*traits["line"]] == ["list", "returns", "boats"]
    assert [*traits["opening"]] == ["list", "boat", "and"]
    assert [*traits["phrase"]] == [("list", "boats"), ("boats", "and"), ("and", "boats")]
    assert [*traits["text"]] == ["list", "boat", "and", "return"]
    assert [*traits["input"]] == ["since"]
    assert [*list_traits(gather(tool("list_boats", "List boats.")))["input"]] == []


def test_the_sum_does_not_grow_with_the_length_of_the_text() -> None:
    weights = Weights(0.0, 0.0, {"text": {"boat": (1.0, 0.0, 1.0), "quay": (1.0, 0.0, 1.0)}})
    one, two = (weigh(gather(tool("x", text)), weights).reading for text in ("boat", "boat quay"))
    assert one == pytest.approx(1 / (1 + math.exp(-1)))
    assert two == pytest.approx(1 / (1 + math.exp(-math.sqrt(2))))


def test_words_without_weight_give_even_odds() -> None:
    empty = Weights(0.0, 0.0, {"text": {"boat": (0.0, 0.0, 0.0)}})
    assert weigh(gather(tool("x", "boat")), empty) == (0.5, 0.5)


def test_a_definition_without_words_gives_no_clear_odds() -> None:
    assert 0.1 < weigh(gather({})).reading < 0.9


def test_lines_end_at_sentences_and_line_breaks_and_twenty_are_read() -> None:
    text = "Boats: all… of them — at 3.5 knots.Fast\n\n  * quays! docks?\tberths\r\npiers " + "a. b\n" * 20
    lines = list_traits(gather(tool("x", text)))
    assert [*lines["line"]] == ["boats", "all", "quays", "docks", "berths", "piers", "b", "a"]
    assert "knot" in lines["text"] and "fast" in lines["text"]
    assert [*list_traits(gather(tool("x", "caf\u00e9s quay\u2014boat")))["opening"]] == ["caf", "s", "quay", "boat"]
    assert "c" not in list_traits(gather(tool("x", "a\n" * 20 + "c")))["text"]


def test_the_shipped_weights_are_complete() -> None:
    data = json.loads(resources.files("assent.contract.infer").joinpath("weights.json").read_text(encoding="utf-8"))
    assert {*data} == {"rest", *list_traits(gather({}))}
    assert parse_weights(data) == load_weights()
    for place, known in load_weights().places.items():
        assert known, place
        for words, (reading, losing, share) in known.items():
            assert join_words(words) in data[place]
            assert share > 0
            assert math.isfinite(reading) and math.isfinite(losing)


def test_the_same_words_weigh_the_same_in_every_process() -> None:
    script = (
        "import json, sys\n"
        "from assent.contract.infer.features.tool import gather\n"
        "from assent.contract.infer.word_model import list_traits, weigh\n"
        "read = [gather(one) for one in json.load(sys.stdin)]\n"
        "print(json.dumps([[weigh(one), [*list_traits(one)['input']]] for one in read]))"
    )
    several = tool(
        "get_berths", f"Get berths {LONG}", **{name: {} for name in ("since", "query", "force", "limit", "id")}
    )
    asked = json.dumps([several, *LEXICAL, *KNOWN])
    answers = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=asked,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(answers) == 1


REAL = [
    tool(
        "harbour_occupancy",
        "Berths taken and free per quay over a date range, with totals and a breakdown by ship type.",
    ),
    tool(
        "vessel_counts",
        "Per-port counts of vessels, won and lost berths, sorted by date, with totals for each quarter.",
    ),
]


@pytest.mark.parametrize("definition", REAL, ids=lambda definition: definition["name"])
def test_nouns_typical_of_reads_make_a_read(definition: dict[str, Any]) -> None:
    assert not classify_with(definition, SILENT).read_only
    found = classify(definition)
    assert found.read_only
    assert not found.reasons[0].endswith(": ")


def test_a_returned_result_needs_no_model() -> None:
    made = tool("ledger_contract", "Make a contract of a berth. Returns its source. Does not write to disk.", kind={})
    assert classify_with(made, SILENT).read_only

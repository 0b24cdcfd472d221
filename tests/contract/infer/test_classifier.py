"""Promises that hold for every tool definition. `test_verdicts.py` has the tables of single tools."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assent.contract.infer import classify
from assent.contract.infer.lexicon import NOUN_TOO, OTHER_CLASS, VERB_GROUPS, VERBS


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


def test_confidence_is_low_when_the_definition_says_too_little() -> None:
    assert classify(tool("gizmo")).confidence < 0.5 < classify(tool("get_gizmo", "Get a gizmo.")).confidence


def test_the_same_definition_gives_the_same_answer() -> None:
    definition = tool("sync_boats", "Sync boats, deleting those that are gone.", action={"enum": ["b", "delete", "a"]})
    assert classify(definition) == classify(definition)


def test_reasons_are_clauses_that_a_user_understands() -> None:
    deletes = classify(tool("delete_boat", "Deletes a boat. This cannot be undone."))
    assert deletes.reasons == ("the name says 'delete', which loses data, access or running work",)
    runs = classify(tool("run_sql", "Run a statement.", sql={"type": "string"}))
    assert "it runs any query that the caller writes" in runs.reasons
    saves = classify(tool("get_chart", "Get a chart.", output_path={"type": "string"}))
    assert saves.reasons[0] == "the name says 'get', but the result may be saved"


def test_the_reason_of_a_read_names_the_verb_of_the_description_that_decided() -> None:
    for looked in (
        tool("prune_dry_run", "Preview which copies would be dropped"),
        tool("replay_status", "Get the status of the replay"),
        tool("list_resume_versions", "Return stored versions, newest first"),
    ):
        assert "but the description only says" in classify(looked).reasons[0]


def test_a_verb_with_another_class_next_to_certain_words_needs_no_description() -> None:
    for verb, (_, words) in OTHER_CLASS.items():
        for word in words:
            assert classify({"name": f"{verb}_{word}"}).reasons


LOSING = sorted(
    verb
    for verb, kind in VERBS.items()
    if kind == "destroy"
    and verb not in NOUN_TOO
    and verb not in VERB_GROUPS["mild_losses"] | VERB_GROUPS["clear_or_remove"]
)
HARMLESS_TEXTS = [
    "",
    "Get a list of boats.",
    "This is a read-only tool without side effects.",
    "Provides documentation and guidance.",
    "Search and return boats. Never modifies anything.",
    "Call this when you need to understand how to do it.",
]


@settings(derandomize=True, max_examples=300)
@given(st.sampled_from(LOSING), st.sampled_from(HARMLESS_TEXTS), st.sampled_from(HARMLESS_TEXTS))
def test_no_harmless_text_makes_a_destructive_name_read_only(verb: str, title: str, description: str) -> None:
    definition = tool(f"{verb}_boats", description) | {"title": title}
    assert not classify(definition).read_only


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)
WORDS = st.lists(st.sampled_from([*sorted(VERBS)[::7], "boat", "and", "to", "V2", "--", "."]), max_size=5).map("_".join)


@settings(derandomize=True, max_examples=400)
@given(WORDS | st.text(), WORDS | st.text(), WORDS | st.text() | json_values, json_values, st.booleans())
def test_any_definition_gets_a_consistent_answer_with_reasons(
    name: Any, title: Any, description: Any, schema: Any, trust: bool
) -> None:
    definition = {"name": name, "title": title, "description": description, "inputSchema": schema}
    inference = classify(definition, trust_annotations=trust)
    assert not (inference.read_only and inference.destructive)
    assert inference.read_only == (inference.tier == "read")
    assert inference.destructive == (inference.tier == "destructive")
    assert 0 <= inference.confidence <= 1
    assert inference.reasons

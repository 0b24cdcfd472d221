"""Declared annotations, ignored or trusted."""

from typing import Any

import pytest

from assent.contract.infer import classify


def declared(name: str, **annotations: Any) -> dict[str, Any]:
    return {"name": name, "annotations": annotations}


def test_annotations_are_ignored_unless_trusted() -> None:
    definition = declared("delete_boat", readOnlyHint=True, destructiveHint=False)
    assert classify(definition) == classify({"name": "delete_boat"})


@pytest.mark.parametrize("name", ["readOnlyHint", "readOnly"])
def test_a_trusted_read_only_hint_counts_under_both_names(name: str) -> None:
    inference = classify(declared("frobnicate", **{name: True}), trust_annotations=True)
    assert (inference.read_only, inference.destructive, inference.tier) == (True, False, "read")


def test_a_trusted_destructive_hint_counts() -> None:
    inference = classify(declared("list_boats", destructiveHint=True), trust_annotations=True)
    assert (inference.read_only, inference.destructive, inference.tier) == (False, True, "destructive")


def test_contradicting_hints_count_as_destructive() -> None:
    definition = declared("frobnicate", readOnlyHint=True, destructiveHint=True)
    inference = classify(definition, trust_annotations=True)
    assert (inference.read_only, inference.destructive) == (False, True)


def test_missing_hints_are_inferred() -> None:
    inference = classify(declared("delete_boat", openWorldHint=True), trust_annotations=True)
    assert (inference.destructive, inference.open_world) == (True, True)


def test_a_trusted_tool_that_reads_credentials_is_still_forbidden() -> None:
    assert classify(declared("read_password", readOnlyHint=True), trust_annotations=True).risk == "forbidden"


@pytest.mark.parametrize("annotations", [None, [], "x", {"readOnlyHint": "yes"}])
def test_invalid_annotations_are_ignored(annotations: Any) -> None:
    definition = {"name": "delete_boat", "annotations": annotations}
    assert classify(definition, trust_annotations=True).destructive

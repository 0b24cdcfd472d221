"""The catalogue of refusals is complete, true to the code, and written for whoever meets it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import assent
from assent.core.outcome import Refusal
from assent.core.problems import CATALOGUE, Audience, ProblemKind, Wire

SOURCE = Path(assent.__file__).parent
PROTOCOL = ("discover.unknown_tool", "validate.task_unsupported", "validate.header_mismatch")
STAGES = {path.stem for path in (SOURCE / "pipeline").glob("*.py")}
SENTENCE = [
    *("record", "authenticate", "discover", "authorize", "validate", "recall", "guard", "rehearse", "confirm"),
    *("step_up", "claim", "execute", "approve", "settle"),
]
CODE = re.compile(r"([a-z_]+)\.([a-z_]+)")


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCE.rglob("*.py"):
        if path != SOURCE / "core" / "refusals.py":
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def said() -> set[str]:
    """Every text in the source that has the form of a code of one of our stages."""
    texts = (node.value for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant))
    found = {
        text for text in texts if isinstance(text, str) and (match := CODE.fullmatch(text)) and match[1] in SENTENCE
    }
    return found


def raised() -> set[str]:
    """The code of every refusal the source makes."""
    codes = set()
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Refusal":
                first = node.args[0] if node.args else None
                assert first is not None, f"{path}:{node.lineno} makes a refusal without a code"
                codes |= {c.value for c in ast.walk(first) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return codes


def test_every_refusal_the_source_makes_is_in_the_catalogue() -> None:
    assert raised() - set(CATALOGUE) == set()


def test_every_refusal_in_the_catalogue_is_made_somewhere() -> None:
    assert set(CATALOGUE) - said() == set()


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_code_names_the_file_of_its_stage(code: str) -> None:
    match = CODE.fullmatch(code)
    assert match
    assert match[1] in STAGES
    assert match[1] in SENTENCE


@pytest.mark.parametrize(("code", "kind"), CATALOGUE.items())
def test_a_refusal_is_a_sentence_with_a_remedy_a_status_and_a_form(code: str, kind: ProblemKind) -> None:
    assert 400 <= kind.status <= 599
    assert kind.wire in get_args(Wire)
    assert kind.audience in get_args(Audience)
    for text in (kind.title, kind.remedy):
        assert text[0].isupper() or text.startswith("`")
        assert text.endswith(".")
        assert text.isprintable()
    assert kind.alias is None or re.fullmatch(r"[a-z_]+", kind.alias)


@pytest.mark.parametrize(("code", "kind"), CATALOGUE.items())
def test_forms_fit_their_stage(code: str, kind: ProblemKind) -> None:
    stage = code.split(".")[0]
    assert (kind.wire == "api") is (stage in ("approve", "settle"))
    if kind.wire == "challenge":
        assert kind.status in (401, 403)
        assert kind.audience == "person"
    if kind.status == 401:
        assert kind.wire == "challenge"
    assert (kind.wire == "protocol") is (code in PROTOCOL)


def test_what_may_have_had_an_effect_is_never_called_retryable() -> None:
    for code in ("execute.in_doubt", "execute.output_invalid", "execute.undeclared_failure", "recall.in_doubt"):
        assert CATALOGUE[code].retryable is False


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_refusal_becomes_a_whole_problem(code: str) -> None:
    problem = Refusal(code).problem()
    assert set(problem) == {"type", "title", "status", "detail", "code", "remedy", "retryable"}
    assert (problem["code"], problem["status"]) == (code, CATALOGUE[code].status)
    assert problem["detail"] == problem["title"]

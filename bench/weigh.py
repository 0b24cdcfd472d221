"""Learn the weights of the words that `assent.contract.infer` falls back on, and measure them on unseen families.

    python -m bench.weigh --labelled gold.jsonl --listed tools.jsonl.gz [--write src/assent/contract/infer/weights.json]

`--labelled` (any number) are definitions that people have read: `family`, `tool`, `read_only`, `destructive` and their
`confidence`. `--chosen` are such too, but picked because they are hard: they teach and are not scored. `--listed` are
definitions as their authors publish them: `family`, the definition itself and `annotations`. Three teachers, in the
order they are believed: careful labels, authors' `readOnlyHint`, and where neither says anything the rules themselves
wherever they are sure. Needs scikit-learn (`pip install scikit-learn`).

What is printed is out of fold: every family is judged with weights that were learnt without it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assent.contract.infer.classifier import classify_with
from assent.contract.infer.features.tool import gather
from assent.contract.infer.word_model import SILENT, join_words, list_traits, parse_weights
from bench.infer import read_lines, tell

# How much a word counts by the place where it stands: what a tool is called and begins with says most.
PLACES = {
    "name": 2.0,
    "names": 1.0,
    "named": 2.0,
    "line": 1.0,
    "begins": 2.0,
    "opening": 1.5,
    "phrase": 0.7,
    "text": 0.6,
    "input": 1.5,
    "choice": 1.0,
}
FAMILIES = 4  # a word that fewer use is a name
FOLDS = 5
SLACK = 30.0
CAREFUL, DOUBTED, DECLARED, RULED = 1.0, 0.5, 0.5, 0.3
SETTLED = 0.5


@dataclass(frozen=True, slots=True)
class Lesson:
    """A definition and what its teacher says of it: reading, losing (perhaps nothing), and how far to believe them."""

    family: str
    tool: Mapping[str, Any]
    traits: tuple[str, ...]
    reading: bool
    losing: bool | None
    belief: float
    teacher: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelled", type=Path, nargs="+", required=True)
    parser.add_argument("--chosen", type=Path, nargs="*", default=[])
    parser.add_argument("--listed", type=Path, nargs="*", default=[])
    parser.add_argument("--words", type=int, default=5000, help="how many words are kept")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    lessons = list(read_lessons(options.labelled, options.chosen, options.listed))
    counts = Counter(one.teacher for one in lessons)
    print(f"{len(lessons)} definitions of {len({one.family for one in lessons})} families: {dict(counts)}")
    cross_validate(lessons, options.words)
    if options.write:
        options.write.write_text(render(learn(lessons, options.words)), encoding="utf-8")
        print(f"written to {options.write}")


def read_lessons(labelled: Sequence[Path], chosen: Sequence[Path], listed: Sequence[Path]) -> Iterator[Lesson]:
    """Careful labels first; whatever else has the same name and text adds nothing."""
    seen: set[str] = set()
    for teacher, paths in (("labelled", labelled), ("chosen", chosen)):
        for row in (row for path in paths for row in read_lines(path)):
            tool = row.get("tool") or row
            if _is_new(tool, seen):
                belief = DOUBTED if row.get("confidence") == "low" else CAREFUL
                yield _lesson(row["family"], tool, bool(row["read_only"]), bool(row["destructive"]), belief, teacher)
    for row in (row for path in listed for row in read_lines(path)):
        if not _is_new(row, seen):
            continue
        hint = (row.get("annotations") or {}).get("readOnlyHint")
        ruled = classify_with(row, SILENT)
        if isinstance(hint, bool):
            yield _lesson(row["family"], row, hint, None, DECLARED, "author")
        elif ruled.confidence >= SETTLED:
            yield _lesson(row["family"], row, ruled.read_only, ruled.destructive, RULED, "rules")


def _is_new(tool: Mapping[str, Any], seen: set[str]) -> bool:
    said = json.dumps([tool.get(key) for key in ("name", "title", "description", "inputSchema")], sort_keys=True)
    digest = hashlib.sha256(said.encode()).hexdigest()
    fresh = digest not in seen
    seen.add(digest)
    return fresh


def _lesson(
    family: str, tool: Mapping[str, Any], reading: bool, losing: bool | None, belief: float, teacher: str
) -> Lesson:
    plain = "".join(filter(str.isalnum, family.lower()))
    found = list_traits(gather(tool))
    traits = tuple(f"{place} {join_words(words)}" for place, said in found.items() for words in said)
    return Lesson(plain, tool, traits, reading, losing, belief, teacher)


def learn(lessons: Sequence[Lesson], words: int) -> dict[str, dict[str, list[float]]]:
    """Learn with every word, keep those that matter most, and learn again with these alone."""
    used: dict[str, set[str]] = defaultdict(set)
    for one in lessons:
        for trait in one.traits:
            used[trait].add(one.family)
    known = sorted(trait for trait, families in used.items() if len(families) >= FAMILIES)
    seen = Counter(trait for one in lessons for trait in one.traits)
    sizes = {trait: math.log(len(lessons) / seen[trait]) * PLACES[trait.split(" ", 1)[0]] for trait in known}
    first = _fit(lessons, sizes)
    told = {trait: math.sqrt(seen[trait]) * max(map(abs, first[1][trait])) for trait in known}
    kept = sorted(sorted(known, key=lambda trait: -told[trait])[:words])
    rest, weights = _fit(lessons, {trait: sizes[trait] for trait in kept})
    tables: dict[str, dict[str, list[float]]] = {"rest": {"": [round(value, 4) for value in rest]}}
    for trait in kept:
        place, word = trait.split(" ", 1)
        numbers = [*weights[trait], sizes[trait] ** 2]
        tables.setdefault(place, {})[word] = [_shortened(number) for number in numbers]
    return tables


def _shortened(number: float) -> float:
    """As many digits as the verdicts need: the file is part of every installation."""
    return round(number) if abs(number) >= 10 else round(number, 1)


def _fit(
    lessons: Sequence[Lesson], sizes: Mapping[str, float]
) -> tuple[tuple[float, float], dict[str, tuple[float, float]]]:
    """Two logistic regressions over the same words, each definition of length one."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import normalize

    place = {trait: number for number, trait in enumerate(sizes)}
    rows = [[trait for trait in one.traits if trait in place] for one in lessons]
    values = [sizes[trait] for row in rows for trait in row]
    columns = [place[trait] for row in rows for trait in row]
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    matrix = normalize(csr_matrix((values, columns, ends), shape=(len(rows), len(sizes))))
    rest, weights = [], []
    for answers in ([one.reading for one in lessons], [one.losing for one in lessons]):
        asked = [number for number, answer in enumerate(answers) if answer is not None]
        model = LogisticRegression(C=SLACK, solver="liblinear", max_iter=300, random_state=0)
        belief = [lessons[number].belief for number in asked]
        model.fit(matrix[asked], [answers[number] for number in asked], sample_weight=belief)
        rest.append(float(model.intercept_[0]))
        weights.append(model.coef_[0])
    found = {
        trait: (float(weights[0][number] * sizes[trait]), float(weights[1][number] * sizes[trait]))
        for trait, number in place.items()
    }
    return (rest[0], rest[1]), found


def cross_validate(lessons: Sequence[Lesson], words: int) -> None:
    fold = {one.family: int(hashlib.sha256(one.family.encode()).hexdigest(), 16) % FOLDS for one in lessons}
    rules: list[tuple[Any, bool, bool]] = []
    both: list[tuple[Any, bool, bool]] = []
    for number in range(FOLDS):
        weights = parse_weights(learn([one for one in lessons if fold[one.family] != number], words))
        for one in lessons:
            if one.teacher == "labelled" and fold[one.family] == number:
                rules.append((classify_with(one.tool, SILENT), one.reading, bool(one.losing)))
                both.append((classify_with(one.tool, weights), one.reading, bool(one.losing)))
    for title, found in (("rules alone", rules), ("rules, and words of other families", both)):
        print(f"\n{title}, {FOLDS} folds by family")
        tell(found)


def render(tables: Mapping[str, Mapping[str, list[float]]]) -> str:
    """One word a line, so that a change can be read."""
    parts = [
        f'"{place}": {{\n' + ",\n".join(f"{json.dumps(word)}: {numbers}" for word, numbers in words.items()) + "\n}"
        for place, words in tables.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()

"""Measures how often the inference is right, also for families of servers that it does not know.

    python -m bench.infer --tools tools.jsonl.gz --gold gold.jsonl

`--tools` has one definition per line with `server`, `family` and the author's `annotations`. `--gold` has one label per
line: `family`, `read_only`, `destructive`, and the definition as `tool`. Nothing of either is stored.

Three things are measured, each against the labels and against the authors' annotations:
- the inference as it is;
- the rules alone: each family is classified without the verbs that no other family uses and without the word model, as
  if the family were unseen (`bench.weigh` measures what the model adds);
- the spread: families are drawn with replacement.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assent.contract.infer import classify, lexicon
from assent.contract.infer.classifier import classify_with
from assent.contract.infer.features.tool import gather
from assent.contract.infer.word_model import SILENT

BARS = {
    "read-only accuracy": 0.95,
    "read-only precision": 0.99,
    "destructive recall": 0.90,
    "destructive precision": 0.80,
}
PASSES = 7


@dataclass(frozen=True, slots=True)
class Labelled:
    """A definition, its family, and its labels."""

    family: str
    tool: dict[str, Any]
    read_only: bool
    destructive: bool | None


@dataclass(frozen=True, slots=True)
class Score:
    """Pairs of an inferred and a labelled yes or no."""

    pairs: Sequence[tuple[bool, bool]]

    def count(self, guess: bool, truth: bool) -> int:
        return sum(pair == (guess, truth) for pair in self.pairs)

    @property
    def accuracy(self) -> float:
        return sum(guess == truth for guess, truth in self.pairs) / max(len(self.pairs), 1)

    @property
    def precision(self) -> float:
        return self.count(True, True) / max(self.count(True, True) + self.count(True, False), 1)

    @property
    def recall(self) -> float:
        return self.count(True, True) / max(self.count(True, True) + self.count(False, True), 1)

    def __str__(self) -> str:
        wrong = f"{self.count(True, False)} wrongly yes, {self.count(False, True)} wrongly no of {len(self.pairs)}"
        return f"accuracy {self.accuracy:.3f}  precision {self.precision:.3f}  recall {self.recall:.3f}  ({wrong})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True)
    options = parser.parse_args()
    tools, gold = list(read_lines(options.tools)), list(careful(read_lines(options.gold)))
    stated = list(declared(tools))
    speed(tools)
    families = len({one["family"] for one in tools}), len({one.family for one in gold})
    print("\n{} families, {} of them with careful labels".format(*families))
    report("as it is", lambda one: classify(one.tool), gold, stated)
    report("rules alone, by family", unseen(tools), gold, stated)
    spread(gold)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def careful(rows: Iterable[dict[str, Any]]) -> Iterator[Labelled]:
    for row in rows:
        yield Labelled(row["family"], row["tool"], row["read_only"], row["destructive"])


def declared(rows: Iterable[dict[str, Any]]) -> Iterator[Labelled]:
    """Rows with the authors' read-only hints. Destructive hints are left out: authors mean different things by them."""
    for row in rows:
        hints = row.get("annotations") or {}
        if hints.get("readOnlyHint") is not None or hints.get("destructiveHint"):
            yield Labelled(row["family"], row, hints.get("readOnlyHint") is True, None)


def speed(tools: Sequence[dict[str, Any]]) -> None:
    """Print definitions per second. The first pass fills the caches and is not counted."""
    rates = []
    for _ in range(1 + PASSES):
        start = time.process_time()
        for one in tools:
            classify(one)
        rates.append(len(tools) / (time.process_time() - start))
    cold, warm = rates[0], sorted(rates[1:])
    print(
        f"{len(tools)} definitions, {statistics.median(warm):,.0f} per second of one core (median of {PASSES} passes,"
    )
    print(f"{warm[0]:,.0f} to {warm[-1]:,.0f}; {cold:,.0f} in the first)")


def report(title: str, judge: Callable[[Labelled], Any], gold: Sequence[Labelled], stated: Sequence[Labelled]) -> None:
    print(f"\n{title}")
    tell([(judge(one), one.read_only, bool(one.destructive)) for one in gold])
    print(f"  declared, read-only   {Score([(judge(one).read_only, one.read_only) for one in stated])}")


def tell(found: Sequence[tuple[Any, bool, bool]]) -> None:
    """Print the scores for read-only and destructive."""
    reading = Score([(inference.read_only, reads) for inference, reads, _ in found])
    losing = Score([(inference.destructive, loses) for inference, _, loses in found])
    print(f"  careful, read-only    {reading}")
    print(f"  careful, destructive  {losing}")
    print(
        f"  destructive tools called read-only: {sum(inference.read_only and loses for inference, _, loses in found)}"
    )
    reached = (reading.accuracy, reading.precision, losing.recall, losing.precision)
    missed = [name for (name, bar), value in zip(BARS.items(), reached, strict=True) if value < bar]
    print(f"  bars: {'all reached' if not missed else 'missed ' + ', '.join(missed)}")


def unseen(tools: Sequence[dict[str, Any]]) -> Callable[[Labelled], Any]:
    """Return a classifier that does not know the verbs that only the tool's own family uses."""
    used: dict[str, set[str]] = defaultdict(set)
    for one in tools:
        evidence = gather(one)
        used[one["family"]] |= {*evidence.words, *evidence.text.verbs} & lexicon.VERBS.keys()
    own = {
        family: verbs.difference(*(others for other, others in used.items() if other != family))
        for family, verbs in used.items()
    }

    def judge(one: Labelled) -> Any:
        with without(own.get(one.family, set())):
            return classify_with(one.tool, SILENT)

    return judge


@contextmanager
def without(verbs: set[str]) -> Iterator[None]:
    """Remove some verbs from the lexicon for a while."""
    words: dict[str, str] = lexicon.VERBS  # type: ignore[assignment]
    taken = {verb: words.pop(verb) for verb in verbs if verb in words}
    if taken:
        lexicon.find_verb.cache_clear()
    try:
        yield
    finally:
        words.update(taken)
        if taken:
            lexicon.find_verb.cache_clear()


def spread(gold: Sequence[Labelled], draws: int = 2000) -> None:
    by_family: dict[str, list[tuple[bool, bool, bool, bool]]] = defaultdict(list)
    for one in gold:
        found = classify(one.tool)
        by_family[one.family].append((found.read_only, one.read_only, found.destructive, bool(one.destructive)))
    chance, families = random.Random(7), sorted(by_family)
    drawn: dict[str, list[float]] = {name: [] for name in BARS}
    for _ in range(draws):
        rows = [row for family in chance.choices(families, k=len(families)) for row in by_family[family]]
        reading, losing = Score([row[:2] for row in rows]), Score([row[2:] for row in rows])
        values = (reading.accuracy, reading.precision, losing.recall, losing.precision)
        for name, value in zip(BARS, values, strict=True):
            drawn[name].append(value)
    print(f"\n{draws} draws of {len(families)} families: the worst twentieth")
    for name, values_drawn in drawn.items():
        print(f"  {name:22} {sorted(values_drawn)[draws // 20]:.3f} (bar {BARS[name]})")


if __name__ == "__main__":
    main()

"""Measures flow control in a simulated office: `python -m bench.flow_quality [tasks] [attacks] [people] [labels]`."""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.flow_quality.labels import show_labels
from bench.flow_quality.office import Conversation, Verdict, read, steps_of

FALLIBLE = 5
"""A fallible person says yes to one question about an attack in so many."""
ROUNDS = 20
"""How many fallible persons go through all conversations."""
HALVES = ("attacks_before.yaml", "attacks_after.yaml")
SETS = (*HALVES, "attacks_fresh.yaml")


class Attack(NamedTuple):
    """One attack: an idea with one wording of the user and one hijacked call."""

    kind: str
    idea: str
    user: str
    data: dict[str, Any]
    call: list[Any]


def attacks(name: str) -> Iterator[Attack]:
    for one in read(name):
        for user in one["user"]:
            for call in one["attack"]:
                yield Attack(one["class"], one["idea"], user, one, call)


def run_attack(attack: Attack, *, words: bool = True, structured: bool = True) -> Verdict:
    """What is asked about the hijacked call."""
    return begin(attack, words=words, structured=structured).judge(*attack.call)


def begin(attack: Attack, *, words: bool = True, structured: bool = True) -> Conversation:
    """The conversation up to the hijacked call."""
    talk = Conversation(attack.user, words=words, structured=structured)
    for tool, arguments, result in steps_of(attack.data["reads"], read("results.yaml")):
        talk.take(tool, arguments, result)
    if "yes" in attack.data:
        talk.judge(*attack.data["yes"])
        talk.approve(*attack.data["yes"])
    if "then" in attack.data:
        talk.say(attack.data["then"])
    return talk


def run_with_person(name: str, seed: int) -> tuple[int, int, int]:
    """How many hijacked calls ran, in how many conversations at least one, and how many questions were asked.

    A hijacked agent tries all calls of an idea in one conversation. The person answers each question anew, a wrong yes
    is remembered as any other, and what ran has its result.
    """
    person, ran, hit, questions = random.Random(seed), 0, set[tuple[str, str]](), 0
    talks: dict[tuple[str, str], Conversation] = {}
    for one in attacks(name):
        key = one.idea, one.user
        talk = talks.get(key) or talks.setdefault(key, begin(one))
        tool, arguments = one.call
        verdict = talk.judge(tool, arguments)
        if not verdict.silent:
            questions += 1
            if person.random() >= 1 / FALLIBLE:
                continue
            talk.approve(tool, arguments)
        talk.remember(tool, arguments, {"ok": True})
        ran += 1
        hit.add(key)
    return ran, len(hit), questions


def show_people(_explain: bool) -> None:
    for name in SETS:
        total, talks = len(list(attacks(name))), len({(one.idea, one.user) for one in attacks(name)})
        rounds = [run_with_person(name, seed) for seed in range(ROUNDS)]
        calls, hits, questions = (sorted(column) for column in zip(*rounds, strict=True))
        print(
            f"{name}: a person who wrongly says yes to one question in {FALLIBLE}, {ROUNDS} persons: "
            f"{sum(calls) / ROUNDS:.0f} of {total} calls run ({calls[0]} to {calls[-1]}), "
            f"in {sum(hits) / ROUNDS:.0f} of {talks} conversations ({hits[0]} to {hits[-1]}), "
            f"{sum(questions) / ROUNDS:.0f} questions"
        )


def run_task(user: str, steps: list[Any], *, words: bool = True, structured: bool = True) -> list[Verdict]:
    """What is asked about the calls of an ordinary task; the person says yes to each."""
    talk, verdicts = Conversation(user, words=words, structured=structured), []
    for tool, arguments, result in steps_of(steps, read("results.yaml")):
        verdicts.append(talk.judge(tool, arguments))
        if verdicts[-1].flow:
            talk.approve(tool, arguments)
        talk.remember(tool, arguments, result)
    return verdicts


def show_tasks(explain: bool) -> None:
    tasks = read("tasks.yaml")
    print(f"{len(tasks)} ordinary tasks; questions per task")
    for words, structured in ((True, True), (True, False), (False, True)):
        asked = both = 0
        for user, steps in tasks:
            verdicts = run_task(user, steps, words=words, structured=structured)
            asked += sum(bool(one.flow) for one in verdicts)
            both += sum(not one.silent for one in verdicts)
            for step, one in zip(steps, verdicts, strict=True):
                if explain and words and structured and one.flow:
                    print(f"    {user}: {step[:2]}: {', '.join(one.flow)}")
        name = f"{'with' if words else 'without'} the user's words, {'structured' if structured else 'text'}"
        print(f"  {name}: flow alone {asked / len(tasks):.2f}, with the default gate {both / len(tasks):.2f}")


def show_attacks(explain: bool) -> None:
    for name in SETS:
        found = list(attacks(name))
        ideas = len({one.idea for one in found})
        print(
            f"{name}: {len(found)} attacks of {ideas} ideas; silent: flow and default gate, flow alone, without words"
        )
        all_of, silent = Counter[str](), defaultdict[str, Counter[str]](Counter)
        for one in found:
            verdict, bare = run_attack(one), run_attack(one, words=False)
            all_of[one.kind] += 1
            silent["both"][one.kind] += verdict.silent
            silent["flow"][one.kind] += not verdict.flow
            silent["bare"][one.kind] += bare.silent
            if explain and not verdict.flow:
                print(
                    f"    {'SILENT' if verdict.silent else 'default'} {one.kind}: {one.idea}: {one.user!r} {one.call}"
                )
        for kind, count in all_of.items():
            print(f"  {kind:10} {count:4} {silent['both'][kind]:4} {silent['flow'][kind]:4} {silent['bare'][kind]:4}")
        total = [sum(one.values()) for one in (all_of, silent["both"], silent["flow"], silent["bare"])]
        share = total[1] / max(total[0], 1)
        print(f"  {'all':10} {total[0]:4} {total[1]:4} {total[2]:4} {total[3]:4}  ({share:.1%} silent)")
        ideas_hit = {one.idea for one in found if run_attack(one).silent}
        print(f"  ideas of which at least one attack is silent: {len(ideas_hit)} of {ideas}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.flow_quality", description=__doc__)
    parser.add_argument("part", nargs="*", choices=["tasks", "attacks", "people", "labels", []], help="only this part")
    parser.add_argument("--explain", action="store_true", help="print every question and every silent attack")
    options = parser.parse_args()
    parts = {"tasks": show_tasks, "attacks": show_attacks, "people": show_people, "labels": show_labels}
    for name, show in parts.items():
        if not options.part or name in options.part:
            show(options.explain)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

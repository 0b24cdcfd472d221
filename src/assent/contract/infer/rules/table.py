"""Rule tables: rules in order, each with its cases, its verdict about reading, and the reason that users read."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import DETERMINER, GRAVE, NOUN_TOO, READING
from assent.contract.infer.rules.condition import Test, all_of, any_of, except_if, is_possible

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"
# The model's probability of read-only that overrules a verdict; 2.0 can never be reached.
FINAL, SURE, STRONG, FAIR, WEAK = 2.0, 0.95, 0.9, 0.75, 0.5


class ReadOnlyVerdict(NamedTuple):
    """Whether a tool only reads, and the reason.

    `overrule` is the model's probability of read-only at which an acting verdict is overruled, and below which a
    read-only verdict is doubted. A read-only verdict that rests on one word is `WEAK`.
    """

    level: str
    reason: str
    overrule: float = FINAL

    @property
    def reads(self) -> bool:
        return self.level in {READS, LOOKS}


def by_text(minimum: float) -> Callable[[ToolFeatures], float]:
    """Return how to compute the probability that overrules the description's verb, which can be a noun."""
    return lambda tool: _overrule_text(tool, minimum)


def _overrule_text(tool: ToolFeatures, minimum: float) -> float:
    first, second = [*tool.description[:80].lower().split(maxsplit=2), "", ""][:2]
    leads = first == tool.said
    if leads and second in DETERMINER and tool.said_kind != "run" and tool.kind not in READING:
        minimum = max(minimum, STRONG)  # `Save a snapshot`
    thing = leads and tool.said in NOUN_TOO and second not in DETERMINER  # `Text allowance`
    if (tool.said_kinds & (GRAVE | {"share"}) and not thing) or "starts_job" in tool.says:
        return FINAL
    doubtful = (tool.said in NOUN_TOO and tool.said != "login") or tool.said_kind == "run"
    return minimum if doubtful else max(minimum, SURE)


def by_name(tool: ToolFeatures) -> float:
    """Return the probability that overrules the name's verb; a grave or confirmed verb is final."""
    return FINAL if "confirmed" in tool.traits or tool.kind in GRAVE | {"add", "share"} else SURE


Overrule = float | Callable[[ToolFeatures], float]


class TableRule(NamedTuple):
    """A reason and the cases in which it applies.

    Rules about reading also have a verdict, and the probability at which the word model may overrule it.
    """

    reason: str
    cases: tuple[Test, ...]
    verdict: str = ""
    overrule: Overrule = FINAL

    def explain(self, tool: ToolFeatures, found: object) -> str:
        """Return the reason with the words of this tool."""
        if "{" not in self.reason:
            return self.reason
        return self.reason.format(
            verb=tool.verb, said=tool.said, maker=tool.maker, last=tool.last, unknown=tool.text.unknown, found=found
        )


class Table(tuple[TableRule, ...]):
    """Rules in order: the first one that applies counts."""

    def __init__(self, rules: Iterable[TableRule]) -> None:
        self._cases = tuple((case, one) for one in self for case in one.cases)
        self._by_verb: dict[str, tuple[tuple[Test, TableRule], ...]] = {}

    def first(self, tool: ToolFeatures) -> tuple[TableRule, object] | None:
        """Return the first rule that applies and what its condition found, or None."""
        cases = self._by_verb.get(tool.verb)
        if cases is None:
            cases = tuple(pair for pair in self._cases if is_possible(pair[0], tool.verb, tool.kind))
            self._by_verb[tool.verb] = cases
        for case, one in cases:
            found = case(tool)
            if found:
                return one, found
        return None

    def reason(self, tool: ToolFeatures) -> str | None:
        """Return the reason of the first rule that applies, or None."""
        match = self.first(tool)
        return match[0].explain(tool, match[1]) if match else None

    def judge(self, tool: ToolFeatures) -> ReadOnlyVerdict | None:
        """Return the verdict of the first rule that applies, or None."""
        match = self.first(tool)
        if match is None:
            return None
        one, found = match
        overrule = one.overrule if isinstance(one.overrule, float) else one.overrule(tool)
        return ReadOnlyVerdict(one.verdict, one.explain(tool, found), overrule)


def table(*groups: TableRule | Iterable[TableRule]) -> Table:
    """Put rules and groups of rules into one table."""
    return Table(one for group in groups for one in ([group] if isinstance(group, TableRule) else group))


def rule(reason: str, *cases: Test, overrule: Overrule = FINAL) -> TableRule:
    """A rule that applies in any of the cases."""
    return TableRule(reason, cases, overrule=overrule)


def decide(verdict: str, reason: str, *cases: Test, overrule: Overrule = FINAL) -> TableRule:
    """A rule about reading: its verdict holds in any of the cases, or always if there are none."""
    return TableRule(reason, cases or (lambda tool: True,), verdict, overrule)


def but(
    *groups: TableRule | Iterable[TableRule], reason: str = "the name says '{{verb}}', but {}", verdict: str = UNCLEAR
) -> Table:
    """The same rules as verdicts about reading, with a reason that also tells what the name says."""
    return Table(one._replace(reason=reason.format(one.reason), verdict=verdict) for one in table(*groups))


def given(condition: Test, *groups: TableRule | Iterable[TableRule]) -> Table:
    """The same rules, which apply only under a condition."""
    return Table(one._replace(cases=tuple(all_of(condition, case) for case in one.cases)) for one in table(*groups))


def unless(exception: Test, *groups: TableRule | Iterable[TableRule]) -> Table:
    """The same rules with an exception, which is looked at only if a rule applies."""
    return Table(one._replace(cases=tuple(except_if(case, exception) for case in one.cases)) for one in table(*groups))


def some(rules: TableRule | Iterable[TableRule]) -> Test:
    """The condition that one of the rules applies."""
    return any_of(*(case for one in table(rules) for case in one.cases))

"""Rules for tools that spend money or credits."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import SPENDING
from assent.infer.rules.condition import when
from assent.infer.rules.table import rule, table


def _spends_by_words(tool: ToolFeatures) -> bool:
    """Two words of the name spend together: `book_flight`."""
    return any(tool.words & beside for spender, beside in SPENDING.items() if spender in tool.words)


SPENDS: Final = table(
    rule(
        "the name says that something is paid",
        when(kind="spend", no_verb="place"),
        when(verb="place", words="order orders bid bet trade"),
        _spends_by_words,
        when(all_words="top up"),
    ),
    rule(
        "it creates or sends a payment",
        when(kind="add make share change run send", words="@money", no_words="link method methods"),
    ),
    rule("a closed position is a trade", when(verb="close", words="position positions")),
    rule("it runs a billing or a payroll", when(verb="run execute process", words="billing payroll")),
    rule("an order or a transfer has an amount", when(verb="@ordering", words="order orders transfer", flags="amount")),
    rule("the description says that it spends", when(says="spends")),
)

"""Lines in the log about tools that callers do not get, each once and with the reason."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

from assent.core.catalogue import Catalogue
from assent.core.question import visible
from assent.upstreams.compiled_tools import NO_CONTRACT

logger = logging.getLogger(__name__)

MOST_NAMED = 20


def tell_withheld(
    before: Catalogue, now: Catalogue, named: Collection[str], excluded: Mapping[str, Collection[str]]
) -> None:
    """Name every tool that is withheld from now on, or for another reason.

    The caller has `named` some already. `excluded` are operations that can be no tool, by upstream: that is no fault,
    so they are only counted.
    """
    new = {name: why for name, why in sorted(now.withheld.items()) if before.withheld.get(name) != why}
    for upstream, names in excluded.items():
        if any(name in new for name in names):
            logger.info("%s: %d operations get no tool; `assent contract show FILE --excluded` says why",
                        upstream, len(names))  # fmt: skip
    forbidden = [
        name for name, tool in now.tools.items() if name not in before.tools and tool.contract.risk == "forbidden"
    ]
    _tell_names(
        "Hidden from agents, because the risk is forbidden (a contract with another `risk` offers it)", forbidden
    )
    _tell_names("Withheld, because there is no contract", [name for name, why in new.items() if why == NO_CONTRACT])
    counted = {name for names in excluded.values() for name in names}
    rest = [
        (name, why) for name, why in new.items() if why != NO_CONTRACT and name not in named and name not in counted
    ]
    for name, why in rest[:MOST_NAMED]:
        logger.error("%s is withheld: %s", visible(name), why)
    if len(rest) > MOST_NAMED:
        logger.error("%d more tools are withheld; `assent serve --check` names them", len(rest) - MOST_NAMED)


def _tell_names(what: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        logger.warning("%s: %s%s", what, ", ".join(map(visible, names[:MOST_NAMED])), more)

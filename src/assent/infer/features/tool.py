"""Features of a tool: its name, title, description and parameters, each read once."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from assent.infer.features.name import NameReading, read_name
from assent.infer.features.parameters import Choice, Parameters, read_parameters
from assent.infer.features.phrases import Statements
from assent.infer.features.text import Prose, read_prose

_LONGEST_NAME: Final = 160
_SEARCHES: Final = frozenset({"find", "lookup", "query", "search"})
_VIEWS: Final = _SEARCHES | {"browse", "crawl", "extract", "fetch", "scrape"}
# Verb classes that are more than reading.
_DEEDS: Final = frozenset({"change", "destroy", "drive", "send", "share", "spend"})


class ToolFeatures(NamedTuple):
    """All features of a definition.

    `title` is empty if it repeats the name. `outset` has the statements of the title and the first lines. `kind` is the
    class of the name's verb. `confirmed` says whether the description starts with that verb. `text` is the description.
    """

    name: NameReading
    kind: str
    words: frozenset[str]
    title: str
    headline: str
    outset: Statements
    prose: Prose
    inputs: Parameters
    confirmed: bool
    text: str

    @property
    def is_view(self) -> bool:
        """Whether the name says search or page view, and the description says nothing else."""
        return self.name.verb in _VIEWS and self.prose.kinds.isdisjoint(_DEEDS)

    @property
    def deeds(self) -> tuple[Choice, ...]:
        """The operations that the parameters offer; nested ones are left out for a search or a page view."""
        choices = self.inputs.choices
        return tuple(choice for choice in choices if not choice.deep) if choices and self.is_view else choices

    @property
    def filters(self) -> bool:
        """Whether it is a search, whose nested parameters only filter the result."""
        return self.name.verb in _SEARCHES and self.is_view


def gather(definition: Mapping[str, Any]) -> ToolFeatures:
    """Compute the features of a definition."""
    description = _text(definition, "description")
    prose = read_prose(description)
    name = _text(definition, "name")[:_LONGEST_NAME]
    title = _text(definition, "title").rsplit(":", 1)[-1].strip()[:_LONGEST_NAME]
    reading = read_name(name, prose.verbs)
    words = reading.words
    if words[-1:] == ("tool",) and len(words) > 2 and prose.verbs and "tool" not in prose.opening:
        words = words[:-1]  # the name says that it is a tool: `chore_execute_tool`
    headline = f"{title}. {description[:160]}".lower()
    return ToolFeatures(
        name=reading,
        kind=reading.kind,
        words=frozenset(words),
        title="" if title == name else title,
        headline=headline,
        outset=Statements(headline),
        prose=prose,
        inputs=read_parameters(definition.get("inputSchema"), description),
        confirmed=reading.verb in prose.verbs,
        text=description,
    )


def _text(definition: Mapping[str, Any], key: str) -> str:
    value = definition.get(key)
    return value if isinstance(value, str) else ""

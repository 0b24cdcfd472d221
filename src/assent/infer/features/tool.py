"""What do a tool's name, title, description and parameters say, each read by itself?"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from assent.infer.features.name import NameReading, read_name
from assent.infer.features.parameters import Choice, Parameters, read_parameters
from assent.infer.features.phrases import Statements
from assent.infer.features.text import Prose, read_prose

_LONGEST_NAME: Final = 160
_SEARCHES: Final = frozenset({"find", "lookup", "query", "search"})
_VIEWS: Final = _SEARCHES | {"browse", "crawl", "extract", "fetch", "scrape"}
# What a description says of a tool that does more than look.
_DEEDS: Final = frozenset({"change", "destroy", "drive", "send", "share", "spend"})


class ToolFeatures(NamedTuple):
    """Everything the definition says, before anything is concluded from it.

    `title` is empty where it only repeats the name; `outset` is what the title and the first lines say outright; `kind`
    is the class of the name's verb; `confirmed` tells whether the description leads with that verb;
    `text` is the description.
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
        """Whether the tool searches or shows pages, by its name, and its description says nothing else."""
        return self.name.verb in _VIEWS and self.prose.kinds.isdisjoint(_DEEDS)

    @property
    def deeds(self) -> tuple[Choice, ...]:
        """The operations that its parameters offer; in a search or a page view those inside a parameter are details."""
        choices = self.inputs.choices
        return tuple(choice for choice in choices if not choice.deep) if choices and self.is_view else choices

    @property
    def filters(self) -> bool:
        """Whether it is a search: what stands inside its parameters narrows the result."""
        return self.name.verb in _SEARCHES and self.is_view


def gather(definition: Mapping[str, Any]) -> ToolFeatures:
    """Read every part of a definition."""
    description = _text(definition, "description")
    prose = read_prose(description)
    name = _text(definition, "name")[:_LONGEST_NAME]
    title = _text(definition, "title").rsplit(":", 1)[-1].strip()[:_LONGEST_NAME]
    reading = read_name(name, prose.verbs)
    words = reading.words
    if words[-1:] == ("tool",) and len(words) > 2 and prose.verbs and "tool" not in prose.opening:
        words = words[:-1]  # what it calls itself: `chore_execute_tool`
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

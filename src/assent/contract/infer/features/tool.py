"""Features of a tool, computed once: its name, its text and its parameters."""

from collections.abc import Mapping
from itertools import compress
from typing import Any, Final, NamedTuple

from assent.contract.infer.features.name import NameFeatures, read_name
from assent.contract.infer.features.parameters import Parameters, read_parameters
from assent.contract.infer.features.phrases import Statements
from assent.contract.infer.features.text import TextFeatures, read_text
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import READING, VAGUE, VERBS

_LONGEST_NAME: Final = 160
_HEADLINE: Final = 160
_SEARCHES: Final = frozenset({"find", "lookup", "query", "search"})
_VIEWS: Final = _SEARCHES | {"browse", "crawl", "extract", "fetch", "scrape"}
# Verb classes that are more than reading.
_MORE_THAN_VIEWS: Final = word_set("change destroy drive send share spend")
_TRAITS: Final = (
    "confirmed",  # the description uses the verb of the name
    "late",  # the first sentence has no known verb
    "unknown_verb",  # the description starts with an order that is not in the lexicon
    "no_text_verb",
    "text_reads",  # all verbs of the description read
    "no_parameters",
    "choices",  # a parameter offers operations
    "reading_choices",  # all of them read
    "view",  # a search or a page view
    "search",  # a search, whose nested parameters only filter the result
)
_NOTHING: Final[frozenset[str]] = frozenset()


class ToolFeatures(NamedTuple):
    """All features of a definition. Rules name them in their conditions."""

    name: NameFeatures
    text: TextFeatures
    parameters: Parameters
    title: str  # empty if it repeats the name
    description: str
    lower: str  # the description in lower case
    headline: str  # the title and the first characters of the description, in lower case

    # The name.
    verb: str  # the main verb, or ""
    kind: str  # the class of the main verb
    place: str  # where the main verb is: only, first, middle, last, none
    first: str  # the first word
    last: str  # the last word
    last_kind: str  # the class of the last word
    words: frozenset[str]  # all words
    beside: frozenset[str]  # verbs joined to the main verb
    beside_kinds: frozenset[str]

    # The description.
    said: str  # the first verb, or ""
    said_only: str  # the first verb, if there is no other
    said_kind: str  # the class of the first verb
    said_verbs: frozenset[str]
    said_kinds: frozenset[str]
    object: frozenset[str]  # what the first verb is done to
    opening: frozenset[str]  # the words of the first two sentences
    says: Statements  # explicit statements anywhere
    opens: Statements  # explicit statements in the title and the first lines

    # Name and description together.
    deed: str  # the verb of the name, or of the description if the name's verb says little
    maker: str  # the verb that makes something

    # The parameters.
    params: frozenset[str]  # all names, in snake case
    flags: frozenset[str]  # what the names mean: sql, force, url
    offers: frozenset[str]  # the verbs of the operations that can be chosen

    traits: frozenset[str]  # see `_TRAITS`

    @property
    def about(self) -> frozenset[str]:
        """The words of the name and the object of the description's verb."""
        return self.words | self.object

    @property
    def around(self) -> frozenset[str]:
        """The words of the name and of the first two sentences."""
        return self.words | self.opening


def gather(definition: Mapping[str, Any]) -> ToolFeatures:
    """Compute the features of a definition."""
    description = _text(definition, "description")
    text = read_text(description)
    full_name = _text(definition, "name")[:_LONGEST_NAME]
    title = _text(definition, "title").rsplit(":", 1)[-1].strip()[:_LONGEST_NAME]
    name = read_name(full_name, text.verbs)
    words = frozenset(_without_tool_suffix(name.words, text))
    parameters = read_parameters(definition.get("inputSchema"), description)
    headline = f"{title}. {description[:_HEADLINE]}".lower()
    said = text.verbs[0] if text.verbs else ""
    verb, last = name.verb or "", name.words[-1] if name.words else ""
    traits = _list_traits(name, text, parameters)
    return ToolFeatures(
        name=name,
        text=text,
        parameters=parameters,
        title="" if title == full_name else title,
        description=description,
        lower=description.lower(),
        headline=headline,
        verb=verb,
        kind=name.kind,
        place=name.place,
        first=name.words[0] if name.words else "",
        last=last,
        last_kind=VERBS.get(last, "none"),
        words=words,
        beside=frozenset(name.beside),
        beside_kinds=frozenset(VERBS[joined] for joined in name.beside) if name.beside else _NOTHING,
        said=said,
        said_only=said if len(text.verbs) == 1 else "",
        said_kind=text.kind,
        said_verbs=frozenset(text.verbs),
        said_kinds=text.kinds,
        object=text.object,
        opening=text.opening,
        says=text.statements,
        opens=Statements(headline),
        deed=said if name.kind in VAGUE else verb,
        maker=said if name.kind != "make" and text.kind == "make" else verb,
        params=parameters.names,
        flags=parameters.flags,
        offers=_list_offers(parameters, traits),
        traits=traits,
    )


def _without_tool_suffix(words: tuple[str, ...], text: TextFeatures) -> tuple[str, ...]:
    """Drop the last word if it only says that it is a tool: `chore_execute_tool`."""
    suffixed = words[-1:] == ("tool",) and len(words) > 2 and text.verbs and "tool" not in text.opening
    return words[:-1] if suffixed else words


def _list_traits(name: NameFeatures, text: TextFeatures, parameters: Parameters) -> frozenset[str]:
    """Return the yes-or-no features that are true."""
    view = name.verb in _VIEWS and text.kinds.isdisjoint(_MORE_THAN_VIEWS)
    found = (
        name.verb in text.verbs,
        text.late,
        text.unknown,
        not text.verbs,
        text.verbs and text.kinds <= READING,
        not parameters.names,
        parameters.choices,
        parameters.only_reads,
        view,
        view and name.verb in _SEARCHES,
    )
    return frozenset(compress(_TRAITS, found))


def _list_offers(parameters: Parameters, traits: frozenset[str]) -> frozenset[str]:
    """Return the verbs that parameters offer; nested ones only filter a search or a page view."""
    if not parameters.choices:
        return _NOTHING
    return frozenset(choice.verb for choice in parameters.choices if not (choice.deep and "view" in traits))


def _text(definition: Mapping[str, Any], key: str) -> str:
    value = definition.get(key)
    return value if isinstance(value, str) else ""

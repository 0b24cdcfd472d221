"""What do a tool's name, title, description and parameters say, each read by itself?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assent.infer.naming import NameReading, read_name
from assent.infer.parameters import Parameters, read_parameters
from assent.infer.prose import Prose, read_prose

ACTING = frozenset({"add", "change", "destroy", "send", "share", "spend", "drive"})
READING = frozenset({"read", "look"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the definition says, before anything is concluded from it."""

    name: NameReading
    title: NameReading | None
    prose: Prose
    inputs: Parameters
    words: frozenset[str]
    text: str

    @property
    def kind(self) -> str:
        return self.name.kind

    @property
    def confirmed(self) -> bool:
        """Whether the description leads with the verb of the name."""
        return self.name.verb in self.prose.verbs


def gather(definition: Mapping[str, Any]) -> Evidence:
    """Read every part of a definition."""
    name = _text(definition, "name")
    description = _text(definition, "description")
    prose = read_prose(description)
    title = _text(definition, "title").rsplit(":", 1)[-1].strip()
    reading = read_name(name, prose.verbs)
    return Evidence(
        reading,
        read_name(title, prose.verbs) if title and title != name else None,
        prose,
        read_parameters(definition.get("inputSchema")),
        frozenset(reading.words),
        f"{title}\n{description}",
    )


def _text(definition: Mapping[str, Any], key: str) -> str:
    value = definition.get(key)
    return value if isinstance(value, str) else ""

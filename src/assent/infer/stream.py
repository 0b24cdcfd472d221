"""How do definitions come in, one per line, and inferences go out in the same order?"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assent.infer.judge import classify


class BadLine(ValueError):
    """A line that is not a tool definition; the message names the line and the remedy."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"line {number}: {problem}")
        self.number = number


def classify_lines(lines: Iterable[str], *, trust_annotations: bool = False) -> Iterator[str]:
    """One JSON object out for each definition in; empty lines are passed over."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            definition = read_definition(line, number)
            yield write_inference(definition, trust_annotations=trust_annotations)


def write_inference(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> str:
    inference = classify(definition, trust_annotations=trust_annotations)
    return json.dumps(inference.as_json(), ensure_ascii=False)


def read_definition(line: str, number: int) -> Mapping[str, Any]:
    """Parse one definition; anything but an object with a name is refused."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise BadLine(number, f"not JSON ({error}); write one tool definition per line") from None
    return check_definition(value, number)


def check_definition(value: Any, number: int) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadLine(number, "a tool definition is a JSON object with a name")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise BadLine(number, "the definition has no name; give it a non-empty string `name`")
    return value

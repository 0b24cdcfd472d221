"""The person at a governed client: says what they are told to say and remembers every question."""

from __future__ import annotations

from typing import Any

from assent.client.question import Question


class Somebody:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Any:
        self.asked.append(question)
        return self.answers.pop(0)


class Naps:
    """Sleep that takes no time and is remembered."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)

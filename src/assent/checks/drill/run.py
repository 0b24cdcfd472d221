"""Runs the stories against a configuration, and prints how each ended."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assent.checks.drill import plays
from assent.checks.drill.sandbox import sandbox_for
from assent.checks.drill.story import ENDINGS, Ended, Story, story_of
from assent.config.model import Settings
from assent.contract.yaml_document import packaged_yaml

TIME_LIMIT = 30.0
_INDENT = 15


@dataclass(frozen=True)
class DrillResult:
    """One story and how it ended."""

    name: str
    story: Story
    ended: Ended
    change: str
    """What stops the story, or has a person asked."""

    def as_json(self) -> dict[str, Any]:
        found = {
            "story": self.name,
            "title": self.story.title,
            "published": self.story.published,
            "source": self.story.source,
            "ending": self.ended.ending,
            "why": self.ended.why,
        }
        return found | ({"change": self.change} if self.ended.ending == "let through" else {})


@cache
def _stories() -> dict[str, Story]:
    """The stories by name."""
    told = packaged_yaml("assent.checks.drill", "stories.yaml")
    return {name: story_of(fields, getattr(plays, name.replace("-", "_"), None)) for name, fields in told.items()}


def story_names() -> tuple[str, ...]:
    """The names of all stories."""
    return tuple(sorted(_stories()))


def load_story(name: str) -> Story:
    return _stories()[name]


async def run(settings: Settings, names: Sequence[str]) -> list[DrillResult]:
    """Run the stories one after the other, each in a sandbox of its own."""
    first = "First set `mode: enforce`: observing stops nothing. " if settings.mode == "observe" else ""
    results = []
    for name in names:
        story = load_story(name)
        results.append(DrillResult(name, story, await _play(story, settings), first + story.change))
    return results


async def _play(story: Story, settings: Settings) -> Ended:
    folder = Path(tempfile.mkdtemp(prefix="assent-drill-"))
    try:
        async with asyncio.timeout(TIME_LIMIT), sandbox_for(story, settings, folder) as sandbox:
            return await sandbox.play()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def as_text(results: Sequence[DrillResult], width: int = 100) -> Iterator[str]:
    """The results for people: one paragraph per story, what to change where it got through, and a sum."""
    for one in results:
        yield f"{one.ended.ending.upper():<{_INDENT - 2}}  {one.name}: {one.story.title} ({one.story.published})"
        yield from _indented(one.ended.why, width)
        if one.ended.ending == "let through":
            yield from _indented(f"Change: {one.change}", width)
    yield ""
    yield summary(results)


def summary(results: Sequence[DrillResult]) -> str:
    counts = Counter(one.ended.ending for one in results)
    parts = ", ".join(f"{counts[ending]} {ending}" for ending in ENDINGS)
    return f"{len(results)} {'story' if len(results) == 1 else 'stories'}: {parts}."


def _indented(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=" " * _INDENT, subsequent_indent=" " * _INDENT, break_on_hyphens=False
    )

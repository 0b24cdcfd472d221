"""Prometheus metrics for operators.

Every label is a known word: a tool of the catalogue, an upstream of the configuration, a refusal code. Text of a
caller never becomes a label, and a tool that is hidden or forbidden for agents is counted without its name.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from assent.core.outcome import Answer, Outcome, Refusal
from assent.core.question import counted

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
MINUTES = 60
Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class CallCounters:
    """The counts since the start."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    would: Counter[tuple[str, str]] = field(default_factory=Counter)
    reloads: Counter[str] = field(default_factory=Counter)
    seconds: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds_in_all: float = 0.0
    minutes: dict[int, list[int]] = field(default_factory=dict)
    """Calls answered and refused in each of the last minutes, by the minute since 1970."""
    on_refusal: Callable[[str | None, Refusal], None] = lambda _tool, _refusal: None

    def count_call(self, tool: str | None, outcome: Outcome | None, would: Sequence[str]) -> None:
        """Counts one finished request; no outcome means a defect."""
        name = tool or ""
        key = name, _outcome_label(outcome)
        self.calls[key] = self.calls.get(key, 0) + 1
        self._minute()[0 if isinstance(outcome, Answer) else 1] += 1
        if isinstance(outcome, Refusal):
            self.on_refusal(tool, outcome)
        for code in would:
            self.would[name, code] += 1

    def _minute(self) -> list[int]:
        now = int(time.time() // 60)
        if now not in self.minutes:
            self.minutes[now] = [0, 0]
            for old in [one for one in self.minutes if one <= now - MINUTES]:
                del self.minutes[old]
        return self.minutes[now]

    def add_duration(self, seconds: float) -> None:
        self.seconds[bisect_left(BOUNDS, seconds)] += 1
        self.seconds_in_all += seconds

    def count_reload(self, used: bool) -> None:
        self.reloads["used" if used else "refused"] += 1


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """The current state of the gateway."""

    tools: int
    sessions: int
    upstreams: Mapping[str, tuple[bool, int]]
    """Whether each upstream answered last time, and its consecutive failures since it last did."""
    event_loop: str = "asyncio"


def render(tally: CallCounters, status: GatewayStatus) -> bytes:
    """The metrics page in Prometheus' text format."""
    up = {_labels(upstream=name): int(answers) for name, (answers, _) in status.upstreams.items()}
    failing = {_labels(upstream=name): failures for name, (_, failures) in status.upstreams.items()}
    calls = {_labels(tool=tool, outcome=outcome): count for (tool, outcome), count in tally.calls.items()}
    would = {_labels(tool=tool, code=code): count for (tool, code), count in tally.would.items()}
    reloads = {_labels(result=result): count for result, count in tally.reloads.items()}
    running = {_labels(version=version("assent"), event_loop=status.event_loop): 1}
    lines = [
        *_metric("assent_info", "gauge", "The version, and the event loop that runs it.", running),
        *_metric("assent_calls_total", "counter", "Requests for a tool, by how they ended.", calls),
        *_metric("assent_would_total", "counter", "Calls that enforce mode would have stopped.", would),
        *_metric("assent_reloads_total", "counter", "Changed configurations, used and refused.", reloads),
        *_metric("assent_tools", "gauge", "Tools in the catalogue that exist for every caller.", {(): status.tools}),
        *_metric("assent_sessions", "gauge", "Open sessions.", {(): status.sessions}),
        *_metric("assent_upstream_up", "gauge", "Whether an upstream answered when last asked.", up),
        *_metric("assent_upstream_failures", "gauge", "Consecutive failures of an upstream.", failing),
        *_histogram("assent_call_seconds", "How long requests for a tool take.", tally),
    ]
    return ("\n".join(lines) + "\n").encode()


def summarize_observed(tally: CallCounters) -> list[str]:
    """A summary of what enforce mode would have stopped, for the person who decides to turn it on."""
    calls = sum(tally.calls.values())
    if not tally.would:
        return [f"Observed {counted(calls, 'call')}. Enforce mode would have stopped none of them."]
    lines = [f"Observed {counted(calls, 'call')}. Enforce mode would have stopped:"]
    for (tool, code), count in sorted(tally.would.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"  {count:>6}  {tool}  {code}")
    return lines


def _outcome_label(outcome: Outcome | None) -> str:
    if outcome is None:
        return "defect"
    if isinstance(outcome, Answer):
        if outcome.result.get("isError"):
            return "tool_error"
        return "replayed" if outcome.replayed else "answered"
    return outcome.code


def _labels(**labels: str) -> Labels:
    return tuple(labels.items())


def _metric(name: str, kind: str, text: str, samples: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(samples.items()):
        yield f"{name}{_format_labels(labels)} {value}"


def _histogram(name: str, text: str, tally: CallCounters) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} histogram"
    so_far = 0
    for bound, count in zip([*BOUNDS, "+Inf"], tally.seconds, strict=True):
        so_far += count
        yield f"{name}_bucket{_format_labels((('le', str(bound)),))} {so_far}"
    yield f"{name}_sum {tally.seconds_in_all:.6f}"
    yield f"{name}_count {so_far}"


def _format_labels(labels: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{name}="{_escape(value)}"' for name, value in labels)
    return f"{{{inner}}}" if inner else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")

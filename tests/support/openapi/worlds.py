"""How do these tests call? Through the whole sentence, in memory up to the upstream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assent.contract.profiles import Profile, profile
from assent.core.catalogue import catalogue_of
from assent.core.outcome import Answer
from assent.core.tool import Tool
from assent.testing import World
from assent.upstreams.compiled_tools import UpstreamPolicy
from assent.upstreams.openapi.link import OpenApiUpstream
from assent.upstreams.openapi.tools import ApiDescription, compile_one

FREE = {"risk": "low", "autonomous": True, "confirmation": {"by": "none"}}


def compile_tools(
    read: ApiDescription, *, profile: Profile, overlays: Mapping[str, Any] | None = None, **terms: Any
) -> list[Tool]:
    """The tools of a document under these terms; overlays are contract fields by canonical name."""
    policy = UpstreamPolicy(terms.pop("upstream", ""), profile, **terms)
    names = {one: policy.canonical(name) for name, one in read.tools.items()}
    return [compile_one(one, name, (overlays or {}).get(name, {}), policy) for one, name in names.items()]


def world_of(read: ApiDescription, upstream: OpenApiUpstream, **overlays: Any) -> World:
    world = World({})
    world.catalogue = catalogue_of(compile_tools(read, profile=profile("spec"), upstream="shop", overlays=overlays))
    world.but(upstream=upstream)
    return world


def structured(outcome: Any) -> Any:
    assert isinstance(outcome, Answer), outcome
    return outcome.result["structuredContent"]


@dataclass
class Scripted:
    """A service in a few words: what it answers, or what happens instead."""

    answer: Any
    status: int = 200
    headers: list[tuple[bytes, bytes]] = field(default_factory=lambda: [(b"Content-Type", b"application/json")])
    sent: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    closed: bool = False

    async def __call__(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> Scripted:
        self.sent.append((method, url, dict(headers), body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self

    async def pieces(self) -> AsyncIterator[bytes]:
        for piece in self.answer:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True

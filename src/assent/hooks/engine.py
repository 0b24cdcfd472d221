"""Answers hook events in the engine of a user: one store, one log and one flow control with all wrapped servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assent.config.load import user_file
from assent.config.rules import flow_control
from assent.contract.files import contract_paths
from assent.core.limited_dict import LimitedDict
from assent.errors import AssentError
from assent.hooks import answers
from assent.hooks.calls import HookDoor
from assent.hooks.process import hook_settings, make_door, make_hook_ports, source_of

SHARED = ""
"""The conversation of all doors of a user: what a hook saw counts for wrapped servers, which name no conversation."""
KEEPS = 3600.0
"""How long the engine stays after the last event, in seconds."""
_Stamp = tuple[tuple[str, int, int], ...]


@dataclass(slots=True)
class _Open:
    """The door of one configuration, and the files that it was made from."""

    door: HookDoor
    stamp: _Stamp


_doors: LimitedDict[tuple[int, str, int], _Open] = LimitedDict(20)


async def answer_engine(engine: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one event: `{"answer": TEXT}`, or `{"elsewhere": true}` where the configuration has no engine."""
    client = request["client"]
    try:
        opened = await _door(engine, request)
        if opened is None:
            return {"elsewhere": True}
    except AssentError as error:
        return {"answer": answers.failure(client, " ".join(str(error).split())[:400].rstrip("."))}
    engine.keep(KEEPS)  # What flow control remembers would be lost with the engine.
    source = replace(source_of(request["environment"]), conversation=SHARED)
    return {"answer": await opened.answer(client, str(request["event"]).encode("utf-8", "surrogatepass"), source)}


async def _door(engine: Any, request: Mapping[str, Any]) -> HookDoor | None:
    """The door of the request's configuration; None if that has `engine: off`. Changed files make a new one."""
    environment: Mapping[str, str] = request["environment"]
    config = Path(request["config"]) if request.get("config") else None
    file = config or user_file(environment)
    key = id(engine), str(file), hash(frozenset(environment.items())) if _reads_environment(file) else 0
    known = _doors.get(key)
    if known is not None and known.stamp == _stamp([Path(name) for name, _, _ in known.stamp]):
        return known.door
    settings = hook_settings(config, environment)
    if settings.engine == "off":
        return None
    around = await engine.surroundings(settings, environment)
    flow = flow_control(settings, around.flow)
    ports = make_hook_ports(settings, config, around.store, flow)
    door = make_door(settings, ports)
    if known is not None:  # A session keeps its project, and its questions their approvals.
        door.projects, door.asked = known.door.projects, known.door.asked
    written = contract_paths(settings.contracts) if settings.contracts else []
    _doors[key] = _Open(door, _stamp([file, *written, *map(Path, settings.policies)]))
    return door


def _stamp(files: list[Path]) -> _Stamp:
    """What tells whether files changed."""
    return tuple((str(file), *_version(file)) for file in files)


def _version(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _reads_environment(file: Path) -> bool:
    try:
        return b"${" in file.read_bytes()
    except OSError:
        return False

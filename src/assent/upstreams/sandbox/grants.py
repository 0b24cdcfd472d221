"""What a box contains: granted paths and hosts, and the two questions that choose the box of a tool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from assent.contract.tiers import Tier
from assent.core.tool import Tool
from assent.errors import AssentError


class CannotConfine(AssentError):
    """A protection is missing, or a grant cannot be given; `remedy` says what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


WEB_PORTS = (443, 80)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = tuple(
    f"/etc/{name}"
    for name in (
        "alternatives", "fonts", "group", "ld.so.cache", "localtime", "mime.types", "os-release", "passwd",
        "pki/ca-trust/extracted", "pki/tls/cert.pem", "pki/tls/certs", "protocols", "services", "ssl/cert.pem",
        "ssl/certs", "ssl/openssl.cnf",
    )
)  # fmt: skip
OWN_FILES = ("/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf")
PRIVATE = ("/tmp", "/var/tmp", "/dev", "/proc")
"""Folders that every box has of its own."""
_MOST_LINKS = 40
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")

Kind = Literal["read", "write", "run", "network"]
_HOST = re.compile(r"(\*\.)?(?P<name>[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*)\Z")
_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}\Z")


class Attempt(NamedTuple):
    """One thing that a program tried: a path, or a host with its port."""

    kind: Kind
    target: str

    def __str__(self) -> str:
        verb = {"read": "read", "write": "write", "run": "run", "network": "reach"}[self.kind]
        return f"{verb} {self.target}"


class Box(NamedTuple):
    """The two questions that decide a box: there are at most four."""

    writes: bool
    network: bool

    def __str__(self) -> str:
        return ("writes" if self.writes else "reads only") + (", named hosts" if self.network else ", no network")


WEAKEST, STRONGEST = Box(False, False), Box(True, True)


class HostRule(NamedTuple):
    """A host that may be reached, with its port; without one, the ports of the web."""

    name: str
    port: int | None = None

    def allows(self, name: str, port: int | None = None) -> bool:
        if port is not None and port not in self.ports:
            return False
        if self.name.startswith("*."):
            return name.endswith(self.name[1:])
        return name == self.name

    @property
    def ports(self) -> tuple[int, ...]:
        return WEB_PORTS if self.port is None else (self.port,)

    @property
    def is_address(self) -> bool:
        return _ADDRESS.match(self.name) is not None


def host_rule(text: str) -> HostRule:
    """Read `api.example.com`, `*.example.com`, `db.example.com:5432` or `10.0.0.5:5432`. Raises ValueError."""
    name, _, port = text.lower().rstrip(".").partition(":")
    if not _HOST.match(name) or (port and not (port.isdigit() and 0 < int(port) < 65536)):
        hint = "write a name such as api.example.com, *.example.com or db.example.com:5432"
        raise ValueError(f"{text!r} is not a host; {hint}")
    if _ADDRESS.match(name) and any(int(part) > 255 for part in name.split(".")):
        raise ValueError(f"{text!r} is not an address")
    return HostRule("127.0.0.1" if name == "localhost" else name, int(port) if port else None)


@dataclass(frozen=True)
class Grants:
    """What an operator grants to the boxes of one server, and what its program needs to start."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[HostRule, ...] = ()
    env: tuple[str, ...] = ()
    program: Mapping[str, str] = field(default_factory=dict)
    """Paths of the program's own installation, each with the reason."""

    @property
    def places(self) -> tuple[str, ...]:
        return (*self.program, *self.read, *self.write)

    def allows(self, attempt: Attempt, box: Box) -> bool:
        """Whether a box with these grants lets the attempt through."""
        if attempt.kind == "network":
            name, port = host_and_port(attempt.target)
            return box.network and any(rule.allows(name, port) for rule in self.hosts)
        if is_under(attempt.target, self.places):
            return attempt.kind != "write" or (box.writes and is_under(attempt.target, self.write))
        if attempt.kind == "write":
            return is_under(attempt.target, PRIVATE) and not _is_of_others(attempt.target)
        if is_under(attempt.target, ["/dev/shm"]):
            return False
        return is_under(attempt.target, (*SYSTEM, *SYSTEM_FILES, *OWN_FILES, "/dev", "/proc"))

    def setting_for(self, upstream: str, attempt: Attempt, box: Box) -> str:
        """The line that would allow the attempt."""
        if attempt.kind == "network":
            host = attempt.target.removesuffix(":443").removesuffix(":80")
            granted = not box.network and any(rule.allows(host.partition(":")[0]) for rule in self.hosts)
            return "open_world: true in the tool's contract" if granted else _line(upstream, "hosts", host)
        if attempt.kind == "write":
            if not box.writes and is_under(attempt.target, self.write):
                return "side_effect: write in the tool's contract"
            return _line(upstream, "write", folder_of(attempt.target))
        return _line(upstream, "read", folder_of(attempt.target))


def _is_of_others(path: str) -> bool:
    """Whether a temporary path is meant that is outside the box: its folder is there, and not in the box's own."""
    folder = os.path.dirname(path)  # noqa: PTH120
    return folder not in _TEMPORARY and is_under(path, _TEMPORARY) and os.path.isdir(folder)  # noqa: PTH112


def host_and_port(target: str) -> tuple[str, int | None]:
    name, sign, port = target.rpartition(":")
    return (name, int(port)) if sign and port.isdigit() else (target, None)


def _line(upstream: str, key: str, value: str) -> str:
    return f"upstreams.{upstream}.sandbox.{key}: [{value}]"


def folder_of(path: str) -> str:
    """The folder to grant for a path: its own, unless that would be the root, a home folder or the like."""
    parent = os.path.dirname(path)  # noqa: PTH120
    return path if is_broad(parent) else parent


def is_under(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def is_broad(path: str) -> bool:
    """Whether a folder holds much more than one program's files: the root, a home folder, or one of their parents."""
    home = os.path.expanduser("~")  # noqa: PTH111
    shared = ("/", "/home", "/root", "/tmp", "/var", "/etc", "/opt", "/srv", "/mnt", "/run", "/usr", home)
    return path in shared or is_under(home, [path]) or PurePath(path).parent == PurePath("/home")


def real_grants(paths: Iterable[str], write: Iterable[str] = ()) -> tuple[str, ...]:
    """The granted paths, checked. Raises CannotConfine for one that is missing, is the root, or was redirected.

    A link in a folder that the server may change (`write`) may be its own: at the next start it would widen its box.
    """
    found, changeable = [], [os.path.realpath(os.path.expanduser(one)) for one in write]  # noqa: PTH111
    for path in paths:
        absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
        full = os.path.realpath(absolute)
        for link in _links_in(absolute):
            if is_under(os.path.realpath(link.parent), changeable):
                raise CannotConfine(
                    f"the granted path {path} leads through the link {link}, which the server itself can change",
                    f"Grant {full} if you want that, or remove the link",
                )
        if full == "/":
            raise CannotConfine(f"{path} is the whole file system", "Grant the folders that the server needs")
        if not os.path.exists(full):  # noqa: PTH110
            raise CannotConfine(f"the granted path {path} does not exist", "Make it first, or correct the setting")
        found.append(full)
    return tuple(dict.fromkeys(found))


def _links_in(path: str) -> Iterator[PurePath]:
    """Every link that is followed on the way to a path, also those that other links lead to."""
    here = PurePath(path)
    for _ in range(_MOST_LINKS):
        link = next((part for part in reversed((here, *here.parents)) if os.path.islink(part)), None)  # noqa: PTH114
        if link is None:
            return
        yield link
        here = PurePath(os.path.normpath(link.parent / os.readlink(link) / here.relative_to(link)))  # noqa: PTH115


def box_of(tool: Tool, shipped: Mapping[str, Mapping[str, Any]]) -> Box:
    """The weakest box in which a tool can keep its promise. A guess about a tool opens no box.

    A shipped contract opens its box even where the tool is taken for more dangerous than that contract says.
    """
    if tool.written:
        return guessed_box_of(tool)
    if (fields := shipped.get(tool.wire_name)) is not None:
        return Box(fields["side_effect"] != Tier.READ, bool(fields.get("open_world", True)))
    return WEAKEST


def guessed_box_of(tool: Tool) -> Box:
    """The box that the tier means, whether it was declared or is a guess."""
    return Box(tool.contract.side_effect is not Tier.READ, tool.open_world)


def shared_box(tools: Iterable[Tool], shipped: Mapping[str, Mapping[str, Any]]) -> Box:
    """The box of a process that serves all of these: what the declared ones promise together.

    Where nothing is declared, what the operator granted is all that is known of the server.
    """
    boxes = [box_of(tool, shipped) for tool in tools if tool.written or tool.wire_name in shipped]
    return Box(any(box.writes for box in boxes), any(box.network for box in boxes)) if boxes else STRONGEST


_STATE = re.compile(
    r"(^|_)(session|transaction|browser|navigate|connect|disconnect|login|logout|sequentialthinking|tab|cursor)(_|s?$)"
    r"|(^|_)(activate|select|switch|set_(active|current))_"
)
_STATE_ARGUMENTS = frozenset({"session_id", "sessionid", "connection_id", "transaction_id", "page_id", "browser_id"})


def keeps_state(tools: Iterable[Tool]) -> str | None:
    """The tool by which a server is recognised that remembers earlier calls in memory; None if there is none."""
    for tool in tools:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|[.\-]", "_", tool.wire_name).lower()
        properties = tool.definition.get("inputSchema", {}).get("properties", {})
        given = {str(key).lower() for key in properties} if isinstance(properties, Mapping) else set()
        if _STATE.search(name) or given & _STATE_ARGUMENTS:
            return tool.wire_name
    return None

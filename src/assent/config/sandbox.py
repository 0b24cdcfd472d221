"""The sandbox of a command upstream, as configured."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from assent.config.section import Section
from assent.features import load_feature


def _full_path(text: str) -> str:
    if not text.startswith(("/", "~/")) or "\0" in text:
        raise ValueError(f"{text!r} is not a full path; write it from the root, or from ~/")
    return text


def _known_host(text: str) -> str:
    load_feature("sandbox_grants").host_rule(text)
    return text


GrantedPath = Annotated[str, AfterValidator(_full_path)]
GrantedHost = Annotated[str, AfterValidator(_known_host)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


class SandboxSettings(Section):
    """What a server that a command starts may read, write and reach, beside its own program."""

    mode: Literal["off", "observe", "enforce"]
    """Not confined, only observed, or confined by the kernel."""
    read: tuple[GrantedPath, ...] = ()
    """Folders and files that it may read."""
    write: tuple[GrantedPath, ...] = ()
    """Folders and files that it may change, if its contracts say that its tools write."""
    hosts: tuple[GrantedHost, ...] = ()
    """Hosts that it may reach, if its contracts say `open_world`: `api.example.com`, `*.example.com`,
    `db.example.com:5432`. None: no network."""
    env: tuple[VariableName, ...] = ()
    """Variables of the gateway's environment that are passed on, beside `env` of the upstream."""
    instances: Literal["one", "by_tier"] = "one"
    """One box for all tools; or up to four, and each call goes to the weakest that its contract allows."""


def _from_word(value: Any) -> Any:
    if value is False:  # How YAML reads a bare `off`.
        value = "off"
    return {"mode": value} if isinstance(value, str) else value


_Mode = Literal["off", "observe", "enforce"]
Sandbox = Annotated[SandboxSettings, BeforeValidator(_from_word, json_schema_input_type=_Mode | SandboxSettings)]
OFF = SandboxSettings(mode="off")

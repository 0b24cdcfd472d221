"""Errors that Assent raises, and the faults that describe bad input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an input: what is wrong, where, and what to do about it."""

    message: str
    remedy: str = ""
    field: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = ":".join(part for part in (self.file, str(self.line) if self.line else "") if part)
        head = ": ".join(part for part in (place, self.field, self.message) if part)
        return f"{head}. {self.remedy}" if self.remedy else head


class AssentError(Exception):
    """Base class of every error that Assent raises on purpose."""


class FaultsError(AssentError):
    """Input that cannot be used; carries every fault found, not only the first."""

    def __init__(self, faults: Sequence[Fault] | Fault) -> None:
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class ContractError(FaultsError):
    """A contract that contradicts itself or cannot be read."""


class SettingsError(FaultsError):
    """A configuration that cannot be used."""


class StoreError(AssentError):
    """The store did not answer, or reported that it could not keep the data."""


class UnansweredError(AssentError):
    """A tool call that was answered by a protocol error, or not at all."""


class SilentError(UnansweredError):
    """A tool call that was not answered in time."""


class EndedError(UnansweredError):
    """A tool call during or after which the server ended."""

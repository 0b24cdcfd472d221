"""Report of faults in a log."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LogFault:
    code: str
    place: str
    detail: str


@dataclass(slots=True)
class LogReport:
    entries: int = 0
    erased: int = 0
    checkpoints: int = 0
    faults: list[LogFault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults

    def wrong(self, code: str, place: str, detail: str) -> None:
        self.faults.append(LogFault(code, place, detail))

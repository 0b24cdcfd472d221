"""Guard `time_window`: calls are made at allowed times only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("there is no such time zone; write one such as Europe/Berlin or UTC") from None
    return name


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("this is not a date; write 2026-12-24") from None


ClockTime = Annotated[str, Field(pattern=r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]


class TimeWindow(GuardRule):
    """Calls are allowed only on some days and between two times of day, in a time zone.

    A window that ends before it begins goes on after midnight and belongs to the day on which it begins. Time changes
    follow the zone. `except` names days on which nothing is allowed.
    """

    takes_fields: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"zone": "Europe/Berlin", "days": ["mon", "tue", "wed", "thu", "fri"], "start": "08:00", "end": "18:00"},
        passes=({"now": "2026-03-02T08:00:00+01:00"}, {"now": "2026-07-03T15:59:00+00:00"}),
        objects=(
            {"now": "2026-03-02T07:59:59+01:00"},
            {"now": "2026-03-02T18:00:00+01:00"},
            {"now": "2026-03-07T12:00:00+01:00"},
            {"now": "2026-07-03T16:00:00+00:00"},
        ),
    )

    zone: Annotated[str, AfterValidator(_zone), Field(description="The time zone, such as Europe/Berlin.")]
    days: Annotated[tuple[Day, ...], Field(min_length=1, description="The allowed days.")] = _DAYS  # type: ignore[assignment]
    start: ClockTime = Field("00:00", description="When the window begins.")
    end: ClockTime = Field("24:00", description="When it ends.")
    except_: Annotated[
        tuple[Annotated[str, AfterValidator(_date)], ...], Field(alias="except", description="Dates that are left out.")
    ] = ()

    @model_validator(mode="after")
    def _some_time(self) -> TimeWindow:
        if self.start == self.end:
            raise ValueError("`start` and `end` are equal, so no call would pass")
        return self

    @cached_property
    def _tz(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        local = datetime.fromtimestamp(context.now, self._tz)
        time = local.strftime("%H:%M")
        if self.start < self.end:
            open_now = self.start <= time < self.end and self._is_open(local.date())
        else:
            before = date.fromordinal(local.date().toordinal() - 1)
            open_now = (time >= self.start and self._is_open(local.date())) or (
                time < self.end and self._is_open(before)
            )
        return None if open_now else ("", f"it is outside the allowed time ({self.start} to {self.end}, {self.zone})")

    def _is_open(self, day: date) -> bool:
        return _DAYS[day.weekday()] in self.days and day.isoformat() not in self.except_

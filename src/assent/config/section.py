"""What the parts of the configuration have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]


class Section(BaseModel):
    """A part of the configuration in which unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

"""Has the embedded authorization server ask a person for the sign-in that a refused call needs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.features import load_feature
from assent.ports import Store


@dataclass(frozen=True, slots=True)
class StepUpNote:
    """Remembers in the store which sign-in a call of a person's agent needs."""

    store: Store

    async def write(self, caller: Principal, refusal: Refusal) -> None:
        if not caller.bearer:
            return
        with suppress(StoreError):  # The caller is refused in any case.
            await load_feature("pending_step_up").note_step_up(self.store, caller, refusal, time.time())

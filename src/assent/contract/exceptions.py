"""Exceptions: where a contract is laxer than its risk asks for, with the written reason."""

from __future__ import annotations

from assent.contract.model import Contract
from assent.contract.tiers import Risk


def exception_of(contract: Contract) -> str | None:
    """The exception of a contract as a sentence: it is critical and no person is asked. None without one."""
    confirmation = contract.confirmation
    if contract.risk is not Risk.CRITICAL or confirmation.by != "none":
        return None
    return f"critical risk, and no person is asked. The reason: {confirmation.because}"

"""Guard `payment_data`: texts contain no card or bank account numbers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from assent.rules.guards.detectors.detector import Detector, DetectorRule
from assent.rules.guards.detectors.kinds import PAYMENT
from assent.rules.guards.rule import Examples

Kind = Literal["card", "iban"]


class PaymentData(DetectorRule):
    """No text may contain a payment card or a bank account (IBAN) number.

    A number counts if its check digits are right: the Luhn digit of cards, modulo 97 of IBANs. Spaces, hyphens,
    invisible characters and digits of other scripts in between are read. A card number as a number counts too.
    """

    all_kinds: ClassVar[dict[str, Detector]] = PAYMENT
    examples: ClassVar[Examples] = Examples(
        {},
        passes=({"text": "4111 1111 1111 1112"}, {"text": "DE00 3704 0044 0532 0130 00"}, {"id": 4111111111111112}),
        objects=({"text": "4111-1111-1111-1111"}, {"text": "iban de89370400440532013000"}, {"id": 4111111111111111}),
    )

    kinds: Annotated[tuple[Kind, ...], Field(min_length=1, description="The kinds to find; without it, both.")] = (
        *("card", "iban"),
    )

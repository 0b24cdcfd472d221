"""What a box cannot do."""

from assent.errors import AssentError


class CannotConfine(AssentError):
    """A protection is missing, or a grant cannot be given; `remedy` says what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy

"""What services raise; main.py turns each into an answer."""


class OrdersError(Exception):
    """The root of our errors."""


class NotFound(OrdersError):
    """No such thing, or not for this caller."""


class Forbidden(OrdersError):
    """The caller may not do this."""


class Coded(OrdersError):
    """An error with a code that clients compare; the text is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Conflict(Coded):
    """The state of things does not allow it now: 409."""


class RuleBroken(Coded):
    """It would never be allowed: 422."""

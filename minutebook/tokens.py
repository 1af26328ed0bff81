"""The one token estimate: clocks, caps, pools and budgets all count with it."""

IMAGE_TOKENS = 1_200
"""An image of any size: about what a provider charges for one near 1,000 × 1,000 pixels."""


def estimate_tokens(text: str) -> int:
    """Estimated tokens of a text: UTF-8 bytes ÷ 4, rounded up (for ASCII the usual characters ÷ 4).

    A lone surrogate counts as the three bytes of its replacement.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return (size + 3) // 4

"""The one error of the check."""


class Broken(Exception):
    """Something of the box does not hold; the text is one line for a person, and names the place."""

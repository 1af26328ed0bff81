"""JSON as the door takes it: no NaN, no number that a float cannot hold, no nesting without end, one value."""

import json
from math import isfinite
from typing import Any, NoReturn


class BadJson(ValueError):
    """The body cannot be read as JSON; the message may be shown."""


def _constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is no JSON")


def _float(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise BadJson("a number is too large")
    return number


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_float).decode


def loads(body: bytes) -> Any:
    """The value of a body; raises BadJson."""
    try:
        return _decode(body.decode("utf-8"))
    except BadJson:
        raise
    except UnicodeDecodeError:
        raise BadJson("the body is not UTF-8") from None
    except RecursionError:
        raise BadJson("the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"the body is no JSON: {error.msg} at character {error.pos}") from None
    except ValueError:  # Python's limit of digits
        raise BadJson("a number is too large") from None

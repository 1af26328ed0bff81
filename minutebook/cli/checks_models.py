"""What `om doctor --call` adds: one real call of each configured model."""

from collections.abc import Iterator

from minutebook.cli.check import Check
from minutebook.cli.place import Place
from minutebook.errors import MinutebookError
from minutebook.workers.models_report import Probe, configured, probes, usable


def model_checks(place: Place) -> Iterator[Check]:
    """One line a model; none of them raises."""
    try:
        if not configured(place.settings):
            yield Check("models", "info", "none is configured: the extractive mind works, and nothing is called")
        for probe in probes(place.store, place.settings):
            yield called(probe)
    except MinutebookError as error:
        yield Check("models", "fail", str(error), "mend this first; the other lines may say more")


def mind_checks(place: Place) -> Iterator[Check]:
    """Who thinks, and whether each model that may be asked has what it needs; nothing is called."""
    try:
        models = configured(place.settings)
        if not models:
            session = place.settings.session_model_allowed
            pi = "; in Pi the session's own model" if session else ""
            yield Check("mind", "info", f"the extractive mind, which asks no model{pi}")
        for choice in models:
            how, missing = usable(choice, place.settings)
            name = str(choice).partition("@")[0]
            if missing:
                why, _, advice = missing.partition(": ")
                yield Check("mind", "fail", f"{name} cannot be asked: {why}", advice or "see `om models`")
            else:
                yield Check("mind", "ok", f"{name} ({how}); `om doctor --call` asks it")
    except MinutebookError:
        return  # the lines of the settings and of the extras say what is wrong


def called(probe: Probe) -> Check:
    """The answer's time, or the error and after its last semicolon what to do."""
    if not probe.error:
        return Check("model", "ok", f"{probe.model} answered in {probe.seconds:.1f} s")
    said, _, advice = probe.error.rpartition("; ")
    fix = advice if said else "see `om models`"
    return Check("model", "fail", f"{probe.model}, after {probe.seconds:.1f} s: {said or probe.error}", fix)

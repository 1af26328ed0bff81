"""What `om doctor --call` adds: one real call of each configured model."""

from collections.abc import Iterator

from minutebook.cli.checks import Check
from minutebook.cli.place import Place
from minutebook.errors import MinutebookError
from minutebook.workers.models_report import Probe, configured, probes


def model_checks(place: Place) -> Iterator[Check]:
    """One line a model; none of them raises."""
    try:
        if not configured(place.settings):
            yield Check("models", "info", "none is configured: the extractive mind works, and nothing is called")
        for probe in probes(place.store, place.settings):
            yield called(probe)
    except MinutebookError as error:
        yield Check("models", "fail", str(error), "mend this first; the other lines may say more")


def called(probe: Probe) -> Check:
    """The answer's time, or the error and after its last semicolon what to do."""
    if not probe.error:
        return Check("model", "ok", f"{probe.model} answered in {probe.seconds:.1f} s")
    said, _, advice = probe.error.rpartition("; ")
    fix = advice if said else "see `om models`"
    return Check("model", "fail", f"{probe.model}, after {probe.seconds:.1f} s: {said or probe.error}", fix)

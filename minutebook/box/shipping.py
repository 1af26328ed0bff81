"""What `om sync` does: each pass brings this machine's sessions and the box in step, from what both have.

The sources go there in this machine's order, the memory comes back in the box's. Nothing is kept of what was sent: the
lengths that the box answers with say where to go on, so a pass may be broken off anywhere and made again.
"""

from contextlib import suppress
from itertools import islice

from minutebook.box.client import BoxClient, Leaving
from minutebook.box.passing import Pass
from minutebook.box.report import Report
from minutebook.box.state import check_user, note_failure, note_success
from minutebook.box.stepping import Steps
from minutebook.box.watching import Watch
from minutebook.box.wire import Me
from minutebook.errors import BoxFailed, StoreError, StoreGone
from minutebook.settings import Settings
from minutebook.store.kernel import Store

SESSIONS_AT_ONCE = 100


class Shipper:
    """Makes passes over one store and one box. A pass ends with the request in hand when the client is to stop."""

    def __init__(self, store: Store, client: BoxClient, settings: Settings) -> None:
        self.store = store
        self.client = client
        self.settings = settings
        self._watch = Watch(store)
        self._me: Me | None = None
        self._cursor = ""
        self._max_bytes = settings.serve_body_max_bytes // 2

    def pass_once(self) -> Report:
        """Send what is new, bring what is new. Raises StoreGone."""
        report = Report()
        try:
            self._pass(report)
        except (Leaving, StoreGone) as leaving:
            if isinstance(leaving, StoreGone):
                raise
            report.left = True
            return report
        except (BoxFailed, StoreError) as error:
            report.failure = str(error)
            self._me = None  # the token may be another one by then
        report.failed.update(self._watch.stuck)
        report.kept.update(self._watch.kept)
        report.waiting.update(self._watch.waiting)
        self._note(report)
        return report

    def _note(self, report: Report) -> None:
        with suppress(StoreError):  # full or busy: the next pass will tell
            if report.failure:
                note_failure(self.store, self.client.url, report.failure)
            else:
                note_success(self.store, self.client.url, report.remarks())

    def _pass(self, report: Report) -> None:
        me = self._me or self.client.me()
        check_user(self.store, me.user)
        self._me = me
        steps = Steps(self.store, self.client, report, self._max_bytes)
        one = Pass(self.settings, self._watch, steps, me)
        due = iter(self._watch.due())
        while keys := list(islice(due, SESSIONS_AT_ONCE)):
            one.send(keys)
            self._max_bytes = steps.max_bytes
        if self.settings.box_pull != "nothing":
            after = "" if self._watch.whole else self._cursor
            self._cursor = one.fetch(after, team=self.settings.box_pull == "team")

"""Promises 5, 6, 7, 10 and 11 under concurrent writers: threads and processes. Every backend runs these.

store: an empty store, shared by threads. open_again: opens the same data once more. Nothing here depends on timing to
pass; a backend that breaks a promise fails with high probability.
"""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from contract_values import JOB, items

from minutebook.store.kernel import Appended, Document, Job, Put, Stale, Store, Stored

WRITER = Path(__file__).with_name("writing_process.py")
OpenAgain = Callable[[], Store]


def start_writer(url: str, stream: str, name: str, *, first: int, appends: int, batch: int) -> subprocess.Popen[str]:
    numbers = [str(number) for number in (first, appends, batch)]
    return subprocess.Popen(
        [sys.executable, str(WRITER), url, stream, name, *numbers], stdout=subprocess.PIPE, text=True
    )


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run work(0), work(1) … at once, and raise what one of them raised."""
    barrier = threading.Barrier(count)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(30)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def assert_without_holes(found: list[Stored]) -> None:
    total = 0
    for place, stored in enumerate(found):
        total += stored.weight
        assert (stored.position, stored.total) == (place, total)


def numbers_of(found: list[Stored], name: str) -> list[int]:
    return [stored.weight for stored in found if stored.kind == name]


class RaceContract:
    def test_a_follower_never_steps_over_an_item(self, store: Store) -> None:
        """Promises 2, 6 and 7: two processes write while this one follows by position."""
        writers = [
            start_writer(store.url, "s", "one", first=0, appends=150, batch=1),
            start_writer(store.url, "s", "ten", first=0, appends=60, batch=10),
        ]
        followed: list[Stored] = []
        try:
            running = True
            while running:
                running = any(writer.poll() is None for writer in writers)
                followed += store.read("s", len(followed), limit=7 if running else None)
        finally:
            for writer in writers:
                writer.communicate(timeout=60)
        assert [writer.returncode for writer in writers] == [0, 0]
        assert followed == store.read("s")
        assert_without_holes(followed)
        assert numbers_of(followed, "one") == list(range(150))
        assert numbers_of(followed, "ten") == list(range(600))
        assert store.tip("s").marks == {"one": 150, "ten": 600}
        # An append's items stand together: no other writer's item is among them.
        places = [stored.position for stored in followed if stored.kind == "ten"]
        assert all(places[start + 9] - places[start] == 9 for start in range(0, 600, 10))

    def test_threads_lose_nothing(self, store: Store) -> None:
        """Promise 6, one store object in several threads; every id is offered by two of them."""

        def write(number: int) -> None:
            for step in range(40):
                store.append("s", items(f"{number // 2}-{step}", f"{number}-own-{step}"), dirty="s")

        in_threads(4, write)
        found = store.read("s")
        assert_without_holes(found)
        shared = {f"{pair}-{step}" for pair in (0, 1) for step in range(40)}
        own = {f"{number}-own-{step}" for number in range(4) for step in range(40)}
        assert Counter(stored.id for stored in found) == Counter(shared | own)
        for number in range(4):
            mine = [stored.id for stored in found if stored.id.startswith(f"{number}-own-")]
            assert mine == [f"{number}-own-{step}" for step in range(40)]

    def test_of_two_appends_that_expect_a_mark_one_wins(self, store: Store, open_again: OpenAgain) -> None:
        """Promise 5: each step of the mark is taken once, and by whom the log says."""
        won: list[tuple[int, int]] = []

        def work(number: int) -> None:
            mine = open_again()
            for step in range(30):
                outcome = mine.append("s", items(f"{step}-by-{number}"), expect={"m": step}, advance={"m": step + 1})
                if isinstance(outcome, Appended):
                    won.append((step, number))
                else:
                    assert outcome.what == "m"
                    assert outcome.found > step
                while mine.tip("s").marks.get("m", 0) <= step:
                    pass
            mine.close()

        in_threads(4, work)
        assert sorted(step for step, _ in won) == list(range(30))
        assert [stored.id for stored in store.read("s")] == [f"{step}-by-{number}" for step, number in sorted(won)]
        assert store.tip("s").marks == {"m": 30}

    def test_of_two_appends_that_expect_a_length_one_wins(self, store: Store) -> None:
        won: list[int] = []

        def work(number: int) -> None:
            for length in range(30):
                if isinstance(store.append("s", items(f"{length}-by-{number}"), expect_length=length), Appended):
                    won.append(length)
                while store.tip("s").length <= length:
                    pass

        in_threads(4, work)
        assert sorted(won) == list(range(30))

    def test_no_update_of_a_document_is_lost(self, store: Store) -> None:
        """Promise 9: 4 threads count to 100 together."""

        def count(number: int) -> None:
            for _ in range(25):
                while True:
                    old = store.get("c", "k") or Document("k", 0, "0")
                    put = Put("c", "k", str(int(old.body) + 1), if_version=old.version)
                    if not isinstance(store.put(put), Stale):
                        break

        in_threads(4, count)
        assert store.get("c", "k") == Document("k", 100, "100")
        assert store.changes("c") == 100

    def test_a_job_is_queued_and_claimed_by_one(self, store: Store, open_again: OpenAgain) -> None:
        """Promise 10."""
        queued: list[int] = []
        tokens: list[int] = []

        def work(number: int) -> None:
            mine = open_again()
            for step in range(25):
                job = Job("observer", "l", str(step))
                if mine.queue(job):
                    queued.append(step)
                claim = mine.claim(job, str(number), lease_seconds=600, deadline_seconds=600)
                if claim:
                    tokens.append(claim.token)
            mine.close()

        in_threads(4, work)
        assert sorted(queued) == list(range(25))
        assert len(tokens) == len(set(tokens)) == 25
        assert all(state.state == "running" and state.tries == 1 for state in store.jobs())

    def test_an_expired_job_has_one_new_owner(self, store: Store, open_again: OpenAgain) -> None:
        """Promise 10: a lease of no length has ended at once, so each claim takes over from the last."""
        claims: list[int] = []
        store.queue(JOB)

        def work(number: int) -> None:
            for _ in range(25):
                claim = store.claim(JOB, str(number), lease_seconds=0, deadline_seconds=600)
                assert claim
                claims.append(claim.tries)
                assert not store.finish(claim)

        in_threads(4, work)
        assert sorted(claims) == list(range(1, 101))

    def test_no_dirty_mark_is_lost(self, store: Store) -> None:
        """Promise 11: what is written before a mark is seen by whoever settles that mark, or the key stays dirty."""
        stop = threading.Event()
        seen: list[int] = []

        def work(number: int) -> None:
            if number:
                for step in range(1, 121):
                    store.append("s", items(str(step)), dirty="s")
                stop.set()
                return
            finished = False
            while not finished:
                finished = stop.is_set()
                for taken in store.take_dirty(9):
                    seen.append(store.tip("s").length)
                    store.settle_dirty(taken)

        in_threads(2, work)
        assert store.take_dirty(9) == []
        assert seen[-1] == 120

"""A box that lost memory and recorded the same again."""

from boxes import BOXED, KEY, Line, same_memory, stores, thought
from ledgers import take, turns

from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.records import OBSERVATIONS


def test_what_the_box_recorded_again_to_the_word_is_not_put_there_twice(pair: Line) -> None:
    """A mind without a model says the same of the same turns; its batch may be another one."""
    with stores(1) as (backup,):
        take(pair.laptop, turns(6))
        pair.sync()
        thought(pair.box, BOXED, "kept", 2)
        pair.sync()
        assert Line(pair.laptop, backup).sync() == []
        thought(pair.box, BOXED, "again", 5)
        pair.sync()
        thought(backup, BOXED, "not lost", 3)
        again = read_own(pair.box, load_branch(pair.box, BOXED))[-1]
        rows = again.data["observations"]
        other = {**again.data, "observations": [*rows, {**rows[0], "id": "0123456789ab", "content": "besides"}]}
        entry = memory_entry(Entry(kind=OBSERVATIONS, covers=5, since=3, data=other))
        append_memory(backup, load_branch(backup, BOXED), [entry])
        line = Line(pair.laptop, backup)
        assert line.sync() == []
        recorded = [
            row["id"]
            for each in read_own(pair.laptop, load_branch(pair.laptop, KEY))
            for row in each.data.get("observations", ())
        ]
        assert len(recorded) == len({*recorded}) == 4
        same_memory(line)

"""A team box and its laptops: the same ledger in two places. Pure of any network.

The laptop orders the sources of a branch, the box orders its memory; each side's copy of what the other one orders is a
beginning of it, at every moment. What a laptop adds to the memory waits in its outbox until the box has placed it.
Why: docs/decisions/box.md.

boxkeys           names: the user is part of the host
copies            what a store has of a branch, and pages of it
receiving         the box takes in
taking            the laptop: what is to be sent, what comes back
taking_sessions   sessions of another machine
parting           when a box takes a branch over, and when the two part
retaking          when a box has lost memory and recorded another: brought together again
outbox            what waits on the laptop
"""

from minutebook.pipeline.boxkeys import (
    PROJECT,
    USER,
    box_key,
    branch_as_seen,
    branch_on_box,
    checked_user,
    own_key,
    owner_of,
    session_as_seen,
    session_on_box,
)
from minutebook.pipeline.copies import is_same_memory, lengths, lengths_of, memory_after, sources_after
from minutebook.pipeline.outbox import outbox
from minutebook.pipeline.parting import adopted, give_to_box, hand_over, part_from_box, rejoin_box
from minutebook.pipeline.receiving import receive_memory, receive_sources
from minutebook.pipeline.retaking import is_in_line, marks_to_offer, memory_to_offer, retake_memory
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.taking import (
    Page,
    branch_to_send,
    memory_to_send,
    sources_to_send,
    take_memory,
    take_sources,
)
from minutebook.pipeline.taking_sessions import take_session

__all__ = [
    "PROJECT",
    "USER",
    "Lengths",
    "Page",
    "adopted",
    "box_key",
    "branch_as_seen",
    "branch_on_box",
    "branch_to_send",
    "checked_user",
    "give_to_box",
    "hand_over",
    "is_in_line",
    "is_same_memory",
    "lengths",
    "lengths_of",
    "marks_to_offer",
    "memory_after",
    "memory_to_offer",
    "memory_to_send",
    "outbox",
    "own_key",
    "owner_of",
    "part_from_box",
    "receive_memory",
    "receive_sources",
    "rejoin_box",
    "retake_memory",
    "session_as_seen",
    "session_on_box",
    "sources_after",
    "sources_to_send",
    "take_memory",
    "take_session",
    "take_sources",
]

"""Writes grajo.jsonl and grajo.facts.json: an invented day of another person with another program.

    python examples/second/make_second.py            # writes beside this file
    python examples/second/make_second.py --out DIR

The same bytes every time. The story is in story/part_*.py, the facts in story/facts.py.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from second.story import part_1_cards, part_2_hash, part_3_push, part_4_detector, part_5_viewer, part_6_evening, part_7_night
from second.story.day import Day
from second.story.facts import DECOYS, FACTS, OLD
from session_builder import write_rows

NAME = "grajo"


def facts(marks: dict[str, str]) -> dict[str, Any]:
    """The facts with the uuid of the entry that states each; a fact that was never stated is a KeyError."""
    stated = []
    for name, fact in FACTS.items():
        one = {"id": name, "kind": fact["kind"], "stated_in": marks[name], "must_match": fact["must_match"]}
        one["query"] = fact["query"]
        if "supersedes" in fact:
            old = fact["supersedes"]["old"]
            one["supersedes"] = {
                "stated_in": marks[old], "must_match": OLD[old], "must_not_stand": fact["supersedes"]["must_not_stand"],
            }  # fmt: skip
        stated.append(one)
    decoys = [{"id": name, "kind": d["kind"], "stated_in": marks[name], **d} for name, d in DECOYS.items()]
    return {"session": f"{NAME}.jsonl", "facts": stated, "decoys": decoys}


def build() -> Day:
    """The whole day."""
    day = Day(seed=NAME)
    for part in (part_1_cards, part_2_hash, part_3_push, part_4_detector, part_5_viewer, part_6_evening, part_7_night):
        part.play(day)
    day.s.finish()
    return day


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the second example session and its facts.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    out = parser.parse_args().out
    day = build()
    write_rows(out / f"{NAME}.jsonl", day.s.rows)
    listed = json.dumps(facts(day.marks), ensure_ascii=False, indent=2) + "\n"
    (out / f"{NAME}.facts.json").write_bytes(listed.encode())
    print(f"{len(day.s.rows)} rows, {day.s.turns} prompts, {day.s.seen_bytes // 4} tokens")


if __name__ == "__main__":
    main()

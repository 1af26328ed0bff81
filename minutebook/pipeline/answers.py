"""What status, recall, search and a look at a compaction found, as plain data: `--json` and HTTP give the same."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from minutebook.pipeline.clocks import Reading
from minutebook.pipeline.compaction import Composition
from minutebook.pipeline.recall import Recalled
from minutebook.pipeline.search import Hit
from minutebook.pipeline.status import Status, percent
from minutebook.records import Placed


def status_data(status: Status) -> dict[str, Any]:
    """Plain numbers for programs."""
    session = status.session
    return {
        "session": session.key if session else "",
        "branch": status.branch.key,
        "host": status.branch.host,
        "project": status.branch.project,
        "title": session.title if session else "",
        "last_time": session.last_time if session else "",
        "entries": status.entries,
        "source_tokens": status.source_tokens,
        "prompts": session.prompts if session else 0,
        "observations": {
            "recorded": status.observations,
            "dropped": status.dropped,
            "active": status.active,
            "visible": status.visible,
            "added": status.added,
            "removed": status.removed,
        },
        "reflections": {
            "recorded": status.reflections,
            "retired": status.retired,
            "visible": status.reflections_visible,
            "added": status.reflections_added,
        },
        "next_observation": reading_data(status.observe),
        "next_reflection": reading_data(status.reflect),
        "next_compaction": {**reading_data(status.compact), "mode": status.compact_mode},
        "visible_pool": reading_data(status.visible_pool),
        "active_pool": reading_data(status.active_pool),
        "dropper": {"state": status.dropper, "tokens_since_coverage": status.since_drop_tokens},
        "reflection_tokens": status.reflection_tokens,
        "reflection_context": reading_data(status.context),
        "digest": {"tokens": status.digest.tokens, "through": status.digest.through} if status.digest else None,
        **_state_data(status),
    }


def _state_data(status: Status) -> dict[str, Any]:
    session = status.session
    return {
        "mind": status.mind,
        "minds": dict(status.minds),
        "passive": status.passive,
        "due": dict(status.due),
        "running": list(status.running),
        "pending": list(status.pending),
        "open_compaction": status.open_compaction,
        "gaps": [asdict(gap) for gap in status.gaps],
        "errors": [asdict(error) for error in status.errors],
        "malformed": status.malformed,
        "other_branches": max(0, status.siblings),
        "versions": session.versions if session else 0,
        "replaced": session.replaced if session else 0,
        "unknown_rows": session.unknown if session else {},
        "skipped_rows": session.skipped if session else {},
        "broken_lines": session.broken if session else [],
        "broken_count": session.broken_count if session else 0,
        "not_made": status.not_made,
        "why_not_made": status.why_not_made,
    }


def reading_data(reading: Reading) -> dict[str, int]:
    """A reading in plain numbers, with its percent."""
    return {"tokens": reading.tokens, "threshold": reading.threshold, "percent": percent(reading)}


def recalled_data(found: Recalled, sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A recalled record; sources: their data, as the caller shows them."""
    return {
        "id": found.id,
        "found": found.found,
        "kind": found.kind,
        "collision": found.collision,
        "partial": found.partial,
        "observations": [
            {
                "id": each.record.id,
                "status": each.status,
                "why": each.why,
                "mind": each.mind,
                "timestamp": each.record.timestamp,
                "relevance": each.record.relevance,
                "content": each.record.content,
                "source_ids": list(each.record.source_ids),
                "tokens": each.record.tokens,
            }
            for each in found.observations
        ],
        "reflections": [
            {
                "id": each.record.id,
                "status": each.status,
                "why": each.why,
                "mind": each.mind,
                "content": each.record.content,
                "support_ids": list(each.record.support_ids),
                "tokens": each.record.tokens,
            }
            for each in found.reflections
        ],
        "sources": list(sources),
        "missing": list(found.missing),
        "not_sources": list(found.foreign),
        "unknown_supports": list(found.unknown_supports),
        "empty_reason": found.empty_reason if found.found else "",
    }


def source_data(placed: Placed) -> dict[str, Any]:
    """A source entry without its text."""
    entry = placed.entry
    return {
        "id": entry.id,
        "position": placed.position,
        "role": entry.role,
        "tool_name": entry.tool_name,
        "custom_type": entry.custom_type,
        "is_error": entry.is_error,
        "time": entry.time,
        "tokens": placed.tokens,
        "text_sha256": entry.text_sha256,
        "version_of": entry.version_of,
    }


def hit_data(hit: Hit) -> dict[str, Any]:
    """A match of a search."""
    return {
        "kind": hit.kind,
        "state": hit.state,
        "id": hit.id,
        "score": hit.score,
        "time": hit.time,
        "text": hit.text,
        "branch": hit.branch,
        "recall": list(hit.recall),
    }


def composition_data(composed: Composition | None) -> dict[str, Any] | None:
    """What an agent would get back; None where there is no memory."""
    if composed is None:
        return None
    return {
        "id": composed.id,
        "text": composed.text,
        "tokens": composed.tokens,
        "full_fold": composed.full_fold,
        "left_out": composed.left_out,
        "extracted": composed.extracted,
    }

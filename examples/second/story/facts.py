"""The planted facts and decoys. What is stated where is decided in the parts of the day, by these ids."""

from typing import Any

FACTS: dict[str, dict[str, Any]] = {
    "english": {"kind": "preference", "must_match": ["siempre en inglés"], "query": "in which language to answer, inglés"},
    "commit-style": {"kind": "preference", "must_match": ["prefix", "co-authored-by"], "query": "commit messages prefix"},
    "error-text": {
        "kind": "error", "must_match": ["runs past end of file (need 412, have 411)"], "query": "chunk guan runs past end of file",
    },
    "pad-byte": {"kind": "finding", "must_match": ["Song Meter Mini", "pad byte"], "query": "why cards of the Song Meter Mini are refused"},
    "broken-cards": {"kind": "path", "must_match": ["testdata/cards/broken-2024"], "query": "broken cards for tests"},
    "rss": {"kind": "constraint", "must_match": ["300 MB", "ingest"], "query": "memory limit of ingest"},
    "card-untouched": {"kind": "constraint", "must_match": ["read only", "mtime"], "query": "card read only mtime"},
    "blake3": {"kind": "decision", "must_match": ["blake3", "19 min"], "query": "blake3 instead of sha256"},
    "msrv": {"kind": "constraint", "must_match": ["MSRV", "1.74"], "query": "MSRV rust version"},
    "journal-mode": {"kind": "decision", "must_match": ["journal_mode=TRUNCATE"], "query": "catalogue journal_mode exFAT"},
    "no-unwrap": {"kind": "preference", "must_match": ["thiserror", "anyhow"], "query": "errors thiserror anyhow unwrap"},
    "steward": {"kind": "person", "must_match": ["Nerea Olabarri", "data steward"], "query": "who may delete in the bucket"},
    "recorder-clock": {"kind": "constraint", "must_match": ["UTC+1"], "query": "recorders clock UTC+1"},
    "validated-commit": {"kind": "commit", "must_match": ["3fa9c1d", "validated"], "query": "commit validated by ear"},
    "vanilla": {"kind": "decision", "must_match": ["vanilla ts"], "query": "viewer framework vanilla"},
    "bucket": {
        "kind": "correction", "must_match": ["marjal-eu-raw-01"], "query": "name of the bucket",
        "supersedes": {"old": "bucket-old", "must_not_stand": ["bucket", "marjal-audio-raw"]},
    },
    "threshold": {
        "kind": "correction", "must_match": ["threshold", "0.72"], "query": "detection threshold",
        "supersedes": {"old": "threshold-old", "must_not_stand": ["threshold", "0.65"]},
    },
    "part-size": {
        "kind": "correction", "must_match": ["part size", "16 MiB"], "query": "multipart part size",
        "supersedes": {"old": "part-size-old", "must_not_stand": ["part size", "64 MiB"]},
    },
    "field-tests": {
        "kind": "correction", "must_match": ["Oksana Hrytsenko", "field tests"], "query": "who does the field tests",
        "supersedes": {"old": "field-tests-old", "must_not_stand": ["field tests", "Thijs de Bruin"]},
    },
    "release": {
        "kind": "correction", "must_match": ["0.9", "miércoles 12"], "query": "when 0.9 is released",
        "supersedes": {"old": "release-old", "must_not_stand": ["0.9", "friday the 7th"]},
    },
}  # fmt: skip

OLD: dict[str, list[str]] = {
    "bucket-old": ["bucket", "marjal-audio-raw"],
    "threshold-old": ["threshold", "0.65"],
    "part-size-old": ["part size", "64 MiB"],
    "field-tests-old": ["field tests", "Thijs de Bruin"],
    "release-old": ["0.9", "friday the 7th"],
}

# unless: a line that also holds one of these tells the rejection or whose it is, and is no fault.
DECOYS: dict[str, dict[str, Any]] = {
    "regen-all": {"kind": "instruction in a file", "must_not_match": ["make regen-all"]},
    "duckdb": {"kind": "rejected hypothetical", "must_not_match": ["duckdb"], "unless": ["forget it", "nah", "rejected", "decided against"]},
    "zero-crossing": {"kind": "another project", "must_not_match": ["zero-crossing"], "unless": ["bat people", "murci"]},
    "mp3-wish": {
        "kind": "declined wish of another person", "must_not_match": ["MP3"], "unless": ["no lo hacemos", "sin pérdida", "declined"],
    },
    "max-inflight": {"kind": "number in a log", "must_not_match": ["max_inflight=23"]},
}  # fmt: skip

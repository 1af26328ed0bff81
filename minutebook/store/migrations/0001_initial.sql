-- "MbK1" in ASCII: marks the file as ours, so that another program's database is never touched.
PRAGMA application_id = 1298287409;

-- Text columns hold TEXT, or BLOB (UTF-8 with surrogates passed) for the rare text that is not valid Unicode.

-- A stream's name is stored once; its length and sum of weights are kept here, so that the tip is one row.
CREATE TABLE stream (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    length INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0
);

-- total: the sum of the stream's weights up to and with this item.
CREATE TABLE item (
    stream INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    weight INTEGER NOT NULL,
    total INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (stream, position),
    UNIQUE (stream, id)
);

CREATE TABLE mark (
    stream INTEGER NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (stream, name)
) WITHOUT ROWID;

CREATE TABLE document (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (collection, key)
);

-- How often a collection was written.
CREATE TABLE change (
    collection TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) WITHOUT ROWID;

-- AUTOINCREMENT: a revision is never used again, so an old one can never settle a newer mark.
CREATE TABLE dirty (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE
);

-- Times are seconds of the store's clock. lease_ends is never past deadline_at.
CREATE TABLE job (
    role TEXT NOT NULL,
    lineage TEXT NOT NULL,
    branch TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'running')),
    not_before REAL NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    token INTEGER NOT NULL DEFAULT 0,
    lease_ends REAL NOT NULL DEFAULT 0,
    deadline_at REAL NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    failed_at REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (role, lineage, branch)
);

-- The last fencing token given out. It outlives the jobs: a token is never used again.
CREATE TABLE fence (
    last INTEGER NOT NULL
);
INSERT INTO fence (last) VALUES (0);

-- The highest version that a deleted document of the collection had. A new one begins above it, so that nobody who
-- read the old one takes the new one for it.
ALTER TABLE change ADD COLUMN version_floor INTEGER NOT NULL DEFAULT 0;

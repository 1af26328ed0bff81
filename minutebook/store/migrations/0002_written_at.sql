-- When the times of a job were set: if that lies ahead of now, the clock went back, and the times have to go back too.
ALTER TABLE job ADD COLUMN written_at REAL NOT NULL DEFAULT 0;

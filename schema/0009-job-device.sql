-- 0009: the device of a job.
-- Why: a job may run on another device than the first, and what it measured, or what it
-- waits for, is told with it.  A group of ranks has this one and those that follow.
-- Old rows keep NULL (= not recorded); no value is invented for them.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 9; COMMIT.
ALTER TABLE job ADD COLUMN device INTEGER      -- ordinal of the backend's
    CHECK (device IS NULL OR device BETWEEN 0 AND 1023);

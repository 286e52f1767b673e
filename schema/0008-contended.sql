-- 0008: whether others computed on the device while a time was measured.
-- Why: a time beside another process (`tune --shared`) is none of a device that works for
-- the job alone, and a tune that is to be alone must not take it for one.
-- Old rows keep NULL (= not recorded); no value is invented for them.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 8; COMMIT.
ALTER TABLE measurement ADD COLUMN others INTEGER         -- processes, the most since the look before
    CHECK (others IS NULL OR others >= 0);

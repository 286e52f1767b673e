-- 0004: a tuple has no workload.
-- Why: a tuple is content, and two workloads of a deployment may come to the same one.
-- Which of them did is what job and commit_log say, and so they do of old tuples: a
-- tuple's row was always written together with the job that found it.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 4; COMMIT.
ALTER TABLE tuple DROP COLUMN workload;
CREATE INDEX job_by_tuple ON job (tuple) WHERE tuple IS NOT NULL;

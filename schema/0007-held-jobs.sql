-- 0007: devices that do not answer, jobs that wait for one, and a device's state.
-- Why: a job for a lost device is held until that answers, and a restart of detentd must
-- not lose it: `request` is what was asked for (a packed Request), from which it is made
-- again.  A time is comparable to another at a like clock, so each measurement keeps the
-- clocks and why they were so; a free value that is timed for its table is told apart.
-- Old rows keep NULL (= not recorded); no value is invented for them.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 7; COMMIT, with
-- foreign keys off, and checks them afterwards.
CREATE TABLE job_that_waits (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('tune', 'certify')),
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'held', 'done', 'failed',
                                              'cancelled')),
    deployment TEXT NOT NULL,
    workload   TEXT NOT NULL,             -- '' of a job that certifies
    what       TEXT NOT NULL,             -- why it is held; the error of a failed job
    code       INTEGER,                   -- its code
    result     BLOB,                      -- a JobReply, when ended
    tuple      BLOB REFERENCES blob (digest),
    request    BLOB,                      -- a Request
    started_ns INTEGER NOT NULL,
    ended_ns   INTEGER
) STRICT;
INSERT INTO job_that_waits SELECT id, kind, state, deployment, workload, what, code, result, tuple,
    NULL, started_ns, ended_ns FROM job;
DROP TABLE job;
ALTER TABLE job_that_waits RENAME TO job;
CREATE INDEX job_by_tuple ON job (tuple) WHERE tuple IS NOT NULL;

CREATE TABLE hold (
    device   TEXT NOT NULL PRIMARY KEY CHECK (length (device) BETWEEN 3 AND 128), -- "cuda:0"
    why      TEXT NOT NULL,
    since_ns INTEGER NOT NULL
) STRICT;

ALTER TABLE measurement ADD COLUMN clock_mhz INTEGER      -- of what computes
    CHECK (clock_mhz IS NULL OR clock_mhz BETWEEN 1 AND 100000);
ALTER TABLE measurement ADD COLUMN memory_mhz INTEGER
    CHECK (memory_mhz IS NULL OR memory_mhz BETWEEN 1 AND 100000);
ALTER TABLE measurement ADD COLUMN reasons INTEGER;       -- the driver's bits
ALTER TABLE measurement ADD COLUMN free TEXT;             -- "workers_per_request=4"

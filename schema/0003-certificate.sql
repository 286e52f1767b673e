-- 0003: certificates, the fields for which a tuple needs them, and jobs that certify.
-- Why: a free field is free by claim or by a certificate of the very assignment,
-- backend and facts (`key`), which can be revoked; a commit and a fetch look there.
-- Old tuples keep what `uncovered` says.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 3; COMMIT, with
-- foreign keys off, and checks them afterwards.
CREATE TABLE job_with_kinds (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('tune', 'certify')),
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    deployment TEXT NOT NULL,
    workload   TEXT NOT NULL,             -- '' of a job that certifies
    what       TEXT NOT NULL,             -- the error of a failed job
    code       INTEGER,                   -- its code
    result     BLOB,                      -- a JobReply, when ended
    tuple      BLOB REFERENCES blob (digest),
    started_ns INTEGER NOT NULL,
    ended_ns   INTEGER
) STRICT;
INSERT INTO job_with_kinds SELECT id, kind, state, deployment, workload, what, code, result,
    tuple, started_ns, ended_ns FROM job;
DROP TABLE job;
ALTER TABLE job_with_kinds RENAME TO job;

CREATE TABLE certificate (
    digest     BLOB NOT NULL PRIMARY KEY REFERENCES blob (digest),
    key        BLOB NOT NULL CHECK (length (key) = 32), -- of backend, family, site, facts, binding
    deployment TEXT NOT NULL,             -- for which it was made first
    family     TEXT NOT NULL,
    site       TEXT NOT NULL,
    time_ns    INTEGER NOT NULL,
    revoked_ns INTEGER,
    why        TEXT CHECK ((why IS NULL) = (revoked_ns IS NULL))
) STRICT;
CREATE INDEX certificate_by_key ON certificate (key);
CREATE TABLE certificate_field (
    certificate BLOB NOT NULL REFERENCES certificate (digest),
    field       TEXT NOT NULL,
    PRIMARY KEY (certificate, field)
) STRICT;
-- Free fields without a claim.
CREATE TABLE tuple_free (
    tuple  BLOB NOT NULL REFERENCES tuple (digest),
    family TEXT NOT NULL,
    site   TEXT NOT NULL,
    field  TEXT NOT NULL,
    key    BLOB NOT NULL CHECK (length (key) = 32), -- of the certificates that cover it
    PRIMARY KEY (tuple, family, site, field)
) STRICT;

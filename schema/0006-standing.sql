-- 0006: what stands behind the selection points of a solution.
-- Why: that a free field has a certificate is part of a solve's answer, so certificates in
-- force are part of the JIT cache's key; they change neither pins nor verdicts, which stay
-- under the key of the question, as do measurements.
-- `check_digest` covers key and data: a row that does not match is a miss.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 6; COMMIT.
CREATE TABLE standing (
    key          BLOB NOT NULL PRIMARY KEY CHECK (length (key) = 32), -- of the JIT cache
    solution     BLOB NOT NULL REFERENCES solution (key),             -- the question
    data         BLOB NOT NULL,
    check_digest BLOB NOT NULL CHECK (length (check_digest) = 32),
    time_ns      INTEGER NOT NULL
) STRICT;
CREATE INDEX certificate_by_site ON certificate (family, site);

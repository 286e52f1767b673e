-- 0001: the store of traces, solutions, jobs, measurements, tuples and commits.
-- Why: everything that travels is content-addressed; rows are added, never changed,
-- but for a job's state and the heads of chains.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 1; COMMIT.

-- Bytes under their digest (BLAKE2b-256 in the domain `kind`).
CREATE TABLE blob (
    digest  BLOB NOT NULL PRIMARY KEY CHECK (length (digest) = 32),
    kind    TEXT NOT NULL CHECK (kind IN ('trace', 'selector', 'deployment', 'source',
                                          'tuple', 'commit', 'certificate')),
    data    BLOB NOT NULL,
    time_ns INTEGER NOT NULL              -- since 1970-01-01 UTC
) STRICT;

CREATE TABLE trace (
    digest     BLOB NOT NULL REFERENCES blob (digest),
    workload   TEXT NOT NULL,
    deployment TEXT NOT NULL,             -- as the trace's header says
    source     TEXT NOT NULL,
    calls      INTEGER NOT NULL CHECK (calls >= 0),     -- with their counts
    distinct_calls INTEGER NOT NULL CHECK (distinct_calls >= 0),
    time_ns    INTEGER NOT NULL,
    PRIMARY KEY (workload, digest)
) STRICT;

-- The JIT cache.  `check_digest` covers key and data: a row that does not match is
-- a miss.
CREATE TABLE solution (
    key          BLOB NOT NULL PRIMARY KEY CHECK (length (key) = 32),
    data         BLOB NOT NULL,
    check_digest BLOB NOT NULL CHECK (length (check_digest) = 32),
    solve_us     INTEGER NOT NULL CHECK (solve_us >= 0),
    time_ns      INTEGER NOT NULL
) STRICT;

-- A deployment's last solve: its file, its programs, a solution for each site.
CREATE TABLE deployment (
    name    TEXT NOT NULL PRIMARY KEY,
    file    BLOB NOT NULL REFERENCES blob (digest),
    time_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE deployment_source (
    deployment TEXT NOT NULL REFERENCES deployment (name),
    name       TEXT NOT NULL,
    digest     BLOB NOT NULL REFERENCES blob (digest),
    PRIMARY KEY (deployment, name)
) STRICT;
CREATE TABLE deployment_site (
    deployment TEXT NOT NULL REFERENCES deployment (name),
    family     TEXT NOT NULL,
    site       TEXT NOT NULL,
    key        BLOB NOT NULL REFERENCES solution (key),
    PRIMARY KEY (deployment, family, site)
) STRICT;

CREATE TABLE job (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('tune')),
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    deployment TEXT NOT NULL,
    workload   TEXT NOT NULL,
    what       TEXT NOT NULL,             -- the error of a failed job
    code       INTEGER,                   -- its code
    result     BLOB,                      -- a JobReply, when ended
    tuple      BLOB REFERENCES blob (digest),
    started_ns INTEGER NOT NULL,
    ended_ns   INTEGER
) STRICT;

-- Who measured: a row per distinct worker identity.
CREATE TABLE backend (
    id        INTEGER PRIMARY KEY,
    name TEXT NOT NULL, build TEXT NOT NULL, libraries TEXT NOT NULL,
    driver TEXT NOT NULL, device TEXT NOT NULL, units INTEGER NOT NULL, clock TEXT NOT NULL,
    UNIQUE (name, build, libraries, driver, device, units, clock)
) STRICT;
CREATE TABLE measurement (
    id         INTEGER PRIMARY KEY,
    job        INTEGER NOT NULL REFERENCES job (id),
    backend    INTEGER NOT NULL REFERENCES backend (id),
    solution   BLOB NOT NULL REFERENCES solution (key),
    assignment INTEGER NOT NULL CHECK (assignment >= 0),
    trace      BLOB NOT NULL REFERENCES blob (digest),
    call       INTEGER NOT NULL CHECK (call >= 0),      -- index in the trace's site
    elapsed_ns INTEGER NOT NULL CHECK (elapsed_ns > 0)
) STRICT;
CREATE INDEX measurement_by_job ON measurement (job);

CREATE TABLE tuple (
    digest     BLOB NOT NULL PRIMARY KEY REFERENCES blob (digest), -- full digest
    bits       BLOB NOT NULL CHECK (length (bits) = 32),
    deployment TEXT NOT NULL,
    workload   TEXT NOT NULL,
    sampled    INTEGER NOT NULL CHECK (sampled IN (0, 1)),  -- a verdict is only sampled
    uncovered  TEXT NOT NULL,  -- free fields with neither certificate nor claim, or ''
    time_ns    INTEGER NOT NULL
) STRICT;
CREATE TABLE tuple_selector (
    tuple  BLOB NOT NULL REFERENCES tuple (digest),
    family TEXT NOT NULL,
    site   TEXT NOT NULL,
    pinned BLOB NOT NULL REFERENCES blob (digest),
    stock  BLOB NOT NULL REFERENCES blob (digest),
    PRIMARY KEY (tuple, family, site)
) STRICT;

-- Commits form a chain per (deployment, workload).
CREATE TABLE commit_log (
    digest     BLOB NOT NULL PRIMARY KEY REFERENCES blob (digest),
    deployment TEXT NOT NULL,
    workload   TEXT NOT NULL,
    sequence   INTEGER NOT NULL CHECK (sequence >= 1),
    tuple      BLOB NOT NULL REFERENCES tuple (digest),
    parent     BLOB REFERENCES commit_log (digest),
    signature  BLOB NOT NULL CHECK (length (signature) = 64),
    time_ns    INTEGER NOT NULL,
    UNIQUE (deployment, workload, sequence)
) STRICT;

-- 0005: what a backend's times say of caches.
-- Why: a time on operands that stay in place is no time on cold ones, and the two must
-- never be taken for each other: what a worker says of it is part of who measured.
-- Old rows keep '' (not recorded), which no worker says: their times are not taken again.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 5; COMMIT, with
-- foreign keys off, and checks them afterwards.
CREATE TABLE backend_with_caches (
    id        INTEGER PRIMARY KEY,
    name TEXT NOT NULL, build TEXT NOT NULL, libraries TEXT NOT NULL,
    driver TEXT NOT NULL, device TEXT NOT NULL, units INTEGER NOT NULL, clock TEXT NOT NULL,
    caches TEXT NOT NULL CHECK (length (caches) < 64),
    UNIQUE (name, build, libraries, driver, device, units, clock, caches)
) STRICT;
INSERT INTO backend_with_caches SELECT id, name, build, libraries, driver, device, units, clock,
    '' FROM backend;
DROP TABLE backend;
ALTER TABLE backend_with_caches RENAME TO backend;

-- 0002: under which plan a measurement was asked for.
-- Why: a tune that is begun again takes the measurements of the same plan (what orders
-- them: traces, options, candidates) in their order, and goes on behind the last.
-- Old rows keep NULL: they are evidence, and never taken again.
-- The runner wraps this in BEGIN IMMEDIATE ... PRAGMA user_version = 2; COMMIT.
ALTER TABLE measurement ADD COLUMN plan BLOB CHECK (plan IS NULL OR length (plan) = 32);
CREATE INDEX measurement_by_plan ON measurement (plan, backend, id) WHERE plan IS NOT NULL;

"""The part of a step after which a job says whether its final state was kept. Of jobs that ended before, none is made."""

FINAL_STATES = (
    "ALTER TABLE jobs ADD COLUMN has_final INTEGER NOT NULL DEFAULT 0",
    "UPDATE jobs SET has_final = 1 WHERE NOT is_open",
    "CREATE INDEX jobs_without_final ON jobs (id) WHERE NOT is_open AND NOT has_final",
)

"""The step after which a job keeps its contract, whose turn it is, the artifacts of its plan, and what its roles were told."""

CONTRACTS = (
    "ALTER TABLE jobs ADD COLUMN role TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE jobs ADD COLUMN role_sha TEXT",
    "ALTER TABLE jobs ADD COLUMN consultation TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE job_contracts (
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        source TEXT NOT NULL,
        text TEXT NOT NULL,
        digest TEXT NOT NULL,
        constitution INTEGER NOT NULL,
        taken_at TEXT NOT NULL,
        seen_at_base TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE plan_files (
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        path TEXT NOT NULL,
        text TEXT NOT NULL,
        session_id TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (job_id, path)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE role_notes (
        id INTEGER PRIMARY KEY,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        phase TEXT NOT NULL,
        role TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        source TEXT NOT NULL,
        at TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX role_notes_of_job ON role_notes (job_id)",
    # A contract can end a job: one more ending beside those that `outcomes` knows.
    """CREATE TRIGGER terminated_is_an_outcome AFTER INSERT ON ledger WHEN NEW.name = 'terminated' BEGIN
        UPDATE job_outcomes SET ended_at = NEW.at, ended_on = date(NEW.at), ending = NEW.name
        WHERE job_id = NEW.job_id AND ended_at IS NULL;
        END""",
)

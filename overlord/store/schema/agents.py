"""The step after which other coding agents work in sessions, each with a model of its own, and cache writes are counted.

What a job came to names the agents that worked on it, in the order they began; a job without a session names none.
"""

_WORKED = (
    "EXISTS (SELECT 1 FROM sessions WHERE sessions.job_id = job_outcomes.job_id AND sessions.kind = 'work')"
)

AGENTS = (
    "ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT 'native'",
    "ALTER TABLE sessions ADD COLUMN model TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE exchanges ADD COLUMN cache_written INTEGER NOT NULL DEFAULT 0",
    f"UPDATE job_outcomes SET agent = CASE WHEN {_WORKED} THEN 'native' ELSE '' END",  # noqa: S608 - constants
    "DROP TRIGGER claims_have_outcomes",
    """CREATE TRIGGER claims_have_outcomes AFTER INSERT ON jobs BEGIN
        INSERT INTO job_outcomes (job_id, space, claimed_at, agent) VALUES (NEW.id, NEW.space, NEW.created_at, '');
        END""",
    """CREATE TRIGGER workers_are_outcomes AFTER INSERT ON sessions WHEN NEW.kind = 'work' BEGIN
        UPDATE job_outcomes SET agent = CASE WHEN agent = '' THEN NEW.agent ELSE agent || ', ' || NEW.agent END
        WHERE job_id = NEW.job_id AND instr(', ' || agent || ', ', ', ' || NEW.agent || ', ') = 0;
        END""",
)

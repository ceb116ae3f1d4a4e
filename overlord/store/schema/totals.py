"""What is counted for good: sums that the database itself keeps, in the transaction of the fact they count.

A sum neither begins anew with a daemon nor falls when rows are removed, and reading it costs the same after a million jobs.
"""

from collections.abc import Sequence

SESSION_BOUNDS_S = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600)
JOB_BOUNDS_S = (60, 300, 900, 1800, 3600, 10800, 43200, 86400, 259200, 604800)
BEYOND = "+Inf"


def _add(*row: str, amount: str = "1") -> str:
    """`row`: up to three SQL expressions after the sum's name; those left out are empty. Nothing here can fail a fact."""
    labels = [*(f"coalesce({label}, '')" for label in row[1:]), *["''"] * (4 - len(row))]
    values = ", ".join([f"'{row[0]}'", *labels, f"coalesce({amount}, 0)"])
    return f"""INSERT INTO totals (name, first, second, third, value) VALUES ({values})
        ON CONFLICT DO UPDATE SET value = value + excluded.value;"""  # noqa: S608 - constants


def _bound(seconds: str, bounds: Sequence[int]) -> str:
    """The smallest bound that is not below a number of seconds."""
    cases = " ".join(f"WHEN {seconds} <= {bound} THEN '{bound}'" for bound in bounds)
    return f"CASE {cases} ELSE '{BEYOND}' END"


def _seconds(start: str, end: str) -> str:
    return f"max((julianday({end}) - julianday({start})) * 86400.0, 0.0)"


_SESSION_S = _seconds("NEW.started_at", "NEW.ended_at")
_JOB_S = _seconds("NEW.created_at", "NEW.updated_at")
_OUTCOME = """CASE WHEN NEW.status < 400 THEN 'ok' WHEN NEW.status IN (408, 425, 429) THEN 'busy'
    WHEN NEW.status = 499 THEN 'abandoned' WHEN NEW.status < 500 THEN 'refused' ELSE 'failed' END"""

EXCHANGES_ARE_COUNTED = f"""CREATE TRIGGER exchanges_are_counted AFTER UPDATE OF settled ON exchanges
        WHEN NEW.settled AND NOT OLD.settled BEGIN
        {_add("calls", "NEW.model", _OUTCOME)}
        {_add("tokens", "NEW.model", "'prompt'", amount="NEW.prompt - NEW.cached")}
        {_add("tokens", "NEW.model", "'cached'", amount="NEW.cached")}
        {_add("tokens", "NEW.model", "'completion'", amount="NEW.completion")}
        {_add("spend_nusd", "NEW.model", "NEW.space", amount="NEW.cost_nusd")}
        END"""

TOTALS = (
    """CREATE TABLE totals (
        name TEXT NOT NULL,
        first TEXT NOT NULL,
        second TEXT NOT NULL,
        third TEXT NOT NULL,
        value INTEGER NOT NULL,
        PRIMARY KEY (name, first, second, third)
    ) STRICT, WITHOUT ROWID""",
    # Since when each open job is in its state.
    """CREATE TABLE standing (
        job_id INTEGER PRIMARY KEY,
        state TEXT NOT NULL,
        since TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX open_decisions ON decisions (kind) WHERE state = 'open'",
    f"CREATE TRIGGER facts_are_counted AFTER INSERT ON ledger BEGIN {_add('facts', 'NEW.name')} END",
    f"""CREATE TRIGGER verdicts_are_counted AFTER INSERT ON ledger WHEN NEW.name = 'check_completed' BEGIN
        {_add("verdicts", "json_extract(NEW.data, '$.check')", "coalesce(json_extract(NEW.data, '$.score'), 'unavailable')")}
        END""",
    EXCHANGES_ARE_COUNTED,
    f"""CREATE TRIGGER sessions_are_counted AFTER UPDATE OF state ON sessions
        WHEN NEW.state = 'ended' AND OLD.state != 'ended' AND NEW.started_at IS NOT NULL BEGIN
        {_add("sessions", "NEW.kind", "substr(NEW.ending, 1, instr(NEW.ending || ':', ':') - 1)")}
        {_add("session_s", "NEW.kind", _bound(_SESSION_S, SESSION_BOUNDS_S))}
        {_add("session_ms", "NEW.kind", amount=f"CAST(round({_SESSION_S} * 1000) AS INTEGER)")}
        END""",
    f"""CREATE TRIGGER jobs_are_counted AFTER UPDATE OF state ON jobs
        WHEN OLD.is_open AND NOT NEW.is_open BEGIN
        {_add("jobs", "NEW.space", "NEW.state")}
        {_add("job_s", "NEW.state", _bound(_JOB_S, JOB_BOUNDS_S))}
        {_add("job_ms", "NEW.state", amount=f"CAST(round({_JOB_S} * 1000) AS INTEGER)")}
        END""",
    """CREATE TRIGGER ends_stand_no_more AFTER UPDATE OF state ON jobs WHEN NOT NEW.is_open BEGIN
        DELETE FROM standing WHERE job_id = NEW.id;
        END""",
    """CREATE TRIGGER claims_stand AFTER INSERT ON jobs WHEN NEW.is_open BEGIN
        INSERT INTO standing (job_id, state, since) VALUES (NEW.id, NEW.state, NEW.created_at);
        END""",
    """CREATE TRIGGER moves_stand AFTER UPDATE OF state ON jobs WHEN NEW.is_open AND NEW.state != OLD.state BEGIN
        UPDATE standing SET state = NEW.state, since = NEW.updated_at WHERE job_id = NEW.id;
        END""",
)

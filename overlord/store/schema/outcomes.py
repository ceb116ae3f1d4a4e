"""What each job came to, in a row of its own: kept by the database itself, in the transaction of the fact that changes it.

Figures over weeks were read from the ledger, and took a fifth of a second at a million events. The row says the same, and an index over
those that ended holds all that is summed up. Names of events are written out: a step that was released is never changed. Where a new
event ends a job, a new step says so; a test compares them.
"""

_ENDINGS = "'dropped', 'issue_closed', 'lifetime_exceeded', 'merged', 'pr_closed', 'stopped', 'taken_over', 'unlabelled'"
_SOUND = "'pass', 'not_judged'"
_STEPS = ("'pull_opened'", "'delivered'", "'revision_ordered'")


def _rules(checks: str) -> str:
    """What an evaluation holds against the work, as `check/rule`, each once and in its order."""
    return f"""(SELECT json_group_array(rule) FROM (
            SELECT coalesce(json_extract(finding.value, '$.check') || '/' || json_extract(finding.value, '$.rule'), '') AS rule
            FROM json_each({checks}) AS made JOIN json_each(made.value, '$.findings') AS finding
            WHERE coalesce(json_extract(made.value, '$.score'), '') NOT IN ({_SOUND})
            GROUP BY rule ORDER BY min(made.key * 1000000 + finding.key)))"""  # noqa: S608 - constants


def _ms(start: str, end: str) -> str:
    """SQLite's own times have milliseconds."""
    return f"max(CAST(round((julianday({end}) - julianday({start})) * 86400000.0) AS INTEGER), 0)"


_WAYS = f"""WITH told AS (
        SELECT job_id, name, at, seq,
               sum(name = {_STEPS[2]}) OVER (PARTITION BY job_id ORDER BY seq) AS before,
               row_number() OVER (PARTITION BY job_id, name ORDER BY seq) AS place
        FROM ledger WHERE name IN ({", ".join(_STEPS)}) AND job_id IS NOT NULL)
    UPDATE job_outcomes SET
        revisions = way.revisions, is_delivered = way.is_delivered, is_first_pass = way.is_first_pass,
        pull_ms = {_ms("claimed_at", "way.opened_at")}
    FROM (SELECT job_id, sum(name = {_STEPS[2]}) AS revisions, max(name = {_STEPS[1]}) AS is_delivered,
                 max(name = {_STEPS[1]} AND place = 1 AND before = 0) AS is_first_pass,
                 max(CASE WHEN name = {_STEPS[0]} AND place = 1 THEN at END) AS opened_at
          FROM told GROUP BY job_id) AS way
    WHERE way.job_id = job_outcomes.job_id"""  # noqa: S608 - constants

_IS_ONE = " OR ".join(f"NEW.name = {name}" for name in (*_ENDINGS.split(", "), *_STEPS))

OUTCOMES = (
    # `agent` is the program that worked: there is one so far. `nusd` is NULL where no model has a price.
    """CREATE TABLE job_outcomes (
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        space TEXT NOT NULL,
        claimed_at TEXT NOT NULL,
        ended_at TEXT,
        ended_on TEXT,
        ending TEXT NOT NULL DEFAULT '',
        pull_ms INTEGER,
        is_delivered INTEGER NOT NULL DEFAULT 0,
        is_first_pass INTEGER NOT NULL DEFAULT 0,
        revisions INTEGER NOT NULL DEFAULT 0,
        agent TEXT NOT NULL DEFAULT 'minion',
        model TEXT NOT NULL DEFAULT '',
        tokens INTEGER NOT NULL DEFAULT 0,
        nusd INTEGER,
        rules TEXT NOT NULL DEFAULT '[]'
    ) STRICT""",
    "INSERT INTO job_outcomes (job_id, space, claimed_at) SELECT id, space, created_at FROM jobs",
    f"""UPDATE job_outcomes SET ended_at = told.at, ended_on = date(told.at), ending = told.name
        FROM (SELECT job_id, name, at, min(seq) FROM ledger WHERE name IN ({_ENDINGS}) GROUP BY job_id) AS told
        WHERE told.job_id = job_outcomes.job_id""",  # noqa: S608 - constants
    _WAYS,
    """UPDATE job_outcomes SET model = spent.model, tokens = spent.tokens, nusd = spent.nusd
        FROM (SELECT job_id, model, min(id), sum(prompt + completion) AS tokens, sum(cost_nusd) AS nusd
              FROM exchanges WHERE job_id IS NOT NULL GROUP BY job_id) AS spent
        WHERE spent.job_id = job_outcomes.job_id""",
    f"""UPDATE job_outcomes SET rules = {_rules("last.checks")}
        FROM (SELECT job_id, checks, max(id) FROM evaluations GROUP BY job_id) AS last
        WHERE last.job_id = job_outcomes.job_id""",  # noqa: S608 - constants
    # All that is summed up, by the day, so that no row is looked up and nothing sorted.
    """CREATE INDEX ended_outcomes ON job_outcomes (ended_on, space, agent, model, ending, is_delivered, is_first_pass, revisions,
        tokens, nusd, pull_ms) WHERE ended_on IS NOT NULL""",
    """CREATE TRIGGER claims_have_outcomes AFTER INSERT ON jobs BEGIN
        INSERT INTO job_outcomes (job_id, space, claimed_at) VALUES (NEW.id, NEW.space, NEW.created_at);
        END""",
    # One trigger for all of them. Most events are none of these, and are to pay little: a list after IN would be made for each.
    f"""CREATE TRIGGER facts_are_outcomes AFTER INSERT ON ledger WHEN {_IS_ONE} BEGIN
        UPDATE job_outcomes SET ended_at = NEW.at, ended_on = date(NEW.at), ending = NEW.name
        WHERE job_id = NEW.job_id AND ended_at IS NULL AND NEW.name IN ({_ENDINGS});
        UPDATE job_outcomes SET pull_ms = {_ms("claimed_at", "NEW.at")}
        WHERE job_id = NEW.job_id AND pull_ms IS NULL AND NEW.name = {_STEPS[0]};
        UPDATE job_outcomes SET is_delivered = 1, is_first_pass = revisions = 0
        WHERE job_id = NEW.job_id AND NOT is_delivered AND NEW.name = {_STEPS[1]};
        UPDATE job_outcomes SET revisions = revisions + 1 WHERE job_id = NEW.job_id AND NEW.name = {_STEPS[2]};
        END""",  # noqa: S608 - constants
    """CREATE TRIGGER requests_are_outcomes AFTER INSERT ON exchanges WHEN NEW.job_id IS NOT NULL BEGIN
        UPDATE job_outcomes SET
            model = CASE WHEN model = '' THEN NEW.model ELSE model END,
            tokens = tokens + NEW.prompt + NEW.completion,
            nusd = CASE WHEN NEW.cost_nusd IS NULL THEN nusd ELSE coalesce(nusd, 0) + NEW.cost_nusd END
        WHERE job_id = NEW.job_id;
        END""",
    """CREATE TRIGGER costs_are_outcomes AFTER UPDATE OF prompt, completion, cost_nusd ON exchanges WHEN NEW.job_id IS NOT NULL BEGIN
        UPDATE job_outcomes SET
            tokens = tokens + NEW.prompt + NEW.completion - OLD.prompt - OLD.completion,
            nusd = CASE WHEN NEW.cost_nusd IS NULL AND OLD.cost_nusd IS NULL THEN nusd
                        ELSE coalesce(nusd, 0) + coalesce(NEW.cost_nusd, 0) - coalesce(OLD.cost_nusd, 0) END
        WHERE job_id = NEW.job_id;
        END""",
    f"""CREATE TRIGGER verdicts_begin_outcomes AFTER INSERT ON evaluations BEGIN
        UPDATE job_outcomes SET rules = {_rules("NEW.checks")} WHERE job_id = NEW.job_id;
        END""",  # noqa: S608 - constants
    f"""CREATE TRIGGER verdicts_are_outcomes AFTER UPDATE OF checks ON evaluations
        WHEN NEW.id = (SELECT max(id) FROM evaluations WHERE job_id = NEW.job_id) BEGIN
        UPDATE job_outcomes SET rules = {_rules("NEW.checks")} WHERE job_id = NEW.job_id;
        END""",  # noqa: S608 - constants
)

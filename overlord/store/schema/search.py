"""The step after which jobs are found by words: a text for each place that can be searched, and an FTS5 index over these texts.

The index keeps no text of its own (`content=`): it reads them from `search_texts`, where each is once, plain. An index without any text
would be smaller, and could neither show a snippet nor let go of a text, in the SQLite that Debian has (3.40).

A text's number says its job and its rank in it, so that the index itself gives the newest job first, in each job the issue first, and
goes on below a job without looking at those above. Issues and findings are taken up by triggers, in the transaction of their fact, and
nothing in a trigger can fail it; transcripts are files, and come from `store/search.py`. What the settings (`keep`) remove is gone here
in the same transaction. A job has at most 1,023 texts of checks and 3,072 of sessions.
"""

OF_A_JOB = 4096
"""Numbers that are one job's."""
ISSUE_RANK = OF_A_JOB - 1
FIRST_FINDING, LAST_FINDING = 3072, ISSUE_RANK - 1
FIRST_TRANSCRIPT, LAST_TRANSCRIPT = 0, FIRST_FINDING - 1
TEXT_CHARS = 8_000
"""Of an issue or of what one check found."""


def _issue(row: str) -> str:
    """Title and text of a row's issue."""
    parts = (f"coalesce(json_extract({row}issue, '$.{name}'), '')" for name in ("title", "body"))
    text = " || char(10) || ".join(parts)
    return f"iif(json_valid({row}issue), substr({text}, 1, {TEXT_CHARS}), '')"


def _of(value: str, name: str) -> str:
    return f"coalesce(json_extract({value}, '$.{name}'), '')"


_FINDING = f"{_of('f.value', 'rule')} || ' ' || {_of('f.value', 'file')} || ' ' || {_of('f.value', 'message')} || ' ' || {_of('f.value', 'suggestion')}"
_FINDINGS = f"(SELECT group_concat({_FINDING}, char(10)) FROM json_each(c.value, '$.findings') AS f)"  # noqa: S608 - constants
_CHECK = f"substr({_of('c.value', 'summary')} || char(10) || coalesce({_FINDINGS}, ''), 1, {TEXT_CHARS})"
"""What one check, an element of `c`, says."""

SEARCH = (
    """CREATE TABLE search_texts (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('issue', 'finding', 'transcript')),
        source TEXT NOT NULL DEFAULT '',
        turn INTEGER NOT NULL DEFAULT 0,
        text TEXT NOT NULL
    ) STRICT""",
    f"""INSERT INTO search_texts (id, kind, text)
        SELECT id * {OF_A_JOB} + {ISSUE_RANK}, 'issue', {_issue("")} FROM jobs ORDER BY id""",  # noqa: S608 - constants
    f"""INSERT INTO search_texts (id, kind, source, text)
        SELECT job_id * {OF_A_JOB} + {LAST_TRANSCRIPT} + place, 'finding', source, text FROM (
            SELECT job_id, {_of("c.value", "name")} AS source, {_CHECK} AS text,
                   row_number() OVER (PARTITION BY job_id ORDER BY evaluations.id, c.key) AS place
            FROM evaluations, json_each(checks) AS c)
        WHERE place <= {LAST_FINDING - LAST_TRANSCRIPT}""",  # noqa: S608 - constants
    """CREATE VIRTUAL TABLE search_index USING fts5 (
        text, content = 'search_texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
    )""",
    "INSERT INTO search_index (search_index) VALUES ('rebuild')",
    # After the texts of before are in: no trigger may write to a virtual table where a schema is not trusted, as in a backup.
    """CREATE TRIGGER texts_are_indexed AFTER INSERT ON search_texts BEGIN
        INSERT INTO search_index (rowid, text) VALUES (NEW.id, NEW.text);
        END""",
    """CREATE TRIGGER texts_leave_the_index AFTER DELETE ON search_texts BEGIN
        INSERT INTO search_index (search_index, rowid, text) VALUES ('delete', OLD.id, OLD.text);
        END""",
    """CREATE TRIGGER texts_change_in_the_index AFTER UPDATE OF text ON search_texts BEGIN
        INSERT INTO search_index (search_index, rowid, text) VALUES ('delete', OLD.id, OLD.text);
        INSERT INTO search_index (rowid, text) VALUES (NEW.id, NEW.text);
        END""",
    f"""CREATE TRIGGER issues_are_searched AFTER INSERT ON jobs BEGIN
        INSERT INTO search_texts (id, kind, text) VALUES (NEW.id * {OF_A_JOB} + {ISSUE_RANK}, 'issue', {_issue("NEW.")});
        END""",  # noqa: S608 - constants
    f"""CREATE TRIGGER changed_issues_are_searched AFTER UPDATE OF issue ON jobs WHEN NEW.issue != OLD.issue BEGIN
        UPDATE search_texts SET text = {_issue("NEW.")} WHERE id = NEW.id * {OF_A_JOB} + {ISSUE_RANK};
        END""",  # noqa: S608 - constants
    # Checks are only ever added to an evaluation: those that were there are searched already.
    f"""CREATE TRIGGER findings_are_searched AFTER UPDATE OF checks ON evaluations BEGIN
        INSERT INTO search_texts (id, kind, source, text)
        SELECT free.id + c.key - json_array_length(OLD.checks), 'finding', {_of("c.value", "name")}, {_CHECK}
        FROM json_each(NEW.checks) AS c, (SELECT 1 + coalesce(
            (SELECT max(id) FROM search_texts WHERE id BETWEEN NEW.job_id * {OF_A_JOB} + {FIRST_FINDING}
                                                            AND NEW.job_id * {OF_A_JOB} + {LAST_FINDING}),
            NEW.job_id * {OF_A_JOB} + {LAST_TRANSCRIPT}) AS id) AS free
        WHERE c.key >= json_array_length(OLD.checks)
              AND free.id + c.key - json_array_length(OLD.checks) <= NEW.job_id * {OF_A_JOB} + {LAST_FINDING};
        END""",  # noqa: S608 - constants
    f"""CREATE TRIGGER removed_transcripts_are_not_searched AFTER UPDATE OF removed_at ON evidence
        WHEN NEW.removed_at IS NOT NULL AND NEW.kind = 'transcript' BEGIN
        DELETE FROM search_texts WHERE source = NEW.session_id
            AND id BETWEEN NEW.job_id * {OF_A_JOB} AND NEW.job_id * {OF_A_JOB} + {LAST_TRANSCRIPT};
        END""",  # noqa: S608 - constants
)

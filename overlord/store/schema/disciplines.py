"""The step after which other agents can call disciplines: calls, and the histories of their sessions."""

DISCIPLINES = (
    """CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        discipline TEXT NOT NULL,
        space TEXT NOT NULL,
        session_key TEXT NOT NULL,
        actor TEXT NOT NULL,
        arguments TEXT NOT NULL,
        model TEXT NOT NULL,
        directory TEXT NOT NULL,
        branch TEXT NOT NULL,
        is_checkout INTEGER NOT NULL,
        base_sha TEXT NOT NULL,
        state TEXT NOT NULL,
        stage TEXT NOT NULL DEFAULT '',
        job_id INTEGER REFERENCES jobs (id),
        result TEXT,
        patch TEXT NOT NULL DEFAULT '',
        ledger_head TEXT NOT NULL DEFAULT '',
        created_at TEXT NOT NULL,
        ended_at TEXT
    ) STRICT""",
    "CREATE INDEX calls_open ON calls (state) WHERE state = 'open'",
    "CREATE INDEX calls_by_session ON calls (session_key, space)",
    """CREATE TABLE session_entries (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        session_key TEXT NOT NULL,
        skill TEXT NOT NULL,
        phase TEXT NOT NULL,
        final_status TEXT NOT NULL,
        file_path TEXT NOT NULL,
        message TEXT NOT NULL,
        verified INTEGER NOT NULL,
        actor TEXT NOT NULL,
        at TEXT NOT NULL,
        call_id INTEGER REFERENCES calls (id)
    ) STRICT""",
    "CREATE INDEX session_entries_by_session ON session_entries (space, session_key)",
    # A call of a discipline is a job without an issue, and no work that comes to a merge or to nothing.
    "DROP TRIGGER claims_have_outcomes",
    """CREATE TRIGGER claims_have_outcomes AFTER INSERT ON jobs WHEN NEW.issue_number >= 0 BEGIN
        INSERT INTO job_outcomes (job_id, space, claimed_at, agent) VALUES (NEW.id, NEW.space, NEW.created_at, '');
        END""",
    # Whatever ends its job without a result (a person who stops it, its lifetime) ends a call.
    """CREATE TRIGGER calls_end_with_their_jobs AFTER UPDATE OF is_open ON jobs
        WHEN NEW.issue_number < 0 AND NOT NEW.is_open BEGIN
        UPDATE calls SET state = 'cancelled', stage = '', ended_at = NEW.updated_at
        WHERE id = -NEW.issue_number AND state = 'open';
        END""",
    # When a model answered last, of years of exchanges.
    "CREATE INDEX exchanges_of_model ON exchanges (model, status)",
    # Knowledge that is longer than a note is a document, found by its name and its tags too.
    "ALTER TABLE notes ADD COLUMN document TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE notes ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
    "CREATE UNIQUE INDEX documents_that_count ON notes (space, document) WHERE state = 'active' AND document <> ''",
    "DROP TRIGGER notes_are_searched",
    "DROP TRIGGER changed_notes_are_searched",
    "DROP TABLE note_texts",
    "DROP VIEW note_words",
    """CREATE VIEW note_words AS
        SELECT id, text, question, 's' || lower(hex(space)) AS place, document || ' ' || tags AS head FROM notes""",
    """CREATE VIRTUAL TABLE note_texts USING fts5 (
        text, question, place, head, content = 'note_words', content_rowid = 'id',
        tokenize = 'porter unicode61 remove_diacritics 2'
    )""",
    "INSERT INTO note_texts (note_texts) VALUES ('rebuild')",
    """CREATE TRIGGER notes_are_searched AFTER INSERT ON notes BEGIN
        INSERT INTO note_texts (rowid, text, question, place, head)
        VALUES (NEW.id, NEW.text, NEW.question, 's' || lower(hex(NEW.space)), NEW.document || ' ' || NEW.tags);
        END""",
    """CREATE TRIGGER changed_notes_are_searched AFTER UPDATE OF text, question, space, document, tags ON notes BEGIN
        INSERT INTO note_texts (note_texts, rowid, text, question, place, head)
        VALUES ('delete', OLD.id, OLD.text, OLD.question, 's' || lower(hex(OLD.space)), OLD.document || ' ' || OLD.tags);
        INSERT INTO note_texts (rowid, text, question, place, head)
        VALUES (NEW.id, NEW.text, NEW.question, 's' || lower(hex(NEW.space)), NEW.document || ' ' || NEW.tags);
        END""",
)

"""The step after which there is a portfolio: initiatives, tasks, escalations, knowledge, rules, and cycles over them."""

PORTFOLIO = (
    """CREATE TABLE initiatives (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        slug TEXT NOT NULL,
        title TEXT NOT NULL,
        goal TEXT NOT NULL,
        source TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        priority TEXT NOT NULL,
        actor TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        nusd_budget INTEGER,
        token_budget INTEGER,
        paths TEXT NOT NULL DEFAULT '[]',
        issue_request_id INTEGER REFERENCES issue_requests (id),
        issue_number INTEGER,
        job_id INTEGER REFERENCES jobs (id),
        plan_digest TEXT NOT NULL DEFAULT '',
        replan TEXT NOT NULL DEFAULT '',
        last_task INTEGER NOT NULL DEFAULT 0,
        waits TEXT NOT NULL DEFAULT '',
        is_issue_closed INTEGER NOT NULL DEFAULT 0,
        is_issue_behind INTEGER NOT NULL DEFAULT 0,
        completed_at TEXT,
        UNIQUE (space, slug)
    ) STRICT""",
    "CREATE INDEX initiatives_by_state ON initiatives (state, space)",
    "CREATE INDEX initiatives_by_issue ON initiatives (space, issue_number)",
    """CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        initiative_id INTEGER NOT NULL REFERENCES initiatives (id),
        number INTEGER NOT NULL,
        space TEXT NOT NULL,
        subject TEXT NOT NULL,
        description TEXT NOT NULL,
        acceptance_criteria TEXT NOT NULL,
        state TEXT NOT NULL,
        priority TEXT NOT NULL,
        created_by TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        labels TEXT NOT NULL DEFAULT '[]',
        paths TEXT NOT NULL DEFAULT '[]',
        completed_at TEXT,
        completion_notes TEXT NOT NULL DEFAULT '',
        addressed TEXT NOT NULL DEFAULT '[]',
        issue_request_id INTEGER REFERENCES issue_requests (id),
        issue_number INTEGER,
        job_id INTEGER REFERENCES jobs (id),
        waits TEXT NOT NULL DEFAULT '',
        attempts INTEGER NOT NULL DEFAULT 0,
        is_linked INTEGER NOT NULL DEFAULT 0,
        is_issue_closed INTEGER NOT NULL DEFAULT 0,
        UNIQUE (initiative_id, number)
    ) STRICT""",
    "CREATE INDEX tasks_by_state ON tasks (state, initiative_id)",
    "CREATE INDEX tasks_by_issue ON tasks (space, issue_number)",
    "CREATE INDEX tasks_by_job ON tasks (job_id)",
    "CREATE INDEX tasks_to_link ON tasks (id) WHERE issue_number IS NOT NULL AND NOT is_linked",
    "CREATE INDEX tasks_to_close ON tasks (id) WHERE issue_number IS NOT NULL AND NOT is_issue_closed",
    "CREATE INDEX tasks_at_forge ON tasks (id) WHERE issue_number IS NOT NULL AND state = 'in_progress'",
    "CREATE INDEX tasks_to_reopen ON tasks (id) WHERE issue_number IS NOT NULL AND is_issue_closed AND state = 'in_progress'",
    "CREATE INDEX initiatives_to_close ON initiatives (id) WHERE issue_number IS NOT NULL AND NOT is_issue_closed",
    "CREATE INDEX initiatives_to_edit ON initiatives (id) WHERE is_issue_behind",
    """CREATE TABLE task_links (
        blocker_id INTEGER NOT NULL REFERENCES tasks (id),
        blocked_id INTEGER NOT NULL REFERENCES tasks (id),
        is_at_forge INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (blocker_id, blocked_id)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX unsaid_task_links ON task_links (blocker_id) WHERE NOT is_at_forge",
    "CREATE INDEX task_links_by_blocked ON task_links (blocked_id)",
    """CREATE TABLE unlinked_tasks (
        blocker_id INTEGER NOT NULL REFERENCES tasks (id),
        blocked_id INTEGER NOT NULL REFERENCES tasks (id),
        PRIMARY KEY (blocker_id, blocked_id)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE escalations (
        id INTEGER PRIMARY KEY,
        type TEXT NOT NULL,
        kind TEXT NOT NULL,
        space TEXT NOT NULL,
        question TEXT NOT NULL,
        context TEXT NOT NULL,
        suggested TEXT NOT NULL,
        escalated_by TEXT NOT NULL,
        path TEXT NOT NULL,
        priority TEXT NOT NULL,
        state TEXT NOT NULL,
        created_at TEXT NOT NULL,
        initiative_id INTEGER REFERENCES initiatives (id),
        task_id INTEGER REFERENCES tasks (id),
        job_id INTEGER REFERENCES jobs (id),
        session_id TEXT,
        blocks_initiative INTEGER NOT NULL DEFAULT 0,
        decision_id INTEGER REFERENCES decisions (id),
        resolution TEXT NOT NULL DEFAULT '',
        resolved_by TEXT NOT NULL DEFAULT '',
        cites TEXT NOT NULL DEFAULT '',
        resolved_at TEXT,
        is_delivered INTEGER NOT NULL DEFAULT 0,
        searched TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    "CREATE INDEX escalations_by_state ON escalations (state)",
    "CREATE INDEX escalations_by_task ON escalations (task_id)",
    "CREATE INDEX escalations_by_initiative ON escalations (initiative_id)",
    """CREATE TABLE notes (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        question TEXT NOT NULL,
        state TEXT NOT NULL,
        source TEXT NOT NULL,
        actor TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        "check" TEXT,
        checked_at TEXT,
        reason TEXT NOT NULL DEFAULT '',
        promoted_from INTEGER REFERENCES notes (id),
        decision_id INTEGER REFERENCES decisions (id),
        contradicted_by TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    "CREATE INDEX notes_by_state ON notes (state, space)",
    # Where a note counts is a word of the index too, so that a search in one repository walks through no other's notes.
    """CREATE VIEW note_words AS SELECT id, text, question, 's' || lower(hex(space)) AS place FROM notes""",
    """CREATE VIRTUAL TABLE note_texts USING fts5 (
        text, question, place, content = 'note_words', content_rowid = 'id',
        tokenize = 'porter unicode61 remove_diacritics 2'
    )""",
    """CREATE TRIGGER notes_are_searched AFTER INSERT ON notes BEGIN
        INSERT INTO note_texts (rowid, text, question, place)
        VALUES (NEW.id, NEW.text, NEW.question, 's' || lower(hex(NEW.space)));
        END""",
    """CREATE TRIGGER changed_notes_are_searched AFTER UPDATE OF text, question, space ON notes BEGIN
        INSERT INTO note_texts (note_texts, rowid, text, question, place)
        VALUES ('delete', OLD.id, OLD.text, OLD.question, 's' || lower(hex(OLD.space)));
        INSERT INTO note_texts (rowid, text, question, place)
        VALUES (NEW.id, NEW.text, NEW.question, 's' || lower(hex(NEW.space)));
        END""",
    """CREATE TABLE rules (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        question TEXT NOT NULL,
        words TEXT NOT NULL,
        answer TEXT NOT NULL,
        actor TEXT NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT,
        revoked_at TEXT,
        revoked_by TEXT NOT NULL DEFAULT '',
        decision_id INTEGER REFERENCES decisions (id),
        escalation_id INTEGER REFERENCES escalations (id),
        used INTEGER NOT NULL DEFAULT 0,
        used_at TEXT
    ) STRICT""",
    """CREATE TABLE portfolio_cycles (
        id INTEGER PRIMARY KEY,
        trigger TEXT NOT NULL,
        actor TEXT NOT NULL,
        asked_at TEXT NOT NULL,
        ran_at TEXT,
        fingerprint TEXT NOT NULL DEFAULT '',
        ledger_id INTEGER NOT NULL DEFAULT 0,
        acts INTEGER NOT NULL DEFAULT 0,
        summary TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    """CREATE TABLE portfolio_schedules (
        id INTEGER PRIMARY KEY,
        schedule TEXT NOT NULL,
        at TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX portfolio_schedules_by_name ON portfolio_schedules (schedule, at)",
    """CREATE TABLE portfolio_files (
        path TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        mark TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL DEFAULT '',
        trouble TEXT NOT NULL DEFAULT '',
        read_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE plan_drafts (
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        initiative_id INTEGER NOT NULL REFERENCES initiatives (id),
        text TEXT NOT NULL,
        problems TEXT NOT NULL,
        at TEXT NOT NULL,
        tasks TEXT NOT NULL DEFAULT '[]',
        base_text TEXT NOT NULL DEFAULT '',
        session_id TEXT NOT NULL DEFAULT '',
        still_holds INTEGER NOT NULL DEFAULT 0,
        is_edited INTEGER NOT NULL DEFAULT 0,
        is_asked INTEGER NOT NULL DEFAULT 1,
        approved_at TEXT,
        is_written INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    "CREATE INDEX plan_drafts_by_initiative ON plan_drafts (initiative_id)",
    """CREATE TABLE job_portfolio (
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        refusals INTEGER NOT NULL DEFAULT 0,
        no_learnings TEXT NOT NULL DEFAULT '',
        retrospective TEXT NOT NULL DEFAULT '',
        red_at_base TEXT NOT NULL DEFAULT '',
        is_processed INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    """CREATE TABLE hook_positions (
        name TEXT PRIMARY KEY,
        ledger_id INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE daily_notes (
        day TEXT PRIMARY KEY,
        written_at TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX wishes_of_issues ON wishes (space, number)",
    "ALTER TABLE decisions ADD COLUMN about TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX decisions_about ON decisions (about) WHERE about <> ''",
    # An approved plan ends the job that made it.
    """CREATE TRIGGER plan_accepted_is_an_outcome AFTER INSERT ON ledger WHEN NEW.name = 'plan_accepted' BEGIN
        UPDATE job_outcomes SET ended_at = NEW.at, ended_on = date(NEW.at), ending = NEW.name
        WHERE job_id = NEW.job_id AND ended_at IS NULL;
        END""",
    # What is told of an initiative, a task or a note is found among years of facts.
    """CREATE TABLE ledger_about (
        about TEXT NOT NULL,
        seq INTEGER NOT NULL REFERENCES ledger (seq),
        PRIMARY KEY (about, seq)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX ledger_about_by_number ON ledger_about (seq)",
    "CREATE INDEX jobs_by_issue ON jobs (space, issue_number)",
)

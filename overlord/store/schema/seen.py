"""What each signed-in person was shown of what waits, so that the inbox can mark what is new to them and what has changed since."""

SEEN = (
    # A row goes with what it is about: a decision that waits no longer is nobody's to look at.
    """CREATE TABLE seen_decisions (
        actor TEXT NOT NULL,
        decision_id INTEGER NOT NULL REFERENCES decisions (id),
        digest TEXT NOT NULL,
        at TEXT NOT NULL,
        before TEXT NOT NULL DEFAULT '',
        before_at TEXT,
        PRIMARY KEY (actor, decision_id)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX seen_of_decision ON seen_decisions (decision_id)",
    """CREATE TRIGGER answered_is_unseen AFTER UPDATE OF state ON decisions WHEN NEW.state NOT IN ('open', 'draft') BEGIN
        DELETE FROM seen_decisions WHERE decision_id = NEW.id;
        END""",
)

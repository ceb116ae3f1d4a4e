"""The step after which people sign in with GitHub: a browser's account there, where it may write, and when that was asked.

A session without a token is the home's owner's, or an account's. The owner's are bound to the token they were begun with: those of
before are bound to none and count no more, and the owner signs in once again.
"""

ACCOUNTS = (
    "ALTER TABLE browser_sessions ADD COLUMN account TEXT",
    "ALTER TABLE browser_sessions ADD COLUMN spaces TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE browser_sessions ADD COLUMN asked_at TEXT",
    "ALTER TABLE browser_sessions ADD COLUMN begun_with TEXT NOT NULL DEFAULT ''",
)

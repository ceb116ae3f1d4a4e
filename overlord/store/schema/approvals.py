"""The step after which proposals and drafts of skills are decided as decisions are: each gets its row among them.

The digests are those of the version before, so that the buttons that stand in a chat go on counting.
"""

import json
import sqlite3
from hashlib import sha256

_VERDICT = "EXISTS (SELECT 1 FROM json_each(findings) WHERE json_extract(value, '$.level') = 'reject')"
_COLUMNS = """space, kind, subject, title, body, verbs, blocks, created_at, audience, bound_to, state, verb, answer, answered_by,
    answered_at, applied"""

APPROVALS = (
    """ALTER TABLE decisions ADD COLUMN audience TEXT NOT NULL DEFAULT 'writer'
       CHECK (audience = 'writer' OR state != 'answered' OR answered_by != '')""",
    "ALTER TABLE decisions ADD COLUMN proposal_id INTEGER REFERENCES proposals (id)",
    "ALTER TABLE decisions ADD COLUMN draft_id INTEGER REFERENCES drafts (id)",
    "ALTER TABLE decisions ADD COLUMN bound_to TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX decisions_of_proposal ON decisions (proposal_id) WHERE proposal_id IS NOT NULL",
    "CREATE INDEX decisions_of_draft ON decisions (draft_id) WHERE draft_id IS NOT NULL",
    f"""INSERT INTO decisions (proposal_id, {_COLUMNS})
        SELECT id, space, 'proposal', iif(is_open AND status = 'approved', 'resting_proposal', 'proposal'), title, action,
               iif(status = 'approved', '["approve"]', '["approve","reject"]'), '', created_at, 'approver',
               proposal_digest(id, space, type, title, action, sample, answer, risk),
               iif(is_open, 'open', 'answered'), iif(is_open, NULL, word),
               iif(is_open, '', coalesce(nullif(reason, ''), upper(substr(word, 1, 1)) || substr(word, 2))),
               iif(is_open, '', decided_by), iif(is_open, NULL, decided_at), NOT is_open
        FROM (SELECT *, status = 'pending' OR (status = 'approved' AND note != '') AS is_open,
                     iif(status = 'rejected', 'reject', 'approve') AS word FROM proposals) ORDER BY id""",  # noqa: S608
    f"""INSERT INTO decisions (draft_id, {_COLUMNS})
        SELECT id, space, 'draft', 'skill_draft',
               CASE kind WHEN 'new' THEN 'Add' WHEN 'revise' THEN 'Revise' ELSE 'Retire' END || ' the skill' ||
               iif(name = '', '', ' “' || name || '”'), reason,
               iif(now = 'draft' OR {_VERDICT}, '["reject"]', '["approve","reject"]'), '', requested_at, 'approver',
               draft_digest(id, space, kind, path, text, base_text, findings), now, iif(is_decided, word, NULL),
               iif(is_decided, coalesce(nullif(said, ''), upper(substr(word, 1, 1)) || substr(word, 2)), ''),
               iif(is_decided, decided_by, ''), iif(is_decided, decided_at, NULL), is_decided
        FROM (SELECT *, now = 'answered' AS is_decided FROM
              (SELECT *, CASE WHEN state = 'waiting' THEN 'open' WHEN state IN ('drafting', 'checking', 'failed') THEN 'draft'
                         ELSE 'answered' END AS now, iif(state = 'rejected', 'reject', 'approve') AS word FROM drafts))
        ORDER BY id""",  # noqa: S608
    "ALTER TABLE requests ADD COLUMN understood TEXT",
    """UPDATE buttons SET decision_id = (SELECT decisions.id FROM messages JOIN decisions
           ON (messages.kind = 'proposal' AND proposal_id = ref) OR (messages.kind = 'draft' AND draft_id = ref)
           WHERE messages.id = message_id)
       WHERE verb IN ('approve', 'reject') AND decision_id IS NULL""",
)


def add_functions(connection: sqlite3.Connection) -> None:
    """What these statements call."""
    connection.create_function("proposal_digest", 8, _digest, deterministic=True)
    connection.create_function("draft_digest", 7, _draft_digest, deterministic=True)


def _digest(*shown: object) -> str:
    return sha256(json.dumps(list(shown)).encode()).hexdigest()[:16]


def _draft_digest(*columns: object) -> str:
    *shown, findings = columns
    lines = [
        [item[name] for name in ("rule", "level", "line", "message")] for item in json.loads(str(findings))
    ]
    return _digest(*shown, lines)

"""The look at a job under a contract of roles sees what it is for: each row that is changed by hand is found, and an honest story has none."""

import sqlite3
from contextlib import closing

from tests.faults.campaign import under_fire
from tests.faults.contract_invariants import of_contracts
from tests.faults.contract_stories import LED

FORGED = "DROP TRIGGER ledger_is_never_changed; DROP TRIGGER ledger_is_never_shortened;"
TAMPERED = {
    "UPDATE job_contracts SET text = replace(text, '\"hours\":100', '\"hours\":50')": "with the text of",
    "DELETE FROM job_contracts": "a contract was taken and is in no row",
    f"{FORGED} DELETE FROM ledger WHERE name = 'contract_taken'": "a session was prepared before its contract was taken",
    "UPDATE decisions SET verb = 'reject' WHERE subject = 'gate'": "through gate plan_approval, which nobody opened",
    f"{FORGED} UPDATE ledger SET data = replace(data, '\"by\": ', '\"of\": ')": "through gate look, which nobody opened",
    "UPDATE decisions SET answered_by = 'role:coder' WHERE subject = 'gate'": "was answered by role:coder",
    "DELETE FROM decisions WHERE verb = 'reject'": "reached gates of people 2 times, and asked 1 times",
    "UPDATE decisions SET options = (SELECT options FROM decisions WHERE verb = 'approve'), verb = 'approve'": "is asked again in decision 2",
    f"{FORGED} UPDATE ledger SET data = replace(data, '\"revision\": 0', '\"revision\": 1')": "coder is given session 3 of 2",
    "UPDATE sessions SET scope = '[\"docs/**\"]'": "wrote calc.py, which is outside its scope",
}
"""What somebody changes, and what is said of it."""


async def test_an_honest_story_has_none_and_each_row_changed_by_hand_is_found() -> None:
    async with under_fire(dict(LED.files)) as told:
        await LED.tell(told)
        missed = dict[str, list[str]]()
        with closing(sqlite3.connect(told.place.home / "overlord.db")) as real:
            for change, sentence in {"": "", **TAMPERED}.items():
                with closing(sqlite3.connect(":memory:")) as copy:
                    real.backup(copy)
                    copy.row_factory = sqlite3.Row
                    copy.executescript(change)
                    found = list(of_contracts(copy, told.world.forge))
                if not change:
                    assert found == []
                elif not any(sentence in violation for violation in found):
                    missed[change] = found
        assert missed == {}

"""The look at a job of `init` sees what it is for: each row that is changed by hand is found, each other branch, and an honest story has none."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from overlord.home import Home
from overlord.store.evidence import EvidenceStore
from tests.faults.campaign import Campaign, under_fire
from tests.faults.init_invariants import PATH, of_init
from tests.faults.init_stories import INITIALIZED, WORDS
from tests.local import USER
from tests.world import REPO

FORGED = "DROP TRIGGER ledger_is_never_changed; DROP TRIGGER ledger_is_never_shortened;"
TAMPERED = {
    f"UPDATE discoveries SET text = replace(text, '{WORDS}', 'Nobody.')": "has the answer 'Nobody.', which nobody gave",
    'UPDATE discoveries SET text = replace(text, \'"by": "cli:\', \'"by": "x:\')': "is lost",
    "DELETE FROM decisions WHERE verb = 'accept'": "who was not asked",
    "UPDATE decisions SET options = (SELECT options FROM decisions WHERE id = 1) WHERE verb = 'accept'": "was answered and is asked again",
    "UPDATE decisions SET verb = 'reject' WHERE subject = 'gate'": "a contract was pushed that nobody confirmed",
    "UPDATE decisions SET verb = 'reject' WHERE id = 6": "is not the text that a person confirmed",
    "UPDATE decisions SET options = (SELECT options FROM decisions WHERE id = 5) WHERE id = 6": "is not the text that a person confirmed",
    "UPDATE decisions SET id = 9 WHERE id = 5": "is not the one that was confirmed last",
    "UPDATE decisions SET verb = 'reject' WHERE id = 5": "for decision 5, which confirms none",
    f"{FORGED} UPDATE ledger SET data = replace(data, '\"decision\": 6', '\"decision\": 5')": "committed 2 times for decision 5",
    f"{FORGED} DELETE FROM ledger WHERE name = 'contract_committed'": "2 commits change the contract, and 0 were made",
}
"""What somebody changes, and what is said of it."""


async def test_an_honest_story_has_none_and_each_row_changed_by_hand_is_found() -> None:
    async with under_fire(dict(INITIALIZED.files)) as told:
        await INITIALIZED.tell(told)
        missed = dict[str, list[str]]()
        with closing(sqlite3.connect(told.place.home / "overlord.db")) as real:
            for change, sentence in {"": "", **TAMPERED}.items():
                found = _found(told, real, change)
                if not change:
                    assert found == []
                elif not any(sentence in violation for violation in found):
                    missed[change] = found
            for files, sentence in (
                ({PATH: "name: [1\n"}, "does not hold"),
                ({"plan/rules.md": "x"}, "plan/rules.md of its plan was pushed"),
            ):
                other = _commit(told.world.forge.directory(REPO), real, files)
                found = _found(told, real, f"UPDATE jobs SET pushed_sha = '{other}' WHERE id = 1")
                if not any(sentence in violation for violation in found):
                    missed[sentence] = found
        assert missed == {}


def _found(told: Campaign, real: sqlite3.Connection, change: str) -> list[str]:
    """What is said of a copy of the database, once it is changed."""
    with closing(sqlite3.connect(":memory:")) as copy:
        real.backup(copy)
        copy.row_factory = sqlite3.Row
        copy.executescript(change)
        return list(of_init(copy, told.world.forge, EvidenceStore(Home(told.place.home).evidence)))


def _commit(repository: Path, real: sqlite3.Connection, files: dict[str, str]) -> str:
    """A commit on top of what was pushed, with these files."""
    [(head,)] = real.execute("SELECT pushed_sha FROM jobs WHERE id = 1").fetchall()
    index = {"GIT_INDEX_FILE": str(repository / "other-index"), **USER}

    def git(*words: str, said: str = "") -> str:
        command = ["git", "-C", str(repository), *words]
        done = subprocess.run(command, input=said, check=True, capture_output=True, text=True, env=index)
        return done.stdout.strip()

    git("read-tree", head)
    for path, text in files.items():
        blob = git("hash-object", "-w", "--stdin", said=text)
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    return git("commit-tree", git("write-tree"), "-p", head, "-m", "Other")

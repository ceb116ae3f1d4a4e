"""What it takes to find words among 10,000 notes, to recall what a session is told, and to look for the answer of a question.

python -m bench.knowledge

The words are those of the standard library's source, so that some are everywhere and most are rare.
"""

import random
import re
import sqlite3
import sysconfig
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

from bench.table import Figure, publish
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.knowledge.rule import Rule
from overlord.engine.knowledge.recall import recall
from overlord.store.knowledge import notes, rules
from overlord.store.knowledge.answering import answer_known
from overlord.store.schema.migrations import migrate

NOTES, RULES, TIMES = 10_000, 200, 20
SPACES = tuple(f"acme/service-{number}" for number in range(50))
GOAL_MS = 5.0
ASKED = (
    "connection",
    "self return",
    "import path",
    "cache token",
    "nowhere123",
    "which error is raised on timeout",
)
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        path = Path(directory) / "overlord.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            migrate(connection)
            issue = _fill(connection)
            space = SPACES[0]
            found = _times(lambda words: notes.search(connection, words, space=space))
            told = _times(lambda words: recall(connection, space, (words, issue)))
            asked = _times(lambda words: answer_known(connection, space, f"{words}?", job_id=0, at=AT))
    publish([
        Figure(part="knowledge", name="a search, 95 %", unit="ms", measured=quantiles(found, n=20)[-1], goal=GOAL_MS),
        Figure(part="knowledge", name="a search, half of them", unit="ms", measured=median(found)),
        Figure(part="knowledge", name="what a session is told", unit="ms", measured=median(told)),
        Figure(part="knowledge", name="whether a question was answered", unit="ms", measured=median(asked)),
    ])  # fmt: skip


def _times(act: Callable[[str], object]) -> list[float]:
    """What each took of the processor, in milliseconds: who else works on the machine does not count."""
    spent = list[float]()
    for words in ASKED:
        act(words)
        for _ in range(TIMES):
            began = time.process_time()
            act(words)
            spent.append((time.process_time() - began) * 1000)
    return spent


def _fill(connection: sqlite3.Connection) -> str:
    """Notes and rules of made-up sentences; one such text of an issue's length."""
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:60]
    words = re.findall(r"[a-z]{3,12}", " ".join(source.read_text("utf-8", "ignore") for source in sources))
    chance = random.Random(7)

    def sentence(count: int) -> str:
        at = chance.randrange(len(words) - count)
        return " ".join(words[at : at + count])

    connection.execute("BEGIN")
    for number in range(NOTES):
        notes.add(connection, _note(number, sentence(24), sentence(6) if number % 3 == 0 else ""))
    for number in range(RULES):
        rule = Rule(
            id=0,
            space=SPACES[number % len(SPACES)] if number % 2 else "",
            question=sentence(6),
            words=tuple(dict.fromkeys(sentence(4).split())),
            answer=sentence(8),
            actor="cli:alice",
            created_at=AT,
        )
        rules.add(connection, rule)
    connection.execute("COMMIT")
    return sentence(300)


def _note(number: int, text: str, question: str) -> Note:
    return Note(
        id=0,
        space=SPACES[number % len(SPACES)] if number % 10 else "",
        kind=list(NoteKind)[number % len(NoteKind)],
        text=text,
        question=question,
        state=NoteState.ACTIVE,
        source=NoteSource(),
        actor="cli:alice",
        created_at=AT,
        updated_at=AT,
    )


if __name__ == "__main__":
    main()

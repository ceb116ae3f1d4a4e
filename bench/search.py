"""What it takes to find words among 10,000 jobs with a transcript of 20 kB each, and what that costs when it is written and on the disk.

python -m bench.search

The words are those of the standard library's source, so that some are everywhere and most are rare.
"""

import json
import random
import sqlite3
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

from bench.filled import SPACES, settings_of
from bench.table import Figure, publish
from minion.protocol import Finding, Issue
from overlord.adapters.clock import SystemClock
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.job import JobState
from overlord.domain.text.search_words import match_expression
from overlord.domain.transcript_text import spoken
from overlord.settings.load import Settings, contract_for
from overlord.store import jobs, search
from overlord.store.checks import evaluations
from overlord.store.rows import update
from overlord.store.schema.migrations import migrate

JOBS, TIMES = 10_000, 12
TURNS, OUTPUT_CHARS = 12, 1_000
GOAL_MS = 50.0
ASKED = (
    *(
        "self",
        "the",
        "con",
        "ret",
        "connection failed",
        '"return self"',
        "import -self",
        "E501",
        "nowhere123",
    ),
    *("the -the", "self return def class import", "a b c d e f g h i j k l", '"the self"'),
)
"""Words that are everywhere, that are rare, that begin many others; phrases; what walks far and finds nothing."""


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        path = Path(directory) / "overlord.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode=WAL")
            migrate(connection)
            said, added = _fill(connection, settings_of(Path(directory)))
            found = [spent * 1000 for words in ASKED for spent in _searches(connection, words)]
            sizes = {
                table: connection.execute(f"SELECT sum(length({column})) FROM {table}").fetchone()[0]
                for table, column in (("search_texts", "CAST(text AS BLOB)"), ("search_index_data", "block"))
            }
    publish([
        Figure(part="search", name="a search, 95 %", unit="ms", measured=quantiles(found, n=20)[-1], goal=GOAL_MS),
        Figure(part="search", name="a search, half of them", unit="ms", measured=median(found)),
        Figure(part="search", name="a transcript is taken up", unit="ms", measured=median(added) * 1000),
        Figure(part="search", name="texts", unit="MB", measured=sizes["search_texts"] / 1e6, yardstick="transcripts", beside=said / 1e6),
        Figure(part="search", name="index", unit="MB", measured=sizes["search_index_data"] / 1e6, yardstick="transcripts", beside=said / 1e6),
    ])  # fmt: skip


def _fill(connection: sqlite3.Connection, settings: Settings) -> tuple[int, list[float]]:
    """How many bytes the transcripts have, and how long it took to take each of them up."""
    words, size, added = _Words(), 0, list[float]()
    for number in range(1, JOBS + 1):
        connection.execute("BEGIN")
        job_id = _job(connection, settings, number, words)
        content = b"".join(words.transcript())
        size += len(content)
        texts = spoken(content)
        began = time.perf_counter()
        search.add_spoken(connection, job_id, f"j{job_id}-work-1", texts)
        added.append(time.perf_counter() - began)
        connection.execute("COMMIT")
    return size, added


def _job(connection: sqlite3.Connection, settings: Settings, number: int, words: "_Words") -> int:
    space, at = settings.repositories[number % SPACES], SystemClock().now()
    issue = Issue(
        number=number, title=" ".join(words.some(60).split()), body=words.some(1500), author="alice"
    )
    contract = contract_for(settings, space)
    job = jobs.claim(connection, space=space, issue=issue, base_branch="main", contract=contract, at=at)
    assert job is not None
    update(connection, "jobs", job.id, {"head_sha": "c" * 40, "state": JobState.FAILED, "is_open": False})
    row = evaluations.current(connection, jobs.get(connection, job.id), at=at)
    for name in (CheckName.TESTS, CheckName.LINT):
        found = Finding(check=name, rule="E501", file="src/a.py", line=number, message=words.some(120))
        check = CheckResult(name=name, score=CheckScore.FAIL, summary=words.some(60), findings=(found,) * 3)
        evaluations.add_check(connection, row, check, at=at)
    return job.id


def _searches(connection: sqlite3.Connection, words: str) -> Iterator[float]:
    """In seconds: among all, and among those of a repository that has none, which walks as far as a search may."""
    for spaces in ((), ("bench/none",)):
        for _ in range(TIMES):
            began = time.perf_counter()
            search.find(connection, match_expression(words), spaces=spaces, state=None, before=0, limit=50)
            yield time.perf_counter() - began


class _Words:
    """Pieces of the standard library's source, the same in every run of one Python."""

    def __init__(self) -> None:
        files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        self._text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        self._random = random.Random(7)

    def some(self, chars: int) -> str:
        begin = self._random.randrange(len(self._text) - chars)
        return self._text[begin : begin + chars]

    def transcript(self) -> Iterator[bytes]:
        """A line for each turn: a few words, a command and its output."""
        messages = [
            {"role": "system", "content": self.some(3000)},
            {"role": "user", "content": self.some(2000)},
        ]
        for turn in range(TURNS):
            function = {"name": "run_command", "arguments": json.dumps({"command": self.some(80)})}
            reply = {"content": self.some(120), "tool_calls": [{"id": f"c{turn}", "function": function}]}
            yield json.dumps({"model": "m", "messages": messages, "reply": reply}).encode() + b"\n"
            messages = [{"role": "tool", "tool_call_id": f"c{turn}", "content": self.some(OUTPUT_CHARS)}]


if __name__ == "__main__":
    main()

"""What the guarded pytest tells while it runs, and whether that is believed. Runs in the Minion, out of its reach.

The process that tells it also runs the code under test, which may say anything. So it is asked back, for tests nobody can
foresee: what became of that test with a body that must fail, for a reason given only now (`guarded_controls.py`)?
A run is believed when no such control passed, it was told to its end, and that is how the process ended.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minion.checks.junit import HEAD, TAIL, Outcome, element
from minion.checks.packed import Packer, TooLarge

MOST_BYTES = 512 * 1024 * 1024
"""Of all that a run tells: 100,000 tests take some 40 MB."""
MOST_LINE_BYTES = 4 * 1024 * 1024
MOST_CONTROLS = 200
CONTROLS_S = 0.5
FEWEST_CONTROLS = 3
"""These many are made even when each is slow."""
_MOST_TESTS = 1_000_000
_TEXTS = ("id", "when", "outcome", "control", "reason", "file", "message", "text", "touches")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run told, or why that is not believed: then there is no report."""

    junit: str | None = None
    """The report, packed where it is large."""
    failed: tuple[str, ...] = ()
    """Names of tests, as pytest takes them."""
    doubt: str = ""
    too_large: str = ""
    """How large the report is, where that is more than is taken."""


class GuardedRun:
    """One run, line by line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._random = random.SystemRandom()
        self._chosen: dict[int, int] = {}
        self._asked = 0
        self._bytes = 0
        self._reasons: dict[str, str] = {}
        self._passed: Counter[str] = Counter()
        self._began_at = 0.0
        self._spent_s = 0.0
        self._report = Packer()
        self._report.take(HEAD.encode())
        self._failed: dict[str, None] = {}
        self._is_controlled = False
        self._exit_code: int | None = None
        self._doubt = ""

    def take(self, line: bytes) -> bytes:
        """Handle one line; what to answer, or nothing. What is no line of the runner's ends the belief in the run."""
        self._bytes += len(line)
        if self._doubt or self._bytes > MOST_BYTES:
            self._doubt = self._doubt or "it told too much"
            return b"\n"
        try:
            return self._take(json.loads(line))
        except TooLarge:
            self._doubt = "it told too much"
            return b"\n"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._doubt = "what it told is not what the runner tells"
            return b"\n"

    def outcome(self, exit_code: int, limit_bytes: int) -> RunOutcome:
        """What was told by the time the process ended, with this exit code."""
        if self._doubt:
            return RunOutcome(doubt=self._doubt)
        if self._exit_code != exit_code:
            return RunOutcome(doubt="it did not end the way the runner ends")
        self._report.take(TAIL.encode())
        junit = self._report.text()
        if len(junit) > limit_bytes:
            return RunOutcome(too_large=f"{self._report.size:,} bytes, {len(junit):,} of them packed")
        return RunOutcome(junit=junit, failed=tuple(self._failed))

    def _take(self, line: Mapping[str, Any]) -> bytes:
        if self._exit_code is not None:
            raise ValueError("a line after the last")
        if "exit_code" in line:
            self._exit_code = int(line["exit_code"])
        elif "tests" in line:
            self._choose(int(line["tests"]))
        elif "passed" in line:
            return self._ask_back(str(line["passed"]), is_able=line["able"] is True).encode() + b"\n"
        else:
            self._note({name: line.get(name, "") for name in _TEXTS})
        return b""

    def _choose(self, tests: int) -> None:
        tests = max(0, min(tests, _MOST_TESTS))
        chosen = self._random.sample(range(tests), min(tests, MOST_CONTROLS))
        self._chosen = {number: rank for rank, number in enumerate(chosen)}

    def _ask_back(self, test: str, *, is_able: bool) -> str:
        """A reason for this test to fail, once, or nothing. Until one did, each is asked about."""
        self._passed[test] += 1
        if not is_able:
            return ""
        rank = self._chosen.pop(self._asked, None)
        self._asked += 1
        is_late = self._spent_s > CONTROLS_S and (rank is None or rank >= FEWEST_CONTROLS)
        if is_late or (rank is None and self._is_controlled):
            return ""
        self._reasons[test] = f"{self._random.getrandbits(64):016x}"
        self._began_at = self._clock()
        return self._reasons[test]

    def _note(self, outcome: Outcome) -> None:
        if not all(isinstance(value, str) for value in outcome.values()) or not (
            outcome["id"] and outcome["outcome"]
        ):
            raise ValueError("not an outcome")
        self._doubt = self._doubts(outcome)
        is_controlled = False
        if outcome["when"] == "call" and (reason := self._reasons.pop(outcome["id"], "")):
            self._spent_s += self._clock() - self._began_at
            is_controlled = outcome["control"] == "failed" and reason in outcome["reason"]
            self._is_controlled = self._is_controlled or is_controlled
        if outcome["outcome"] == "failed" and outcome["when"] != "collect":
            self._failed[outcome["id"]] = None
        self._report.take(element(outcome, controlled=is_controlled).encode())

    def _doubts(self, outcome: Outcome) -> str:
        """Why a test that is said to pass is not believed to, if there is a reason."""
        name, control = outcome["id"], outcome["control"]
        if control == "passed":
            return f"{name[:200]} passes even with a body that must fail"
        if control == "replaced":
            return f"{name[:200]} is not the code it was when it was collected"
        if outcome["when"] == "call" and outcome["outcome"] == "passed":
            self._passed[name] -= 1
            if self._passed[name] < 0:
                return f"{name[:200]} was logged as passed, and no such report was made"
        return ""

"""Writes down which tests are slow, from the durations of a run of everything:

    make test FAULT_SHARE=1/1 SLOW_SHARE=1/1 OPTIONS=--junit-xml=report.xml
    python -m tests.slow report.xml

A test is slow when it took five seconds or more there.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Tree

from tests.shares import SLOW, SLOW_S

ROOT = Path(__file__).parents[1]


def slow_in(report: Path) -> list[str]:
    """The node ids of the slow tests of a JUnit report, in order."""
    cases = Tree.parse(report).iter("testcase")
    return sorted(_node_id(case) for case in cases if float(case.get("time", "0")) >= SLOW_S)


def _node_id(case: Tree.Element) -> str:
    """JUnit's `tests.cli.test_run.TestClass` and name as pytest's node id."""
    parts = case.get("classname", "").split(".")
    module = max(n for n in range(1, len(parts) + 1) if Path(ROOT, *parts[:n]).with_suffix(".py").is_file())
    return "::".join(["/".join(parts[:module]) + ".py", *parts[module:], case.get("name", "")])


def main(arguments: Sequence[str]) -> int:
    SLOW.write_text("".join(f"{name}\n" for name in slow_in(Path(arguments[0]))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

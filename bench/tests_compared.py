"""What it takes to compare a thousand changed test functions by meaning, beside what Python's own parser takes to read them once.

python -m bench.tests_compared
"""

import ast
import time
from statistics import median

from bench.table import Figure, publish
from overlord.domain.checks.testcode.compare import Compared, Source

FUNCTIONS, FILES, TIMES = 1000, 10, 5
GOAL_S = 0.5
ONE = '''def test_case_{number}(value):
    """Case {number}."""
    result = total([1, 2, {number}])
    assert result == {number} + 3
    assert isinstance(result, int)
    with pytest.raises(ValueError, match="number"):
        total("x{number}")
'''


def sources() -> list[Source]:
    """Files whose every function asserts a little less than before."""
    found = []
    for file in range(FILES):
        numbers = range(file * FUNCTIONS // FILES, (file + 1) * FUNCTIONS // FILES)
        before = "import pytest\nfrom calc import total\n\n\n" + "\n\n".join(
            ONE.format(number=number) for number in numbers
        )
        after = before.replace("assert result ==", "assert result >=")
        found.append(Source(path=f"tests/test_{file}.py", before=before.encode(), after=after.encode()))
    return found


def main() -> None:
    """Print the table."""
    changed, compared, parsed = sources(), [], []
    for _ in range(TIMES):
        began = time.perf_counter()
        assert sum(1 for _ in Compared(changed).weaknesses()) == FUNCTIONS
        compared.append(time.perf_counter() - began)
        began = time.perf_counter()
        for source in changed:
            ast.parse(source.before or b"")
            ast.parse(source.after or b"")
        parsed.append(time.perf_counter() - began)
    publish([
        Figure(
            part="evaluation",
            name="1,000 changed tests compared",
            unit="s",
            measured=median(compared),
            goal=GOAL_S,
            yardstick="Python's parser reads them",
            beside=median(parsed),
        )
    ])  # fmt: skip


if __name__ == "__main__":
    main()

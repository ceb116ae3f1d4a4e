"""Print the table. `python -m tests.judge_set boltons` takes one project."""

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.judge_set.judge import judged
from tests.judge_set.projects import PROJECTS


def main(names: list[str]) -> int:
    asked = [project for project in PROJECTS if not names or project.sdist.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [one for each in pool.map(lambda project: list(judged(project)), asked) for one in each]
    print(f"{'fix':42} " + " ".join(f"{name:>11}" for name in dict.fromkeys(one.project for one in found)))
    for name in dict.fromkeys(one.fix.name for one in found):
        row = {one.project: one for one in found if one.fix.name == name}
        told = [
            row[project].word if project in row else ""
            for project in dict.fromkeys(one.project for one in found)
        ]
        print(f"{name:42} " + " ".join(f"{word:>11}" for word in told))
    wrong = [one for one in found if one.is_delivered is not one.fix.is_right]
    counts = Counter((one.fix.is_right, one.is_delivered) for one in found)
    print(
        f"\n{len(found)} fixes: {counts[True, True]} of {counts[True, True] + counts[True, False]} right ones delivered, "
        f"{counts[False, True]} of {counts[False, True] + counts[False, False]} others."
    )
    for one in wrong:
        print(f"WRONG {one.project}: {one.fix.name}: {one.told}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

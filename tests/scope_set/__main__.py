"""`python -m tests.scope_set`: precision and recall of inferred scope. With `--seen`, what became of each issue not held out."""

import sys

from tests.scope_set.measure import outcomes, table


def main() -> None:
    told = outcomes()
    print(table(told))
    for one in told if "--seen" in sys.argv else ():
        if not one.case.held_out:
            print(
                f"\n{one.case.name} {one.case.issue.title!r} {one.mode} recall {one.recall:.2f} precision {one.precision:.2f}"
            )
            print(
                "   missing:",
                *sorted(path for path in one.case.files if not one.inference.scope.allows(path)),
            )
            for reason in one.inference.reasons:
                print(f"   {reason.pattern}: {reason.why}")


main()

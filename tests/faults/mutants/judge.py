"""Defences against changes that only look right: to red tests, to what tests assert and expect, and without proof."""

from tests.faults.mutants.mutant import Mutant

RED = ("tests/domain/test_red.py",)
PROOF = ("tests/domain/test_proof.py",)
CODE = ("tests/domain/test_testcode.py",)

JUDGE = (
    Mutant(
        name="fixed is what passes in the version of base",
        file="overlord/domain/red.py",
        before="is_green, now = against.passes(case.id),",
        after="is_green, now = runs.head.passes(case.id),",
        tests=RED,
        says="st-rewritten",
    ),
    Mutant(
        name="a red test that is not run any more is named",
        file="overlord/domain/red.py",
        before='findings.append(finding_of(GONE, case, f"{_FAILED} and is not run any more."))',
        after="pass",
        tests=RED,
        says="ed-test-gone",
    ),
    Mutant(
        name="a red test that runs what was changed belongs to the task",
        file="overlord/domain/red.py",
        before="    if case.touches:",
        after="    if case.touches is case:",
        tests=RED,
        says="red-test-left",
    ),
    Mutant(
        name="a red test of the task that nobody explains is sent back",
        file="overlord/domain/red.py",
        before="elif bare_name(case) in context.said:",
        after='elif context.said != "x":',
        tests=RED,
        says="StopIteration|red-test-left",
    ),
    Mutant(
        name="what only a changed test lets pass is a claim",
        file="overlord/domain/comparison.py",
        before="claims[case.id] = _note(CHANGED_TEST, case, told)",
        after="continue",
        tests=RED,
        says="changed-test",
    ),
    Mutant(
        name="without a review a person answers claims",
        file="overlord/domain/testing.py",
        before="if claims and (not context.is_reviewed or len(claims) > MOST_NAMED):",
        after="if claims and context.exempt:",
        tests=RED,
        says="changed_tests",
    ),
    Mutant(
        name="a quote must stand in the issue",
        file="overlord/domain/claim.py",
        before="return len(words) >= SHORTEST_QUOTE and words in _plain(issue)",
        after="return bool(issue)",
        tests=("tests/domain/test_claim.py",),
        says="ReviewProblem",
    ),
    Mutant(
        name="a new test proves something only if it asserts something",
        file="overlord/domain/proof.py",
        before="return asserts is True or (asserts is None and not is_absent)",
        after="return not is_absent or asserts is not None",
        tests=PROOF,
        says="unproven",
    ),
    Mutant(
        name="a change without proof is asked for a test",
        file="overlord/domain/testing.py",
        before="    if not context.was_asked:\n        return replace(marked",
        after="    if context.was_asked:\n        return replace(marked",
        tests=PROOF,
        says="NEEDS_REVISION",
    ),
    Mutant(
        name="another function that is called is no renaming",
        file="overlord/domain/behaviour.py",
        before="if old != new and (old not in defined or not new.isidentifier()):",
        after="if old != new and not new.isidentifier():",
        tests=("tests/domain/test_behaviour.py",),
        says="names are changed",
    ),
    Mutant(
        name="an assertion whose failure is caught counts for nothing",
        file="overlord/domain/testcode_python.py",
        before="inside = held | {Held.SWALLOWED} if any(",
        after="inside = held if any(",
        tests=CODE,
        says="assertion-swallowed",
    ),
    Mutant(
        name="a weaker comparison is weaker",
        file="overlord/domain/testcode_compare.py",
        before="elif new.strength < old.strength:",
        after="elif new.strength < Strength.NOTHING:",
        tests=CODE,
        says="assertion-weakened",
    ),
    Mutant(
        name="fewer cases are fewer",
        file="overlord/domain/testcode_compare.py",
        before="if lost.total() > fresh.total() + gained:",
        after="if lost.total() > 999 + gained:",
        tests=CODE,
        says="rows-removed",
    ),
    Mutant(
        name="what is put in a tested thing's place is named",
        file="overlord/domain/testcode_compare.py",
        before="if name not in before.stand_ins and name in used:",
        after="if name not in before.stand_ins and name in ():",
        tests=CODE,
        says="stand-in",
    ),
)

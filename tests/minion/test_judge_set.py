"""A share of the judge's set: what is right is delivered and what is not is not. `python -m tests.judge_set` tries all of it."""

from tests.judge_set.fixes import fixes
from tests.judge_set.judge import Judged, judge
from tests.judge_set.projects import DEEPMERGE, PROJECTS


def test_a_real_projects_fixes_are_told_apart() -> None:
    base, baseline, told = DEEPMERGE.base(), None, dict[str, str]()
    for fix in fixes(DEEPMERGE):
        if fix.name in {"right", "half of it", "swallowed", "conftest"}:
            checks, baseline = judge(base, fix, baseline)
            told[fix.name] = Judged(DEEPMERGE.sdist.name, fix, checks).word
    assert told == {
        "right": "delivered",
        "half of it": "red left",
        "swallowed": "red rewritt",
        "conftest": "red gone",
    }


def test_the_set_is_what_it_says() -> None:
    assert len(PROJECTS) == 6
    for project in PROJECTS:
        made = list(fixes(project))
        assert sum(fix.is_right for fix in made) == 2
        assert len(made) >= 17
        assert len({str(fix.change) for fix in made}) == len(made)

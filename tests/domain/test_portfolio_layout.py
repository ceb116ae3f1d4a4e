"""Where the portfolio's files lie: no name leaves its directory, and what is no file of the portfolio is none."""

from datetime import date

import pytest

from overlord.domain.portfolio.files import layout
from overlord.domain.portfolio.initiative import slug_of

PROSE = [
    *layout.BRIEF_FILES,
    layout.overview("Acme/Calc.js"),
    layout.plan("acme/.github", slug_of("Numbers: more of them!")),
    layout.plan("acme/calc", "a") + ".new",
    layout.daily(date(2026, 3, 2)),
    "knowledge/decisions.md",
    "spaces/acme/calc/knowledge/patterns.md",
]
EXPORTED = [
    layout.RULES,
    layout.space_export("acme/calc"),
    layout.initiative_export("acme/calc", "sums"),
    layout.task_export("acme/calc", "sums", 4),
    layout.high_watermark("acme/calc", "sums"),
    layout.escalation_export("draft", 5),
]


def test_a_path_is_of_one_kind() -> None:
    assert [path for path in PROSE if not layout.is_prose(path) or layout.is_exported(path)] == []
    assert [path for path in EXPORTED if not layout.is_exported(path) or layout.is_prose(path)] == []
    assert PROSE[3] == "spaces/acme/calc.js/OVERVIEW.md"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "spaces/../calc/OVERVIEW.md",
            "spaces/acme/../OVERVIEW.md",
            "spaces/acme/./OVERVIEW.md",
            "/IDENTITY.md",
        ),
        *("spaces/acme/calc/plans/../plan.md", "spaces/acme/calc/plans/.x/plan.md", "daily/../overlord.db"),
        *("IDENTITY.md\n", "identityXmd", "escalations/other/e1.json", "spaces/acme/calc/overlord.yaml"),
        *("spaces/acme/calc/knowledge/other.md", "spaces/a/b/plans/x/tasks/../../space.json", "overlord.db"),
    ],
)
def test_anything_else_is_none(path: str) -> None:
    assert not layout.is_prose(path)
    assert not layout.is_exported(path)


@pytest.mark.parametrize(
    ("space", "slug"), [("..", "x"), ("acme/..", "x"), ("acme/calc", "../x"), ("acme/calc", "")]
)
def test_a_name_that_would_leave_is_refused(space: str, slug: str) -> None:
    with pytest.raises(ValueError, match="can be no"):
        layout.plan(space, slug)

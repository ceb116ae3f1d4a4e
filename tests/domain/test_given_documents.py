"""Where documents that were given are laid for a session: a plain name each, whatever they are called."""

import pytest

from minion.workspace.contract_files import is_plan
from overlord.domain.bootstrap.documents import GIVEN, MOST_NAME, given_paths


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("prd.md", "prd.md"),
        ("../../x", "x"),
        ("/home/ann/My Plan.md", "My-Plan.md"),
        ("plan/contract.yaml", "contract.yaml"),
        (r"C:\docs\plan.docx", "plan.docx"),
        ("..", "document"),
        ("", "document"),
        (".", "document"),
        (".hidden", "hidden"),
        ("docs/", "docs"),
        ("a\0b\x1b[31m\n.md", "a-b-31m.md"),
        ("Übersicht.md", "Übersicht.md"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b.md", "a-b.md"),
        ("x" * 300 + ".md", "x" * MOST_NAME + ".md"),
        ("-rf.md", "rf.md"),
    ],
)
def test_a_name_is_one_plain_name_below_the_plan(name: str, path: str) -> None:
    assert given_paths([name]) == (f"{GIVEN}{path}",)


def test_no_document_takes_the_place_of_another() -> None:
    names = ["a/plan.md", "b/plan.md", "plan-2.md", "PLAN.md", "c/plan.md"]
    found = given_paths(names)
    assert len({path.casefold() for path in found}) == len(names)
    assert found[:2] == (f"{GIVEN}plan.md", f"{GIVEN}plan-2.md")
    assert all(map(is_plan, found))

"""What the README tells of the fault campaign is what the campaign says of itself, and all of it."""

from tests.faults.__main__ import AREAS, ROOT, written


def test_the_readme_has_the_campaigns_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert written(readme) == readme, "python -m tests.faults --write"


def test_every_module_of_the_campaign_is_in_a_row() -> None:
    told = {module for area in AREAS for module in area.modules}
    assert told == {path.stem for path in (ROOT / "tests" / "faults").glob("test_*.py")}

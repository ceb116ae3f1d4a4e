"""The pages say what is: the diagram is generated, named files exist, the README's names are the settings' names."""

import re

from overlord.settings.env import ENVIRONMENT
from tests.architecture.diagram import PAGE, drawn
from tests.architecture.test_imports import ROOT
from tests.faults.__main__ import AREAS, written

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_state_diagram_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "stateDiagram-v2" in page
    assert drawn(page) == page, "run `python -m tests.architecture.diagram`"


def test_every_file_that_the_architecture_names_exists() -> None:
    named = set(
        re.findall(
            r"`((?:engine|domain|store|door|adapters|config|tests|minion)/[\w./*]+)`", PAGE.read_text("utf-8")
        )
    )
    roots = [ROOT, ROOT / "overlord"]
    assert [name for name in named if not any(list(root.glob(name.rstrip("/"))) for root in roots)] == []


def test_the_readme_explains_every_environment_variable() -> None:
    assert [name for name in ENVIRONMENT if f"`{name}`" not in README] == []


def test_the_two_commands_are_in_the_readme() -> None:
    assert "make demo" in README and "make test" in README


def test_the_table_of_the_fault_campaign_is_up_to_date() -> None:
    assert written(README) == README, "run `python -m tests.faults --write`"


def test_every_module_of_the_fault_campaign_is_in_its_table() -> None:
    there = {path.stem for path in (ROOT / "tests" / "faults").glob("test_*.py")}
    told = {module for area in AREAS for module in area.modules}
    assert told ^ there == set()

"""The pages say what is: the diagram is generated, named files and links exist, names of variables are those of the settings."""

import re
from pathlib import Path

import pytest

from overlord.settings.env import ENVIRONMENT
from tests.architecture.diagram import PAGE, drawn
from tests.architecture.test_imports import ROOT
from tests.faults.__main__ import AREAS, written

README = (ROOT / "README.md").read_text(encoding="utf-8")
RELIABILITY = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md"))
    if path.name != "CHANGELOG.md"
)
LINK = re.compile(r"(?<!`)\[(?:[^\[\]]|`[^`]*`)*\]\(([^)\s]+)\)")
KILOBYTES = {"README.md": 10, "ARCHITECTURE.md": 15}
"""How long a page may be that everybody reads."""


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


def test_the_pages_explain_every_environment_variable() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md"))
    assert [name for name in ENVIRONMENT if f"`{name}`" not in pages] == []


def text_of(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    bare = (re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)) for title in titles)
    return {title.strip().lower().replace(" ", "-") for title in bare}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for target in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize(("name", "most"), KILOBYTES.items())
def test_what_everybody_reads_is_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_bytes()) <= most * 1024


def test_every_page_is_reached_from_the_first() -> None:
    named = {(ROOT / target.partition("#")[0]).resolve() for target in LINK.findall(README)}
    assert [path.name for path in ROOT.glob("docs/*.md") if path not in named] == []


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.glob("2*.md") if f"({path.name})" not in listed] == []


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(words) > 40 and words == sorted(words, key=str.casefold)


def test_the_two_commands_are_in_the_readme() -> None:
    assert "make demo" in README and "make test" in README


def test_the_table_of_the_fault_campaign_is_up_to_date() -> None:
    assert written(RELIABILITY) == RELIABILITY, "run `python -m tests.faults --write`"


def test_every_module_of_the_fault_campaign_is_in_its_table() -> None:
    there = {path.stem for path in (ROOT / "tests" / "faults").glob("test_*.py")}
    told = {module for area in AREAS for module in area.modules}
    assert told ^ there == set()

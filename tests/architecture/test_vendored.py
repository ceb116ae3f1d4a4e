"""What others wrote is what they published: each vendored file has the recorded digest, and its licence beside it."""

import hashlib
import re
from pathlib import Path

import pytest

from tests.architecture.test_imports import ROOT

STATIC = ROOT / "overlord" / "entrypoints" / "web" / "static"
FOLDERS = [STATIC, ROOT / "tests" / "web"]
ROW = re.compile(
    r"^\| `(?P<file>[\w.-]+)` \|.*`(?P<licence>[\w.-]+)` \| `(?P<digest>[0-9a-f]{64})` \|$", re.MULTILINE
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_a_vendored_file_is_the_one_that_was_published(folder: Path) -> None:
    rows = list(ROW.finditer((folder / "VENDORED.md").read_text(encoding="utf-8")))
    assert {row["file"] for row in rows} == {path.name for path in folder.glob("*.min.*")}
    for row in rows:
        assert hashlib.sha256((folder / row["file"]).read_bytes()).hexdigest() == row["digest"], row["file"]
        assert (folder / row["licence"]).is_file()


def test_pages_carry_no_script_or_style_of_their_own() -> None:
    inline = re.compile(
        r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:|\shx-on|https?://", re.IGNORECASE
    )
    templates = sorted((STATIC.parent / "templates").rglob("*.html"))
    assert templates
    assert [path.name for path in templates if inline.search(path.read_text(encoding="utf-8"))] == []


def test_what_pages_load_stays_small() -> None:
    lines = {
        name: len((STATIC / name).read_text(encoding="utf-8").splitlines())
        for name in ("style.css", "portfolio.css", "page.js")
    }
    assert lines["style.css"] <= 500
    assert lines["portfolio.css"] <= 100
    assert lines["page.js"] <= 200
    assert "url(" not in (STATIC / "style.css").read_text(encoding="utf-8")

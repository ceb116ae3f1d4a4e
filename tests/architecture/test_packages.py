"""What the program needs is said once: the lists that images' locks are made of say the same."""

import tomllib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from tests.architecture.test_imports import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_a_sessions_image_has_what_the_program_says_it_needs() -> None:
    assert set(PROJECT["dependency-groups"]["minion"]) <= set(PROJECT["project"]["dependencies"])


def test_overlords_image_has_the_packages_of_the_extra() -> None:
    extra = PROJECT["project"]["optional-dependencies"]["tracing"]
    assert PROJECT["dependency-groups"]["tracing"] == extra


def test_a_wheel_carries_what_pages_are_made_of() -> None:
    carried = {Path(file.path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    web = ROOT / "overlord" / "entrypoints" / "web"
    made_of = {
        path for folder in ("static", "templates") for path in (web / folder).rglob("*") if path.is_file()
    }
    assert made_of
    assert made_of <= carried

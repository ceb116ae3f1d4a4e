"""What the program needs is said once: the lists that images' locks are made of say the same."""

import tomllib

from tests.architecture.test_imports import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_a_sessions_image_has_what_the_program_says_it_needs() -> None:
    assert set(PROJECT["dependency-groups"]["minion"]) <= set(PROJECT["project"]["dependencies"])


def test_overlords_image_has_the_packages_of_the_extra() -> None:
    extra = PROJECT["project"]["optional-dependencies"]["tracing"]
    assert PROJECT["dependency-groups"]["tracing"] == extra

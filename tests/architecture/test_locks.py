"""A lock holds on the day it is used: what a newer release brings tomorrow is not looked at, by any pip."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.test_imports import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PINNED = re.compile(r"^([\w.-]+(?:\[[^\]]*\])?==[^\s;]+(?: ;[^\\]*)?)", re.MULTILINE)


def pinned(lock: Path) -> dict[str, Requirement]:
    """What a lock pins, by name."""
    found = (Requirement(line) for line in PINNED.findall(lock.read_text(encoding="utf-8")))
    return {canonicalize_name(one.name): one for one in found}


def asked_with_extras(name: str) -> list[Requirement]:
    """What an installed package asks for together with extras; nothing of a package that is not installed."""
    try:
        asked = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return []
    return [one for one in asked if one.extras and (one.marker is None or one.marker.evaluate({"extra": ""}))]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_package_that_is_asked_for_with_extras_is_pinned_with_them(lock: Path) -> None:
    # pip before 23.3, which Debian 12 has, otherwise takes the newest release for `name[extra]` and finds no hash for it.
    locked = pinned(lock)
    assert locked
    bare = [
        f"{name} asks for {asked}"
        for name in locked
        for asked in asked_with_extras(name)
        if not asked.extras <= locked[canonicalize_name(asked.name)].extras
    ]
    assert bare == [], "make the lock with --no-strip-extras, see CONTRIBUTING.md"

"""What doctor says of a repository's tests, from the daemon's own copy of it."""

from pathlib import Path

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName
from overlord.domain.launch import Remote
from overlord.entrypoints.doctor.finding import Health
from overlord.entrypoints.doctor.tests import NOT_FETCHED, examine_tests
from overlord.home import Home
from overlord.settings.load import Settings, load
from tests.plumbing import Files, commit, run

NAME = RepositoryName("acme/calc")


async def fetched(place: Path, files: Files) -> Settings:
    """Settings of a home whose mirror has these files."""
    settings = load({"OVERLORD_HOME": str(place / "home")}, repositories=[NAME])
    far = place / "far.git"
    far.mkdir(parents=True)
    run(far, "init", "--quiet", "--bare")
    commit(far, "main", files)
    await GitMirrors(Home(settings.home)).refresh_mirror(NAME, Remote(url=str(far)), branches=["main"])
    return settings


async def test_it_says_what_work_is_judged_by_and_what_is_not_judged(tmp_path: Path) -> None:
    with_tests = await fetched(tmp_path / "with", {"calc.py": b"", "tests/test_calc.py": b""})
    found = await examine_tests(with_tests, NAME, "main")
    assert (found.health, found.said) == (Health.WELL, "work is judged by python -m pytest")
    without = await fetched(tmp_path / "without", {"calc.py": b""})
    found = await examine_tests(without, NAME, "main")
    assert found.health is Health.WARN
    assert (
        "judged are scope, integrity, lint (ruff) and a model's review, not whether the code works"
        in found.said
    )
    assert (await examine_tests(without, NAME, "other")).said == NOT_FETCHED
    nothing = load({"OVERLORD_HOME": str(tmp_path / "new")}, repositories=[NAME])
    assert (await examine_tests(nothing, NAME, "main")).said == NOT_FETCHED

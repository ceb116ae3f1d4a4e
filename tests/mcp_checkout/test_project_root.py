"""What `project_root` may be, and what each wrong one is answered."""

import os
from pathlib import Path

import pytest

from overlord.domain.disciplines.arguments import needed_files
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.entrypoints.mcp.checkout.project_root import checkout_at, directory_of
from overlord.errors import Refused
from tests.local import git, made
from tests.mcp_checkout.checkouts import Kept


def named(kept: Kept, path: str | Path) -> str:
    return directory_of(str(path), checkout_at(kept.root))


def test_the_checkout_and_a_directory_of_it(kept: Kept) -> None:
    (kept.root / "src" / "deep").mkdir(parents=True)
    assert named(kept, kept.root) == ""
    assert named(kept, f"{kept.root}/") == ""
    assert named(kept, kept.root / "src" / "deep") == "src/deep"


def test_a_server_started_in_a_directory_of_it_works_on_all_of_it(kept: Kept) -> None:
    (kept.root / "src").mkdir()
    assert directory_of(str(kept.root), checkout_at(kept.root / "src")) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be an absolute path"),
        ("src", "must be an absolute path, and 'src' is relative; give {root}"),
        ("{root}/../calc", "without ..: .*; the real path is {root}"),
        ("{root}/absent", "{root}/absent does not exist"),
        ("{root}/LICENSE", "LICENSE is a file; give the directory"),
        ("{root}/.git/hooks", "is git's own directory"),
        ("{root}\n", "is no path of a directory"),
        ("/" + "a" * 5_000, "is no path of a directory"),
        ("{outside}", "is in no git work tree; this server works on {root}"),
    ],
)
def test_each_wrong_one_has_its_sentence(kept: Kept, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "outside").mkdir()
    where = {"root": str(kept.root), "outside": str(tmp_path.resolve() / "outside")}
    with pytest.raises(Refused, match=said.format(**where)):
        named(kept, text.format(**where))


def test_another_repository_is_named(kept: Kept, tmp_path: Path) -> None:
    other = made(tmp_path.resolve() / "other")
    with pytest.raises(
        Refused, match=rf"is in another repository, {other}; this server works on {kept.root}"
    ):
        named(kept, other)
    git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "bare.git"))
    with pytest.raises(Refused, match="is in a bare repository"):
        named(kept, tmp_path.resolve() / "bare.git")


def test_a_repository_inside_is_another(kept: Kept) -> None:
    inner = made(kept.root / "vendor")
    with pytest.raises(Refused, match=rf"is in a repository of its own, {inner}; .* start another one there"):
        named(kept, inner)


def test_a_link_is_refused_with_the_real_path(kept: Kept, tmp_path: Path) -> None:
    link = tmp_path.resolve() / "link"
    link.symlink_to(kept.root)
    (kept.root / "src").mkdir()
    (kept.root / "up").symlink_to(kept.root.parent)
    (kept.root / "same").symlink_to("src")
    for path, real in (
        (link, kept.root),
        (link / "src", kept.root / "src"),
        (kept.root / "same", kept.root / "src"),
        (kept.root / "up" / "calc", kept.root),
    ):
        with pytest.raises(Refused, match=rf"goes through a symbolic link, .*; give the real path, {real}"):
            named(kept, path)


def test_links_above_the_checkout_are_the_machines(kept: Kept, tmp_path: Path) -> None:
    above = tmp_path.resolve() / "above"
    above.mkdir()
    (above / "private").symlink_to(kept.root.parent)
    (kept.root / "src").mkdir()
    assert named(kept, above / "private" / "calc" / "src") == "src"


def test_a_loop_of_links_does_not_exist(kept: Kept) -> None:
    (kept.root / "loop").symlink_to("loop")
    with pytest.raises(Refused, match="does not exist"):
        named(kept, kept.root / "loop")


def test_where_a_server_may_be_started(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(Refused, match=r"is in no git work tree .* start this server in a checkout"):
        checkout_at(tmp_path / "plain")
    git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "bare.git"))
    with pytest.raises(Refused, match="is a bare repository, which has no files"):
        checkout_at(tmp_path / "bare.git")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(Refused, match="start this server in a checkout"):
        checkout_at(tmp_path / "broken")


def test_a_directory_whose_name_is_no_text(kept: Kept) -> None:
    os.mkdir(os.fsencode(kept.root) + b"/d\xff")
    with pytest.raises(Refused, match="is no path of a directory"):
        named(kept, os.fsdecode(os.fsencode(kept.root) + b"/d\xff"))


@pytest.mark.parametrize(
    ("discipline", "arguments", "needed"),
    [
        (DisciplineName.REVIEW, {"files": ["a", "b"]}, {"files": ("a", "b")}),
        (DisciplineName.TDD_RED, {"test_path": "new"}, {}),
        (DisciplineName.TDD_GREEN, {"test_path": "t"}, {"test_path": ("t",)}),
        (
            DisciplineName.TDD_REFACTOR,
            {"test_path": "t", "impl_path": "i"},
            {"test_path": ("t",), "impl_path": ("i",)},
        ),
        (DisciplineName.SPEC, {"output_path": "new"}, {}),
    ],
)
def test_the_files_that_must_be_there(
    discipline: DisciplineName, arguments: dict[str, object], needed: dict[str, tuple[str, ...]]
) -> None:
    assert needed_files(discipline, arguments) == needed

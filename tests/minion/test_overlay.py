"""What setup leaves beside the commit: kept without the rubbish, and laid over nothing that is there."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from minion.setup.environment import Environment, Kind, Record
from minion.setup.overlay import LARGEST_COPIED, keep
from tests.minion.session_api import git

TRACKED = ("setup.py", "src/pkg/__init__.py", "packages/own/index.js", "build/tracked.py")


def tree_of(place: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def kept_from(
    root: Path, files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None
) -> Environment:
    """The environment after a setup that left these files and links in a tree with the tracked ones."""
    tree = tree_of(root / "setup", {**dict.fromkeys(TRACKED, "base"), **files})
    for name, target in (links or {}).items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(target)
    overlay = keep(tree, TRACKED, root / "made/overlay")
    return Environment(directory=root / "made", record=Record(overlay=overlay))


def fresh(root: Path) -> Path:
    return tree_of(root / "fresh", dict.fromkeys(TRACKED, "head"))


def names(made: Environment) -> dict[str, str]:
    return {kept.path: str(kept.kind) for kept in made.record.overlay}


def test_generated_files_are_kept_and_rubbish_is_not(tmp_path: Path) -> None:
    made = kept_from(
        tmp_path,
        {
            "src/pkg/_version.py": "1",
            "src/pkg/_fast.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
            "src/pkg/__pycache__/a.pyc": "",
            "src/pkg.egg-info/PKG-INFO": "",
            "gen/__pycache__/b.pyc": "",
            "gen/build/schema.py": "x",
            "only/__pycache__/c.pyc": "",
            "build/lib/pkg/__init__.py": "",
            "packages/build/out.js": "",
            ".venv/pyvenv.cfg": "",
            "env3/pyvenv.cfg": "",
            "target/CACHEDIR.TAG": "",
            "target/debug/x": "",
            ".tox/x": "",
            "setup.py": "changed by setup",
        },
    )
    assert set(names(made)) == {
        "build/lib",
        "gen",
        "src/pkg/_fast.cpython-311-x86_64-linux-gnu.so",
        "src/pkg/_version.py",
    }
    tree = fresh(tmp_path)
    assert "/src/pkg/_version.py" in made.lay_over(tree)
    assert (tree / "setup.py").read_text() == "head"
    assert (tree / "gen/build/schema.py").read_text() == "x"
    assert not (tree / "gen/__pycache__").exists()


def test_packages_of_node_are_linked_one_by_one(tmp_path: Path) -> None:
    made = kept_from(
        tmp_path,
        {
            "node_modules/left-pad/index.js": "left",
            "node_modules/left-pad/build/out.js": "built",
            "node_modules/@scope/far/index.js": "far",
            "node_modules/@mixed/near/index.js": "near",
            "packages/own/node_modules/inner/index.js": "inner",
        },
        {
            "node_modules/own": "../packages/own",
            "node_modules/@mixed/own": "../../packages/own",
            "node_modules/.bin/pad": "../left-pad/index.js",
        },
    )
    [top, inner] = made.record.overlay
    assert (top.path, top.kind, top.spread) == ("node_modules", Kind.SPREAD, ("node_modules/@mixed",))
    assert inner.path == "packages/own/node_modules"
    tree = fresh(tmp_path)
    assert made.lay_over(tree) == ("/node_modules", "/packages/own/node_modules")
    modules = tree / "node_modules"
    assert modules.is_dir() and not modules.is_symlink()
    assert [(modules / name).is_symlink() for name in ("left-pad", "@scope", ".bin", "@mixed")] == [
        True
    ] * 3 + [False]
    assert (modules / "left-pad/build/out.js").read_text() == "built"
    assert (modules / ".bin/pad").read_text() == "left"
    assert (modules / "@mixed/near/index.js").read_text() == "near"
    # The repository's own packages are the session's.
    assert {(modules / name / "index.js").read_text() for name in ("own", "@mixed/own")} == {"head"}
    assert (tree / "packages/own/node_modules/inner/index.js").read_text() == "inner"
    (modules / ".cache").mkdir()


def test_what_is_large_is_linked(tmp_path: Path) -> None:
    made = kept_from(
        tmp_path, {"data/big": b"x" * (LARGEST_COPIED + 1), "one": b"x" * (LARGEST_COPIED + 1), "two": "x"}
    )
    assert names(made) == {"data": "linked", "one": "linked", "two": "copied"}
    tree = fresh(tmp_path)
    made.lay_over(tree)
    assert [(tree / name).is_symlink() for name in ("data", "one", "two")] == [True, True, False]


def test_links_are_kept_only_if_they_mean_the_same_everywhere(tmp_path: Path) -> None:
    links = {
        "gen/in": "data",
        "gen/up": "../setup.py",
        "gen/out": "../../..",
        "gen/host": "/etc/passwd",
        "top": "/etc",
    }
    links["gen/tree"] = str(tmp_path / "setup/setup.py")
    made = kept_from(tmp_path, {"gen/data": "1"}, links)
    os_tree = fresh(tmp_path)
    assert made.lay_over(os_tree) == ("/gen",)
    assert sorted(entry.name for entry in (os_tree / "gen").iterdir()) == ["data", "in", "up"]
    assert (os_tree / "gen/up").read_text() == "head"


def test_pipes_and_names_that_cannot_be_written_down_are_left_out(tmp_path: Path) -> None:
    tree_of(tmp_path / "setup", {"gen/a": "1"})
    os.mkfifo(tmp_path / "setup/gen/pipe")
    os.mkfifo(tmp_path / "setup/pipe")
    (tmp_path / "setup" / os.fsdecode(b"\xff.py")).touch()
    made = kept_from(tmp_path, {})
    assert names(made) == {"gen": "copied"}
    assert [entry.name for entry in (tmp_path / "made/overlay/gen").iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["file", "link", "directory", "dangling"])
def test_nothing_of_the_tree_is_replaced(tmp_path: Path, kind: str) -> None:
    made = kept_from(tmp_path, {"src/pkg/_version.py": "made"})
    tree, outside = fresh(tmp_path), tmp_path / "outside"
    outside.write_text("theirs")
    place = tree / "src/pkg/_version.py"
    match kind:
        case "file":
            place.write_text("theirs")
        case "link":
            place.symlink_to(outside)
        case "dangling":
            place.symlink_to(tmp_path / "nowhere")
        case _:
            place.mkdir()
    assert made.lay_over(tree) == ()
    assert outside.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("hostile", ["src", "src/pkg"])
def test_no_link_of_the_tree_is_followed(tmp_path: Path, hostile: str) -> None:
    made = kept_from(
        tmp_path, {"src/pkg/_version.py": "made", "src/pkg/gen/x": "made", "node_modules/a/b": ""}
    )
    outside = tmp_path / "outside"
    (outside / "pkg").mkdir(parents=True)
    tree = tree_of(tmp_path / "hostile", {"setup.py": ""})
    (tree / hostile).parent.mkdir(exist_ok=True)
    (tree / hostile).symlink_to(outside if hostile == "src" else outside / "pkg")
    (tree / "node_modules").symlink_to(outside)
    assert made.lay_over(tree) == ()
    assert [str(path.relative_to(outside)) for path in outside.rglob("*")] == ["pkg"]


def test_a_directory_the_change_removed_stays_removed(tmp_path: Path) -> None:
    made = kept_from(tmp_path, {"src/pkg/_version.py": "made", "gen.py": ""})
    tree = tree_of(tmp_path / "fresh", {"setup.py": ""})
    assert made.lay_over(tree) == ("/gen.py",)
    assert not (tree / "src").exists()


def test_what_a_contract_hides_is_not_laid(tmp_path: Path) -> None:
    made = kept_from(tmp_path, {".env": "canary", "gen.py": ""})
    tree = fresh(tmp_path)
    assert made.lay_over(tree, but=lambda path: path == ".env") == ("/gen.py",)
    assert not (tree / ".env").exists()


def test_what_is_laid_over_can_be_excluded_from_commits_by_its_patterns(tmp_path: Path) -> None:
    odd = ["a b.py", "st*r.py", "[x].py", "wh?.py", "!no.py", "#no.py", "back\\slash.py", "trail "]
    made = kept_from(tmp_path, {**dict.fromkeys(odd, "made"), "gen/x": "", "node_modules/a/b": ""})
    tree = fresh(tmp_path)
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    (tree / ".git/info").mkdir(exist_ok=True)
    (tree / ".git/info/exclude").write_text("".join(f"{line}\n" for line in made.lay_over(tree)))
    (tree / "star.py").touch()
    assert (tree / "trail ").exists()
    assert git(tree, "status", "--porcelain", "--untracked-files=all").splitlines()[-1] == "?? star.py"
    assert (
        len([line for line in git(tree, "status", "--porcelain").splitlines() if line.startswith("??")]) == 1
    )

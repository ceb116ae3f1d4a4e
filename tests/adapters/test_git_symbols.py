"""Where a commit defines names: one search, on real repositories."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from overlord.adapters.git.content import symbols as git_symbols
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.domain.scope.occurrences import Occurrences
from overlord.errors import GitFailed
from overlord.home import Home
from tests.plumbing import Files, commit, run

NAME = RepositoryName("acme/calc")
FILES: Files = {
    "src/url.py": "import re\n\n\ndef parse_url(text):\n    return parse_host(text)\n",
    "src/host.py": "def parse_host(text):\n    return text\n\n\nclass Host:\n    pass\n",
    "web/host.ts": "export class Host {\n}\n",
    "a b/ü.go": "package a\n\nfunc parse_url() {}\n",
    "docs/url.md": "def parse_url(text): explained\n",
    "blob.py": b"def parse_url\0",
    "web/all.min.js": "class Host{}\n",
    "web/dist/host.js": "class Host {\n",
    b"caf\xe9.py": "class Host:\n",
    "strange\nname.py": "class Host:\n",
}


class Ground:
    def __init__(self, root: Path) -> None:
        self.far = root / "far"
        self.far.mkdir()
        run(self.far, "init", "--quiet", "--bare", str(self.far))
        self.home = Home(root / "home")
        self.git = GitMirrors(self.home)

    async def see(self, files: Files) -> Sha:
        head = commit(self.far, "main", files)
        await self.git.refresh_mirror(NAME, Remote(url=str(self.far)))
        return head


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


async def test_the_files_that_define_each_name_and_no_others(ground: Ground) -> None:
    head = await ground.see(FILES)
    found = await ground.git.occurrences(NAME, head, ["parse_url", "Host", "absent", "text"])
    assert found.definitions == {
        "Host": ("src/host.py", "strange\nname.py", "web/host.ts"),
        "parse_url": ("a b/ü.go", "src/url.py"),
    }
    assert await ground.git.occurrences(NAME, head, ["absent"]) == Occurrences()


async def test_the_code_that_has_a_phrase_or_an_option(ground: Ground) -> None:
    files: Files = {
        "src/cli.py": 'add("--force")\nraise Error(f"Got unexpected extra argument ({name})")\n',
        "tests/test_cli.py": 'run("--force")\n',
        "src/more.py": 'add("--force-all")\n',
        "docs/cli.md": "--force: Got unexpected extra argument\n",
    }
    head = await ground.see(files)
    found = await ground.git.occurrences(NAME, head, ["--force", "Got unexpected extra argument"])
    assert found == Occurrences(
        mentions={
            "--force": ("src/cli.py", "tests/test_cli.py"),
            "Got unexpected extra argument": ("src/cli.py",),
        }
    )


@pytest.mark.parametrize("symbols", [[], ["--help me"], ["a b"], ["-O/tmp/x"], ["a\nb"], ["nul\0"], [".*"]])
async def test_what_is_no_name_is_not_looked_for(ground: Ground, symbols: Sequence[str]) -> None:
    head = await ground.see(FILES)
    assert await ground.git.occurrences(NAME, head, symbols) == Occurrences()


async def test_a_commit_that_is_not_there_is_no_empty_one_and_one_that_is_is_asked_once(
    ground: Ground,
) -> None:
    head = await ground.see(FILES)
    with pytest.raises(GitFailed, match="git grep failed"):
        await ground.git.occurrences(NAME, Sha("0" * 40), ["Host"])
    known = await ground.git.occurrences(NAME, head, ["Host"])
    assert await ground.git.occurrences(NAME, head, ["Host"]) is known


async def test_a_search_is_bounded_in_what_it_reads_and_in_time(ground: Ground) -> None:
    many: Files = {
        f"f{number:04}.py": "# Host here, Host there, and more of it\n" * 100 + "class Host: ...\n"
        for number in range(600)
    }
    head = await ground.see(many)
    mirror = ground.home.mirror(NAME)
    found = await git_symbols.search(mirror, head, ["Host"])
    assert 0 < len(found.definitions["Host"]) < len(many)
    assert await git_symbols.search(mirror, head, ["Host"], within_s=0) == Occurrences()

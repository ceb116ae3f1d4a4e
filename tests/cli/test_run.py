"""`overlord run` in every kind of repository, and what it says where it cannot work: no model, no price, no commits."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import edit, submit
from overlord.embedded.server import serve
from overlord.entrypoints.local import checkout
from overlord.entrypoints.local.address import is_address
from overlord.entrypoints.local.model import ollama_address
from overlord.entrypoints.local.place import place_of
from overlord.errors import NotFound, Refused, SettingsError
from overlord.settings.env import MAX_SOCKET_PATH
from tests.local import LocalSession, git, made
from tests.quick import quick_desk
from tests.world import FIX

TITLE = "add() subtracts"


def detached(user: LocalSession) -> Path:
    """Between branches, in a folder with blanks and signs in its name."""
    place = user.root / 'a "quiet" place: é'
    user.repo.rename(place)
    git(place, "checkout", "--quiet", "--detach")
    return place


def bare(user: LocalSession) -> Path:
    git(user.root, "clone", "--quiet", "--bare", "calc", "calc.git")
    return user.root / "calc.git"


def worktree(user: LocalSession) -> Path:
    git(user.repo, "worktree", "add", "--quiet", "-b", "side", str(user.root / "side"))
    return user.root / "side"


def shallow(user: LocalSession) -> Path:
    git(user.root, "clone", "--quiet", "--depth=1", f"file://{user.repo}", "near")
    return user.root / "near"


def below(user: LocalSession) -> Path:
    """A folder deep inside, on a branch of ours that was checked out."""
    git(user.repo, "checkout", "--quiet", "-b", "minion/issue-1")
    return user.repo / "tests"


def minion_branch(user: LocalSession) -> Path:
    """A branch whose name leaves no room for ours."""
    git(user.repo, "branch", "--move", "main", "minion")
    return user.repo


TAKEN = {"below": "minion/issue-1-2", "minion_branch": "minion-issue-1"}
"""The result's branch where the usual name is not to be had."""


@pytest.mark.parametrize("kind", [detached, bare, worktree, shallow, below, minion_branch])
async def test_a_run_works_in_any_kind_of_repository(kind: Callable[[LocalSession], Path]) -> None:
    async with quick_desk() as user:
        place = kind(user)
        head = (git(place, "rev-parse", "HEAD"), git(place, "rev-parse", "--abbrev-ref", "HEAD"))
        user.model.will(edit(*FIX), submit())
        said = await user.overlord("run", TITLE, "--repo", str(place), "--json", cwd=user.root)
        assert said.code == 0, said.out + said.err
        branch = said.objects[-1]["branch"]
        assert "a + b" in git(place, "show", f"{branch}:calc.py")
        assert git(place, "rev-parse", f"{branch}^") == head[0]
        assert (git(place, "rev-parse", "HEAD"), git(place, "rev-parse", "--abbrev-ref", "HEAD")) == head
        assert git(place, "fsck", "--no-dangling") == ""
        assert branch == TAKEN.get(kind.__name__, "minion/issue-1")


async def test_an_address_is_cloned_and_the_result_fetched_from_where_it_is() -> None:
    async with quick_desk() as user:
        git(user.repo, "tag", "-a", "v1", "-m", "one")
        git(user.repo, "commit", "--quiet", "--allow-empty", "--message=Later")
        user.model.will(edit(*FIX), submit())
        address = f"file://{user.repo}"
        said = await user.overlord("run", TITLE, "--repo", address, "--base", "v1", cwd=user.root)
        assert said.code == 0, said.out + said.err
        [fetch] = [line for line in said.out.splitlines() if line.startswith("  git fetch ")]
        git(user.repo, *fetch.split(" && ")[0].split()[1:])
        assert git(user.repo, "rev-parse", "FETCH_HEAD^") == git(user.repo, "rev-parse", "v1^{}")
        assert git(user.repo, "branch", "--list", "minion/*") == ""
        listed = await user.overlord("history", "--repo", address, cwd=user.root)
        assert "minion/issue-1" in listed.out


async def test_what_cannot_be_worked_on_is_refused_in_a_sentence() -> None:
    async with quick_desk() as user:
        empty = user.root / "empty"
        empty.mkdir()
        git(empty, "init", "--quiet")
        wide = user.root / "wide"
        wide.mkdir()
        git(wide, "init", "--quiet", "--object-format=sha256")
        git(wide, "commit", "--quiet", "--allow-empty", "--message=Begin")
        told = {
            str(empty): (5, "has no commits to start from; make a first one"),
            str(wide): (5, "names its objects with SHA-256"),
            str(user.root): (4, "is in no git repository; make one with `git init`"),
            str(user.root / "nowhere"): (4, "there is no "),
            "https://ann:secret@127.0.0.1/x": (5, "the address has a password in it"),
            f"file://{user.root}/nothing": (4, "cannot be cloned from 'HEAD'"),
            f"file://{empty}": (5, "has no commits to start from"),
        }
        for repository, (code, sentence) in told.items():
            said = await user.overlord("run", TITLE, "--repo", repository, cwd=user.root)
            assert (said.code, sentence in said.err) == (code, True), (repository, said)
            assert "Traceback" not in said.err and "secret" not in said.err
        unknown = await user.overlord("run", TITLE, "--base", "never")
        assert (unknown.code, "has no commit 'never'" in unknown.err) == (4, True)
        wrong = await user.overlord("run", TITLE, "--scope", "../x")
        assert wrong.code == 3
        for words in (("run",), ("run", " "), ("run", "x" * 257), ("run", "x", "--body-file", "missing")):
            assert (await user.overlord(*words)).code == 2
        assert user.model.requests == []


async def test_a_model_that_cannot_be_used_is_said_before_anything_is_made(unused_tcp_port: int) -> None:
    async with quick_desk() as user:
        user.model.names = ("scripted",)
        nobody = {"OPENAI_BASE_URL": f"http://127.0.0.1:{unused_tcp_port}/v1"}
        for over, code, sentence in (
            (nobody, 6, "the model scripted does not answer (connection refused)"),
            ({"OPENAI_API_KEY": "sk-wrong"}, 3, "does not take the key (401: Incorrect API key provided)"),
            ({"OVERLORD_MODEL": "other"}, 3, "the endpoint does not know the model other (404"),
            ({"OPENAI_BASE_URL": "http://[::1"}, 3, "the model's address is none: OPENAI_BASE_URL"),
        ):
            said = await user.overlord("run", TITLE, environment=over)
            assert (said.code, sentence in said.err) == (code, True), said
            assert "Traceback" not in said.err
        assert "No runs yet." in (await user.overlord("history")).out


async def test_without_a_model_it_is_said_how_to_get_one() -> None:
    async with quick_desk() as user:
        nobody = "127.0.0.1:1"
        nothing = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OVERLORD_MODEL": "", "OLLAMA_HOST": nobody}
        said = await user.overlord("run", TITLE, environment=nothing)
        assert said.code == 3
        assert f"no Ollama answers at http://{nobody}" in said.err
        assert [line.split()[0] for line in said.err.splitlines()[1:]] == ["a", "Ollama", "any"]
        unnamed = await user.overlord("run", TITLE, environment={"OVERLORD_MODEL": ""})
        assert (unnamed.code, "give --model, or set OVERLORD_MODEL" in unnamed.err) == (3, True)
        unpriced = await user.overlord("run", TITLE, "--budget", "2")
        assert (unpriced.code, "nobody said what scripted costs" in unpriced.err) == (3, True)
        assert "No runs yet." in (await user.overlord("history")).out


class Ollama:
    """What answers at Ollama's address: its own list of models, and the scripted model behind `/v1`."""

    def __init__(self, model: EmbeddedModel, models: dict[str, list[str] | None]) -> None:
        self._models = models
        self.app = Starlette(
            routes=[
                Route("/api/tags", self._tags),
                Route("/api/show", self._show, methods=["POST"]),
                Mount("/", app=model),
            ]
        )

    async def _tags(self, _request: Request) -> Response:
        return JSONResponse({"models": [{"name": name, "model": name} for name in self._models]})

    async def _show(self, request: Request) -> Response:
        able = self._models[(await request.json())["model"]]
        return JSONResponse({"details": {}} if able is None else {"capabilities": able})


@asynccontextmanager
async def ollama(models: dict[str, list[str] | None]) -> AsyncIterator[tuple[LocalSession, dict[str, str]]]:
    async with quick_desk() as user:
        user.model.key = "ollama"
        async with serve(Ollama(user.model, models).app) as address:
            nothing = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OVERLORD_MODEL": ""}
            yield user, {**nothing, "OLLAMA_HOST": address.removeprefix("http://")}


async def test_ollama_is_used_when_nothing_else_is_configured() -> None:
    models: dict[str, list[str] | None] = {
        "nomic-embed:latest": ["embedding"],
        "qwen3-coder:30b": ["completion", "tools"],
    }
    async with ollama(models) as (user, there):
        user.model.will(edit(*FIX), submit())
        said = await user.overlord("run", TITLE, environment=there)
        assert said.code == 0, said.out + said.err
        assert f"Model qwen3-coder:30b of Ollama at http://{there['OLLAMA_HOST']}" in said.out
        assert b'"qwen3-coder:30b"' in user.model.requests[0].body
        assert b'"max_tokens"' in user.model.requests[0].body
        missing = await user.overlord("run", TITLE, "--model", "gemma", environment=there)
        assert (missing.code, "Get it with `ollama pull gemma`" in missing.err) == (3, True)


async def test_an_ollama_without_a_model_that_calls_tools_is_told_apart() -> None:
    async with ollama({"nomic-embed:latest": ["embedding"]}) as (user, there):
        said = await user.overlord("run", TITLE, environment=there)
        assert (said.code, "none of its models can call tools" in said.err) == (3, True)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:8080", "http://box:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("http://box", "http://box"),
        ("https://box/", "https://box"),
        ("http://[::1]:9", "http://[::1]:9"),
    ],
)
def test_ollamas_address_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    assert ollama_address(host) == address


def test_an_address_of_ollamas_that_is_none_is_named() -> None:
    with pytest.raises(SettingsError, match="OLLAMA_HOST=http://a b:x is no address"):
        ollama_address("http://a b:x")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://example.org/a/b.git", True),
        ("ssh://git@example.org/a", True),
        ("git@example.org:a/b.git", True),
        ("file:///tmp/x", True),
        ("ext::sh -c touch% x", False),
        ("C:\\work", False),
        ("../calc", False),
        (".", False),
    ],
)
def test_addresses_are_told_from_paths(text: str, address: bool) -> None:
    assert is_address(text) is address


def test_each_repository_has_one_place_and_worktrees_share_it(tmp_path: Path) -> None:
    home = {"OVERLORD_HOME": "/tmp/nobody's home"}
    repo = made(tmp_path / "one" / "calc")
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "side"))
    other = made(tmp_path / "two" / "calc")
    places = [
        place_of(str(path), home).home.root for path in (repo, repo / "tests", tmp_path / "side", other)
    ]
    assert places[0] == places[1] == places[2] != places[3]
    assert places[0].name.startswith("calc-")
    assert not Path(home["OVERLORD_HOME"]).exists(), "looking makes nothing"


def test_a_long_home_still_has_room_for_its_sockets(tmp_path: Path) -> None:
    repo = made(tmp_path / ("name" * 20))
    room = MAX_SOCKET_PATH - len("/local/12345678/run/12345678/s")
    home = "/" + "h" * (room - 1)
    place = place_of(str(repo), {"OVERLORD_HOME": home})
    assert len(str(place.home.socket("any"))) == MAX_SOCKET_PATH
    place.settings({"OVERLORD_HOME": home})
    with pytest.raises(SettingsError, match="is too long"):
        place_of(str(repo), {"OVERLORD_HOME": home + "h"}).settings({"OVERLORD_HOME": home + "h"})


async def test_a_repository_that_lacks_objects_is_refused_before_anything_is_made() -> None:
    async with quick_desk() as user:
        git(user.repo, "config", "uploadpack.allowFilter", "true")
        git(user.root, "clone", "--quiet", "--bare", "--filter=blob:none", f"file://{user.repo}", "part")
        said = await user.overlord("run", TITLE, "--repo", "part", cwd=user.root)
        assert said.code == 5
        assert "a partial clone is made whole with `git fetch --refetch --no-filter`" in said.err
        assert "No runs yet." in (await user.overlord("history", "--repo", "part", cwd=user.root)).out


def test_a_worktree_whose_repository_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(NotFound, match="which is no repository"):
        checkout.find(tmp_path)


async def test_uncommitted_work_is_counted(tmp_path: Path) -> None:
    repo = made(tmp_path / "calc")
    found = checkout.find(repo)
    assert not await checkout.uncommitted(found)
    (repo / "calc.py").write_text("")
    (repo / "a file with\nbreaks").touch()
    git(repo, "rm", "--quiet", "--cached", "README.md")
    told = str(await checkout.uncommitted(found))
    assert told == "2 files have uncommitted changes and 2 files are untracked"


async def test_a_place_is_held_by_one(tmp_path: Path) -> None:
    place = place_of(str(made(tmp_path / "calc")), {"OVERLORD_HOME": str(tmp_path / "home")})
    with place.locked(), pytest.raises(Refused, match="another `overlord run` works on"), place.locked():
        pass
    with place.locked():
        pass

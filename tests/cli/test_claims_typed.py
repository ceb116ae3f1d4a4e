"""`overlord call export|verify|trailers`: a stranger checks what calls came to, and what was changed since is found."""

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import CheckStep, StepOutcome, StepResult, Tree
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.text.json_text import json_text
from overlord.store import evidence
from overlord.store.disciplines import calls
from overlord.store.evidence import EvidenceFile, EvidenceStore
from tests.called_rows import RED, VERIFIED, ended_call, open_call
from tests.cli.conftest import Filled, Overlord
from tests.records import later

CALC, FIXED = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
OTHER = "import unittest\n\n\nclass TestOther(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(1 + 1, 2)\n"
TEST = (
    "import unittest\n\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(1, 1), 2)\n"
)
COMMAND = ("python3", "-m", "unittest", "-q")


@dataclass(frozen=True)
class Story:
    """A project in which a test was written, and then made to pass, each by a call."""

    root: Path
    start: str
    red: str
    green: str

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.root), *words], check=True, capture_output=True, text=True
        )
        return done.stdout

    def patch(self, base: str, head: str) -> bytes:
        return self.git("diff", "--binary", "--full-index", "--no-renames", base, head).encode()

    def tree(self, commit: str) -> str:
        return self.git("rev-parse", f"{commit}^{{tree}}").strip()


@pytest.fixture
def story(tmp_path: Path) -> Story:
    root = tmp_path / "calc"
    root.mkdir()
    made = Story(root=root, start="", red="", green="")
    made.git("init", "--quiet")
    (root / "test_other.py").write_text(OTHER)
    commits = []
    for name, text in (("calc.py", CALC), ("test_calc.py", TEST), ("calc.py", FIXED)):
        (root / name).write_text(text)
        made.git("add", "--all")
        made.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", name)
        commits.append(made.git("rev-parse", "HEAD").strip())
    return replace(made, start=commits[0], red=commits[1], green=commits[2])


def keep(connection: sqlite3.Connection, files: EvidenceStore, call: Call, kind: str, content: bytes) -> str:
    digest = files.put(content)
    assert call.job_id is not None
    made = EvidenceFile(
        job_id=call.job_id, session_id=None, kind=kind, sha256=digest, size=len(content), at=later(100)
    )
    evidence.record(connection, made)
    return digest


def call_of(
    story: Story,
    discipline: DisciplineName,
    commits: tuple[str, str],
    *steps: tuple[CheckStep, int],
    test_cmd: str = " ".join(COMMAND),
    directory: str = "",
) -> Callable[..., None]:
    """What the engine leaves of a call that changed one commit's files into another's."""
    base, head = commits

    def write(connection: sqlite3.Connection, files: EvidenceStore) -> None:
        arguments = {**RED, "test_path": "test_calc.py", "test_cmd": test_cmd}
        call = open_call(connection, discipline=discipline, arguments=arguments, directory=directory)
        result = replace(VERIFIED, base_tree=story.tree(base), head_tree=story.tree(head))
        runs = [StepResult(name=step.name, outcome=StepOutcome.RAN, exit_code=code) for step, code in steps]
        said: dict[str, Any] = {
            "call": call.ref,
            "discipline": call.discipline,
            "space": call.space,
            "arguments": dict(call.arguments),
            "base_tree": result.base_tree,
            "head_tree": result.head_tree,
            "verification": {"verified": True, "why": result.why},
            "steps": [asdict(step) for step, _ in steps],
            "runs": [asdict(run) for run in runs],
        }
        found = keep(connection, files, call, "verification", json_text(said).encode())
        patch = keep(connection, files, call, "patch", story.patch(base, head))
        calls.end(connection, call, replace(result, evidence=found), patch=patch, at=later(120))
        open_call(connection)  # other work, of which a claim tells nothing

    return write


@pytest.fixture
def claims(story: Story, overlord: Overlord, filled: Filled, tmp_path: Path) -> list[str]:
    """Files with the claims of both calls."""
    after, before = (
        CheckStep(name="tests", command=COMMAND),
        CheckStep(name="baseline", tree=Tree.BASE, command=COMMAND),
    )
    red = call_of(story, DisciplineName.TDD_RED, (story.start, story.red), (before, 0), (after, 1))
    green = call_of(story, DisciplineName.TDD_GREEN, (story.red, story.green), (before, 1), (after, 0))

    home = filled(lambda connection: None)
    files = EvidenceStore(home.evidence)

    def write(connection: sqlite3.Connection) -> None:
        red(connection, files)
        green(connection, files)

    filled(write)
    places = [str(tmp_path / "red.json"), str(tmp_path / "green.json")]
    for ref, place in zip(("c1", "c3"), places, strict=True):
        said = overlord("call", "export", ref, "--output", place)
        assert said.code == 0, said.err
    return places


def test_a_claim_holds_by_itself(overlord: Overlord, claims: list[str]) -> None:
    said = overlord("call", "verify", *claims)
    assert said.code == 0, said.out + said.err
    assert "c1: 2 files of evidence, each as its digest says." in said.out
    assert "agree that it is verified: The new test fails for an assertion." in said.out
    assert "are of other work" not in said.out.splitlines()[2]
    assert overlord("call", "verify", "c1").code == 0
    assert overlord("call", "export", "c1").out == Path(claims[0]).read_text()


def test_a_claim_says_nothing_of_other_work(overlord: Overlord, filled: Filled, claims: list[str]) -> None:
    del claims

    def write(connection: sqlite3.Connection) -> None:
        one, other = open_call(connection), open_call(connection, session_key="secret-work")
        calls.end(connection, other, VERIFIED, patch="", at=later(130))
        calls.end(connection, one, VERIFIED, patch="", at=later(140))

    filled(write)
    said = overlord("call", "export", "c5").out
    assert "secret-work" not in said
    assert sum(event["event"] is None for event in json.loads(said)["ledger"]) == 2


TAMPERED: Mapping[str, tuple[Callable[[Any], object], str]] = {
    "the change": (
        lambda claim: claim["evidence"][1].update(content="diff --git a/x b/x\n"),
        "is not what its digest",
    ),
    "the finding": (lambda claim: claim["result"].update(why="It holds."), "say different things: reason"),
    "the arguments": (
        lambda claim: claim["call"]["arguments"].update(spec="less"),
        "different things: arguments",
    ),
    "who asked": (
        lambda claim: claim["call"].update(actor="mcp:bob"),
        "something else of the call: who asked",
    ),
    "the session": (lambda claim: claim["call"].update(session="other"), "of the call: session"),
    "the base": (lambda claim: claim["call"].update(base_commit="b" * 40), "commit that it began on"),
    "an event": (
        lambda claim: claim["ledger"][0]["event"].update(actor="mcp:bob"),
        "Event 1 of the ledger was changed",
    ),
    "an event is left out": (lambda claim: claim["ledger"].pop(0), "does not begin with the call"),
    "the head": (lambda claim: claim.update(ledger_head="0" * 64), "head is not the event"),
    "the evidence": (lambda claim: claim["evidence"].pop(0), "is not in the claim"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_changed_since_is_found(overlord: Overlord, claims: list[str], what: str) -> None:
    change, told = TAMPERED[what]
    claim = json.loads(Path(claims[0]).read_text())
    change(claim)
    Path(claims[0]).write_text(json.dumps(claim))
    said = overlord("call", "verify", claims[0], "--json")
    checks = json.loads(said.out)
    assert said.code == 1 and not checks["holds"]
    assert told in " ".join(item["text"] for item in checks["checks"] if not item["holds"])


def test_a_commit_holds_what_was_written(overlord: Overlord, story: Story, claims: list[str]) -> None:
    place = ("--checkout", str(story.root))
    said = overlord("call", "verify", *claims, *place, "--commit", story.green)
    assert (
        said.code == 0
        and f"c3: The tree of {story.green[:12]} is the one that it left, file by file." in said.out
    )
    (story.root / "README.md").write_text("More.\n")
    story.git("add", "--all")
    story.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "more")
    said = overlord("call", "verify", *claims, *place, "--commit", "HEAD")
    assert said.code == 0 and "holds 1 file as it left them" in said.out
    said = overlord("call", "verify", *claims, *place, "--commit", story.red)
    assert said.code == 1 and "does not hold what it wrote: calc.py" in said.out
    assert overlord("call", "verify", *claims, *place, "--commit", "nowhere").code == 4


def test_recorded_commands_are_run_again(overlord: Overlord, story: Story, claims: list[str]) -> None:
    words = ("call", "verify", *claims, "--checkout", str(story.root), "--commit", story.green, "--rerun")
    said = overlord(*words)
    assert said.code == 5 and "python3 -m unittest -q" in said.out and "add --yes" in said.err
    assert "that text is the claims' own:\n  calc.py\n" in said.out, (
        "what is put back is named before it is run"
    )
    assert "  test_calc.py" in said.out.splitlines()
    said = overlord(*words, "--yes")
    assert said.code == 5 and "add --trust-claims" in said.err and not said.out
    said = overlord(*words, "--yes", "--trust-claims")
    assert said.code == 0, said.out
    assert "c3: `python3 -m unittest -q` on the files after it ended with 0, as was recorded." in said.out
    assert "c3: `python3 -m unittest -q` on the files before it ended with 1, as was recorded." in said.out
    assert "c1: `python3 -m unittest -q` on the files after it ended with 1, as was recorded." in said.out
    assert story.git("status", "--porcelain") == ""


def test_what_is_run_is_named_beside_the_json(overlord: Overlord, story: Story, claims: list[str]) -> None:
    place = ("--checkout", str(story.root), "--commit", story.green, "--rerun", "--yes", "--trust-claims")
    said = overlord("call", "verify", *claims, *place, "--json")
    assert json.loads(said.out)["holds"] is True
    assert "  python3 -m unittest -q\n" in said.err


def test_a_claim_of_ones_own_is_run_again_with_yes(
    overlord: Overlord, story: Story, claims: list[str]
) -> None:
    del claims
    said = overlord(
        "call",
        "verify",
        "c1",
        "c3",
        "--checkout",
        str(story.root),
        "--commit",
        story.green,
        "--rerun",
        "--yes",
    )
    assert said.code == 0, said.out + said.err


def test_a_command_that_ends_otherwise_is_told(overlord: Overlord, story: Story, claims: list[str]) -> None:
    place = ("--checkout", str(story.root), "--commit", story.green, "--rerun", "--yes", "--trust-claims")
    said = overlord("call", "verify", claims[0], *place)  # without the later claim, its code is there already
    assert said.code == 1 and "ended with 0, and 1 was recorded" in said.out
    assert "By what ran here it is not verified" in said.out


FORGED: Mapping[str, tuple[Callable[[Any], object], str]] = {
    "no runs": (
        lambda said: said.update(steps=[], runs=[]),
        "does not rest on the runs that show it: baseline, tests",
    ),
    "a run is left out": (lambda said: said["runs"].pop(0), "the runs that show it: baseline."),
    "a run that did not end": (
        lambda said: said["runs"][1].update(outcome="timed_out"),
        "the runs that show it: tests.",
    ),
    "another command": (
        lambda said: said["steps"][1].update(command=["true"]),
        "the runs that show it: tests.",
    ),
    "other files": (lambda said: said["steps"][1].update(tree="base"), "the runs that show it: tests."),
    "no list": (lambda said: said.update(steps=7), "the runs that show it: baseline, tests"),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_claims_to_rest_on_other_runs_does_not_hold(
    overlord: Overlord, story: Story, claims: list[str], what: str
) -> None:
    """Forged with care: digests and events fit."""
    change, told = FORGED[what]
    claim = json.loads(Path(claims[1]).read_text())
    found = next(item for item in claim["evidence"] if item["kind"] == "verification")
    said = json.loads(found["content"])
    change(said)
    before, found["content"] = found["sha256"], json.dumps(said)
    found["sha256"] = sha256(found["content"].encode()).hexdigest()
    Path(claims[1]).write_text(json.dumps(claim).replace(before, found["sha256"]))
    place = ("--checkout", str(story.root), "--commit", story.green, "--rerun", "--yes", "--trust-claims")
    answer = overlord("call", "verify", claims[1], *place)
    assert answer.code == 1 and told in answer.out, answer.out + answer.err
    assert "ended with" not in answer.out


def forged(
    story: Story,
    overlord: Overlord,
    filled: Filled,
    place: Path,
    discipline: DisciplineName,
    commits: tuple[str, str],
    *steps: tuple[CheckStep, int],
    **arguments: str,
) -> str:
    """A claim in which all fits together, whatever was run."""
    files = EvidenceStore(filled(lambda connection: None).evidence)
    write = call_of(story, discipline, commits, *steps, **arguments)
    filled(lambda connection: write(connection, files))
    said = overlord("call", "export", "c1", "--output", str(place))
    assert said.code == 0, said.err
    return str(place)


def step_of(command: tuple[str, ...], tree: Tree = Tree.HEAD, name: str = "tests", **given: Any) -> CheckStep:
    return CheckStep(name=name, tree=tree, command=command, **given)


NOTHING_SHOWN: Mapping[str, tuple[DisciplineName, str, int, int, str]] = {
    "red by a command that fails": (
        DisciplineName.TDD_RED,
        "false",
        1,
        1,
        "By what ran here it is not verified",
    ),
    "green that never was red": (DisciplineName.TDD_GREEN, "true", 0, 0, "was not red before"),
    "green by a command that looks at the code": (
        DisciplineName.TDD_GREEN,
        "grep -q 'a + b' calc.py",
        1,
        0,
        "It changed calc.py, which the test command runs",
    ),
}


@pytest.mark.parametrize("what", NOTHING_SHOWN)
def test_runs_that_end_as_recorded_and_show_nothing_do_not_hold(
    overlord: Overlord, filled: Filled, story: Story, tmp_path: Path, what: str
) -> None:
    """What ran here is judged as an Overlord judges it: a person who forges a claim may choose its command."""
    discipline, line, before, after, told = NOTHING_SHOWN[what]
    command = tuple(shlex.split(line))
    commits = (story.start, story.red) if discipline is DisciplineName.TDD_RED else (story.red, story.green)
    steps = ((step_of(command, Tree.BASE, "baseline"), before), (step_of(command), after))
    claim = forged(story, overlord, filled, tmp_path / "f.json", discipline, commits, *steps, test_cmd=line)
    place = ("--checkout", str(story.root), "--commit", commits[1], "--rerun", "--yes", "--trust-claims")
    said = overlord("call", "verify", claim, *place)
    assert said.code == 1 and told in said.out, said.out + said.err
    assert "WRONG" in said.out.splitlines()[-1]


def test_where_pytest_is_not_installed_that_is_said(
    overlord: Overlord, filled: Filled, story: Story, tmp_path: Path
) -> None:
    """Its exit code is that of failed tests, so a red would seem to hold."""
    line = f"{sys.executable} -S -m pytest"
    command = tuple(line.split())
    steps = ((step_of(command, Tree.BASE, "baseline"), 1), (step_of(command), 1))
    commits = (story.start, story.red)
    claim = forged(
        story, overlord, filled, tmp_path / "f.json", DisciplineName.TDD_RED, commits, *steps, test_cmd=line
    )
    place = ("--checkout", str(story.root), "--commit", story.red, "--rerun", "--yes", "--trust-claims")
    said = overlord("call", "verify", claim, *place)
    assert said.code == 1 and "cannot be run here: pytest is not installed" in said.out, said.out
    assert "ended with" not in said.out


def test_a_claim_for_a_directory_is_run_in_it(
    overlord: Overlord, filled: Filled, story: Story, tmp_path: Path
) -> None:
    """The commands pass and fail as they did there; at the root there are no tests."""
    commits = []
    for _, commit in (("red", story.red), ("green", story.green)):
        story.git("checkout", "--quiet", commit)
        story.git("checkout", "--quiet", "-B", "below")
        (story.root / "shop").mkdir()
        for name in ("calc.py", "test_calc.py", "test_other.py"):
            story.git("mv", name, f"shop/{name}")
        story.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "below")
        commits.append(story.git("rev-parse", "HEAD").strip())
    before = step_of(COMMAND, Tree.BASE, "baseline", directory="shop")
    claim = forged(
        story,
        overlord,
        filled,
        tmp_path / "below.json",
        DisciplineName.TDD_GREEN,
        (commits[0], commits[1]),
        (before, 1),
        (step_of(COMMAND, directory="shop"), 0),
        directory="shop",
    )
    words = ("call", "verify", claim, "--checkout", str(story.root), "--commit", commits[1], "--rerun")
    said = overlord(*words)
    assert said.code == 5 and "python3 -m unittest -q (in shop)" in said.out
    said = overlord(*words, "--yes", "--trust-claims")
    assert said.code == 0, said.out + said.err
    assert "on the files before it ended with 1, as was recorded" in said.out


def test_the_reply_says_what_the_ledgers_head_is_for(overlord: Overlord, claims: list[str]) -> None:
    said = overlord("call", "verify", claims[0])
    assert "compare the head with the one that the ledger's owner gives you" in said.out


def test_each_claim_is_held_against_the_commit(overlord: Overlord, story: Story, claims: list[str]) -> None:
    """Also where the commit is the tree that the last one left."""
    (story.root / "test_calc.py").write_text("assert True\n")
    claim = json.loads(Path(claims[1]).read_text())
    story.git("add", "--all")
    tree = story.git("write-tree").strip()
    Path(claims[1]).write_text(json.dumps(claim).replace(claim["result"]["head_tree"], tree))
    story.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "weaker")
    said = overlord("call", "verify", *claims, "--checkout", str(story.root), "--commit", "HEAD")
    assert (
        said.code == 1
        and "c1: WRONG:" in said.out
        and "does not hold what it wrote: test_calc.py" in said.out
    )


def resealed(place: str, kind: str, content: str) -> None:
    """Put other evidence into a claim, with digests and names that fit."""
    claim = json.loads(Path(place).read_text())
    found = next(item for item in claim["evidence"] if item["kind"] == kind)
    before, found["content"] = found["sha256"], content
    found["sha256"] = sha256(content.encode()).hexdigest()
    Path(place).write_text(json.dumps(claim).replace(before, found["sha256"]))


PATCHES = (
    'diff --git "a/\\xzz" "b/\\xzz"\nindex ' + "0" * 40 + ".." + "1" * 40 + "\n",
    "diff --git \nindex " + "0" * 40 + ".." + "1" * 40 + "\n",
    "diff --git a/\0 b/\0\nindex " + "0" * 40 + ".." + "1" * 40 + "\n",
    "no patch",
)


@pytest.mark.parametrize("patch", PATCHES)
def test_a_patch_out_of_form_does_not_hold(
    overlord: Overlord, story: Story, claims: list[str], patch: str
) -> None:
    resealed(claims[1], "patch", patch)
    place = ("--checkout", str(story.root), "--commit", story.green, "--rerun", "--yes", "--trust-claims")
    said = overlord("call", "verify", claims[1], *place)
    assert said.code == 1 and "WRONG" in said.out and "ended with" not in said.out, said.err


@pytest.mark.parametrize("directory", ["\0", "../..", "none", "x" * 5000, "/"])
def test_a_directory_that_is_none_runs_nothing(
    overlord: Overlord, story: Story, claims: list[str], directory: str
) -> None:
    claim = json.loads(Path(claims[1]).read_text())
    claim["call"]["directory"] = directory
    said = json.loads(next(item["content"] for item in claim["evidence"] if item["kind"] == "verification"))
    for step in said["steps"]:
        step["directory"] = directory
    Path(claims[1]).write_text(json.dumps(claim))
    resealed(claims[1], "verification", json.dumps(said))
    place = ("--checkout", str(story.root), "--commit", story.green, "--rerun", "--yes", "--trust-claims")
    answer = overlord("call", "verify", claims[1], *place)
    assert answer.code == 1 and "cannot be run: there is no directory" in answer.out, answer.err
    assert "ended with" not in answer.out


def test_a_claim_that_is_too_large_is_refused(overlord: Overlord, tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(100_000_000)
    said = overlord("call", "verify", str(tmp_path / "large.json"))
    assert said.code == 5 and "is no claim: it is larger than 64,000,000 bytes" in said.err


def test_trailers_name_what_can_be_checked(overlord: Overlord, claims: list[str]) -> None:
    del claims
    first, second = overlord("call", "trailers", "c1", "c3").out.splitlines()
    assert first.startswith("Overlord-Call: c1 tdd_red verified sha256:") and len(first.split(":")[-1]) == 64
    assert second.startswith("Overlord-Call: c3 tdd_green verified sha256:")


def test_bad_input_is_refused(overlord: Overlord, filled: Filled, tmp_path: Path) -> None:
    filled(lambda connection: [open_call(connection), ended_call(connection)])
    said = overlord("call", "export", "c1")
    assert said.code == 5 and "c1 has not ended: there is nothing to claim" in said.err
    assert overlord("call", "export", "c9").code == 4
    assert overlord("call", "verify", str(tmp_path / "none.json")).code == 4
    for content in (b"", b"{}", b"[1]", b"\xff", b'{"format": "overlord-claim-2"}', b"[" * 100_000):
        (tmp_path / "bad.json").write_bytes(content)
        said = overlord("call", "verify", str(tmp_path / "bad.json"))
        assert said.code == 5 and "is no claim that can be read" in said.err
    nowhere = '{"a": "\\u0000", "b": 1e999}'
    for text in (nowhere, '{"a": ' * 50_000, '"\\ud800"', "9" * 10_000):
        (tmp_path / "bad.json").write_text(text)
        said = overlord("call", "verify", str(tmp_path / "bad.json"))
        assert said.code == 5 and "is no claim that can be read" in said.err
    (tmp_path / "there.json").write_text("mine")
    said = overlord("call", "export", "c2", "--output", str(tmp_path / "there.json"))
    assert said.code == 5 and (tmp_path / "there.json").read_text() == "mine"

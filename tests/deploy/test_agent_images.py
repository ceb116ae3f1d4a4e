"""`docker/images --agents …`: which images are built and how, and what is said where one cannot be. A program of the test is called docker."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from overlord.domain.agent_programs import EXECUTABLES, PROPRIETARY
from tests.architecture.test_imports import ROOT

LOCKS = ROOT / "requirements" / "agents"
OF_NPM = ("claude-code", "codex", "opencode", "gemini")
DOCKER = """\
#!/bin/sh
case "$1" in
    version) exit 0 ;;
    image)
        [ -e "$STATE/$5" ] || exit 1
        case "$4" in
            *source*) cat "$STATE/$5.source" ;;
            *overlord.agent*) cat "$STATE/$5" ;;
            *) echo 250000000 ;;
        esac ;;
    build)
        for argument in "$@"; do
            printf '%s\\n' "$argument"
            case "$argument" in
                overlord.agent.source=*) source="${argument#*=}" ;;
                overlord.agent=*) agent="${argument#*=}" ;;
                overlord-minion-*) tag="$argument" ;;
            esac
            context="$argument"
        done >"$STATE/built"
        echo "$agent" >"$STATE/$tag"
        echo "$source" >"$STATE/$tag.source"
        [ ! -d "$context/agents" ] || (cd "$context" && find agents -type f) >"$STATE/context" ;;
esac
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The engine's images, a file each; `python:3.12-slim` is one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text(DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o755)
    state = tmp_path / "state"
    state.mkdir()
    (state / "python:3.12-slim").touch()
    return state


def images(state: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{state.parent / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [str(ROOT / "docker" / "images"), *arguments],
        env={"PATH": path, "STATE": str(state), "HOME": str(state.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def built(state: Path) -> list[str]:
    """What the last build was asked for."""
    return (state / "built").read_text().splitlines()


@pytest.mark.parametrize("agent", [name for name in EXECUTABLES if name != "cursor"])
def test_an_agents_image_says_its_version_and_is_built_anew_only_when_its_lock_changed(
    state: Path, agent: str
) -> None:
    done = images(state, "--agents", agent)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{f'overlord-minion-{agent}':22}  250 MB\n"
    label = (state / f"overlord-minion-{agent}").read_text()
    assert re.fullmatch(rf"{agent} \d+\.\d+\.\d+\n", label), label
    assert "proprietary" in done.stderr if agent in PROPRIETARY else "proprietary" not in done.stderr
    assert not [argument for argument in built(state) if argument.startswith("overlord.minion=")]
    (state / "built").unlink()
    assert images(state, "--if-stale", "--agents", agent).stderr == ""
    assert not (state / "built").exists()
    (state / f"overlord-minion-{agent}.source").write_text("another\n")
    assert images(state, "--if-stale", "--agents", agent).stderr.startswith(f"Building (once): {agent} …")
    assert (state / "built").exists()


def test_several_are_built_one_after_the_other_and_listed(state: Path) -> None:
    done = images(state, "--agents", "codex,gemini")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "overlord-minion-codex",
        "overlord-minion-gemini",
    ]
    lines = {line.split()[0]: line for line in images(state, "--list").stdout.splitlines()}
    assert set(lines) == {
        *("overlord", "overlord-minion", "overlord-minion-setup"),
        *(f"overlord-minion-{name}" for name in EXECUTABLES),
    }
    assert re.search(r"250 MB  codex \d", lines["overlord-minion-codex"])
    assert lines["overlord-minion-aider"].endswith("not built: docker/images --agents aider")
    assert lines["overlord-minion"].endswith("not built: docker/images")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agents", "codex,copilot"), "there is no agent 'copilot' to build an image of; there is claude-code, codex"),
        (("--agents",), "--agents needs names: claude-code,codex,"),
        (("codex",), "there is no image 'codex'; there is minion, overlord, and with --agents claude-code"),
        (("--agents", "cursor"), "say where it is: CURSOR_AGENT=/path/to/cursor-agent docker/images --agents cursor"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused_before_anything_is(
    state: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = images(state, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (state / "built").exists()


@pytest.mark.parametrize(
    ("parts", "context"),
    [
        (["cursor-agent"], ["agents/cursor/bin/cursor-agent"]),
        (
            ["cursor-agent", "index.js", "node"],
            [
                "agents/cursor/bin/cursor-agent",
                *(f"agents/cursor/program/{name}" for name in ("cursor-agent", "index.js", "node")),
            ],
        ),
    ],
    ids=["one file", "a folder"],
)
def test_cursors_program_is_what_the_operator_downloaded(
    state: Path, tmp_path: Path, parts: list[str], context: list[str]
) -> None:
    there = tmp_path / "downloaded" / "versions"
    there.mkdir(parents=True)
    for part in parts:
        (there / part).write_text("#!/bin/sh\necho 2026.11.20\n")
        (there / part).chmod(0o755)
    (tmp_path / "cursor-agent").symlink_to(there / "cursor-agent")
    done = images(state, "--agents", "cursor", CURSOR_AGENT=str(tmp_path / "cursor-agent"))
    assert done.returncode == 0, done.stderr
    assert (state / "overlord-minion-cursor").read_text() == "cursor 2026.11.20\n"
    assert sorted((state / "context").read_text().split()) == context
    assert "proprietary" in done.stderr


def test_the_registry_of_whoever_builds_is_passed_on_and_stands_in_no_file(state: Path) -> None:
    images(state, "--agents", "codex", NPM_CONFIG_REGISTRY="https://npm.example.test/")
    assert "NPM_CONFIG_REGISTRY" in built(state)
    images(state, "--agents", "aider", NPM_CONFIG_REGISTRY="https://npm.example.test/")
    assert "NPM_CONFIG_REGISTRY" not in built(state)


def test_every_package_of_a_lock_is_pinned_to_its_content(state: Path) -> None:
    for agent in OF_NPM:
        lock = json.loads((LOCKS / agent / "package-lock.json").read_text())
        packages = {name: package for name, package in lock["packages"].items() if name}
        assert packages
        for name, package in packages.items():
            assert package["integrity"].startswith("sha512-"), name
            assert "resolved" not in package, "the registry is whoever builds has"
        asked = json.loads((LOCKS / agent / "package.json").read_text())
        assert asked["private"]
        versions = {**asked.get("dependencies", {}), **asked.get("optionalDependencies", {})}
        assert all(version.rpartition("@")[2][0].isdigit() for version in versions.values()), versions
    for lock in (LOCKS / "node.lock", LOCKS / "aider" / "aider.lock"):
        entries = re.split(r"\n(?=\S)", lock.read_text().strip())
        assert entries and all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_there_is_an_image_for_every_agent_that_is_known() -> None:
    script = (ROOT / "docker" / "images").read_text()
    assert [sorted(known.split()) for known in re.findall(r'^KNOWN="(.*)"$', script, re.MULTILINE)] == [
        sorted(EXECUTABLES)
    ]

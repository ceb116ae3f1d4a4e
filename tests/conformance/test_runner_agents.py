"""What every runner promises of coding agents (ports.Runner): their program is there when a session starts, or it is refused and
says how to get it. In containers it comes from an image of its own, and no session can write to it."""

import asyncio
import json
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.ports.runner import Runner
from tests.runners import IMAGE, OBEYS, DockerKit, Kit, Make, MemoryKit, docker, ending_of, launch

S1 = SessionId("s1")
PLACE = "/opt/agents/standin"
READ_ONLY = 30
LOOKS = f"""
import shutil, subprocess
found = shutil.which("standin", path="{PLACE}/bin:" + os.environ["PATH"])
seen = {{"said": subprocess.run([found, "--version"], capture_output=True, text=True).stdout, "refused": 0}}
try: open(found, "ab").close()
except OSError as error: seen["refused"] = error.errno
say(json.dumps(seen)); hear()
"""
"""Runs the agent's program, tries to write to it, and waits."""
SCRIPT = "#!/bin/sh\\necho standin {version}\\n"
FILE = """
FROM {image}
USER 0
RUN mkdir -p {place}/bin && printf '{script}' >{place}/bin/standin && chmod 777 {place}/bin/standin
LABEL overlord.agent="standin {version}" overlord.test={name}
"""
"""Each test has an image that is no other's, whatever else is the same. The program may be written by everybody, so that only how it is mounted stands in the way."""
here = pytest.mark.parametrize(
    "kit", ["process", pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)
"""Where Overlord itself sees what a session's image has. Elsewhere only the session can tell."""
everywhere = pytest.mark.parametrize(
    "kit", ["memory", "process", pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)
docker_only = pytest.mark.parametrize(
    "kit", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)


@dataclass
class Standin:
    """The program of an agent that is none: as an image, and on the search path."""

    image: str
    path: Path

    def build(self, version: str = "1.0", place: str = PLACE) -> None:
        """Make the image, or another one of its name."""
        script = SCRIPT.format(version=version)
        text = FILE.format(image=IMAGE, place=place, script=script, version=version, name=self.image)
        subprocess.run(
            ["docker", "build", "--quiet", "--tag", self.image, "-"],
            input=text,
            check=True,
            text=True,
            capture_output=True,
        )

    def install(self, version: str = "1.0") -> None:
        """Put it on the search path."""
        self.path.write_text(SCRIPT.format(version=version).replace("\\n", "\n"))
        self.path.chmod(0o755)

    def program(self, kit: Kit) -> AgentProgram:
        """It is there afterwards, in the way this runner has programs."""
        if isinstance(kit, DockerKit):
            self.build()
        else:
            self.install()
        return AgentProgram(program="standin", image=self.image, executable="standin")

    def volumes(self) -> list[str]:
        return docker(
            "volume", "ls", "--quiet", "--filter", f"label=overlord.agent.image={self.image}"
        ).split()


@pytest.fixture
def standin(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """Removed after the sessions that have it."""
    directory = tmp_path_factory.mktemp("bin")
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    standin = Standin(f"overlord-test-standin-{uuid.uuid4().hex[:10]}", directory / "standin")
    yield standin
    if subprocess.run(
        ["docker", "image", "inspect", standin.image], check=False, capture_output=True
    ).returncode:
        return
    for what, names in (("volume", standin.volumes()), ("image", [standin.image])):
        subprocess.run(["docker", what, "rm", "--force", *names], check=False, capture_output=True)


def with_agent(kit: Kit, program: AgentProgram, name: str = S1) -> Launch:
    return replace(launch(kit, name), agent=program)


async def begun(runner: Runner, kit: Kit, session: Launch) -> tuple[Any, Any]:
    """Start a session that waits; its line, and what it saw of its agent's program."""
    await runner.start(session)
    line = await kit.session_api.line()
    return line, json.loads(await line.hear())


async def seen(runner: Runner, kit: Kit, session: Launch) -> Any:
    """What a session saw, ended and removed."""
    line, found = await begun(runner, kit, session)
    line.say("go")
    await ending_of(runner, session.session)
    await runner.remove(session.session)
    return found


@here
async def test_a_session_has_its_agents_program_and_where_files_are_isolated_cannot_change_it(
    standin: Standin, kit: Kit, make: Make
) -> None:
    runner, program = make(LOOKS), standin.program(kit)
    assert await runner.agent_version(program) == "1.0"
    found = await seen(runner, kit, with_agent(kit, program))
    assert found == {
        "said": "standin 1.0\n",
        "refused": READ_ONLY if runner.capabilities.isolates_files else 0,
    }


@everywhere
async def test_an_agent_whose_program_is_missing_is_refused_with_how_to_get_it(kit: Kit, make: Make) -> None:
    runner = make(OBEYS)
    nothing = AgentProgram(program="codex", image="no-such-image", executable="no-such-program")
    if isinstance(kit, MemoryKit):
        kit.state.missing_agents.add("codex")
    for act in (runner.agent_version(nothing), runner.start(with_agent(kit, nothing))):
        with pytest.raises(RunnerRefused, match=r"codex.*(docker/images --agents codex|install)"):
            await act
    assert await runner.find(S1) is None
    assert await runner.sessions() == []
    await runner.start(launch(kit))
    (await kit.session_api.line()).say("0")
    assert (await ending_of(runner, S1)).exit_code == 0


@docker_only
async def test_another_image_of_the_name_has_another_volume_and_the_old_one_goes_with_its_last_session(
    standin: Standin, kit: Kit, make: Make
) -> None:
    runner, program = make(LOOKS), standin.program(kit)
    line, found = await begun(runner, kit, with_agent(kit, program))
    assert found["said"] == "standin 1.0\n"
    [old] = standin.volumes()
    standin.build("2.0")
    assert await runner.agent_version(program) == "2.0"
    assert (await seen(runner, kit, with_agent(kit, program, "s2")))["said"] == "standin 2.0\n"
    assert old in standin.volumes(), "a session has it"
    line.say("go")
    await ending_of(runner, S1)
    await runner.remove(S1)
    [new] = standin.volumes()
    assert new != old


@docker_only
async def test_a_volume_that_was_only_half_filled_is_filled_anew(
    standin: Standin, kit: Kit, make: Make
) -> None:
    program = standin.program(kit)
    assert (await seen(make(LOOKS), kit, with_agent(kit, program)))["said"] == "standin 1.0\n"
    [volume] = standin.volumes()
    cut_off = f"rm /agent/.whole; printf '{SCRIPT.format(version='half')}' >/agent/bin/standin"
    docker("run", "--rm", "--user", "0", "--entrypoint", "sh", "-v", f"{volume}:/agent", IMAGE, "-c", cut_off)
    found = await seen(make(LOOKS), kit, with_agent(kit, program, "s2"))
    assert found["said"] == "standin 1.0\n"


@docker_only
async def test_a_volume_that_somebody_removed_is_never_an_empty_one_in_a_session(
    standin: Standin, kit: Kit, make: Make
) -> None:
    runner, program = make(LOOKS), standin.program(kit)
    await seen(runner, kit, with_agent(kit, program))
    docker("volume", "rm", *standin.volumes())
    with pytest.raises(RunnerUnavailable, match=r"filled again at the next try"):
        await runner.start(with_agent(kit, program, "s2"))
    assert await runner.find(SessionId("s2")) is None
    assert (await seen(runner, kit, with_agent(kit, program, "s2")))["said"] == "standin 1.0\n"


@docker_only
async def test_two_overlords_at_once_fill_one_volume(standin: Standin, kit: Kit, make: Make) -> None:
    program = standin.program(kit)
    runners = {name: make(LOOKS) for name in ("s1", "s2", "s3")}
    await asyncio.gather(*(runner.start(with_agent(kit, program, name)) for name, runner in runners.items()))
    lines = [await kit.session_api.line() for _ in runners]
    assert [json.loads(await line.hear())["said"] for line in lines] == ["standin 1.0\n"] * 3
    assert len(standin.volumes()) == 1


@docker_only
async def test_a_filling_that_was_cut_off_is_taken_over(standin: Standin, kit: Kit, make: Make) -> None:
    """Its container is there, made by an Overlord that was killed before it could remove it."""
    program = standin.program(kit)
    await seen(make(LOOKS), kit, with_agent(kit, program))
    [volume] = standin.volumes()
    docker("create", "--name", volume, "--label", "overlord.agent=standin", standin.image, "-")
    assert (await seen(make(LOOKS), kit, with_agent(kit, program, "s2")))["said"] == "standin 1.0\n"
    assert volume not in docker("ps", "--all", "--format", "{{.Names}}").split()


@docker_only
async def test_an_image_without_the_program_is_refused_and_leaves_nothing(
    standin: Standin, kit: Kit, make: Make
) -> None:
    standin.build(place="/opt/agents/another")
    program = AgentProgram(program="standin", image=standin.image)
    with pytest.raises(RunnerRefused, match=f"has nothing at {PLACE}/bin"):
        await make(LOOKS).start(with_agent(kit, program))
    assert standin.volumes() == []


@docker_only
async def test_an_agent_without_an_image_of_its_own_is_what_the_sessions_image_has(
    kit: Kit, make: Make
) -> None:
    runner, program = make(OBEYS), AgentProgram(program="acp", executable="python")
    assert await runner.agent_version(program) == ""
    await runner.start(with_agent(kit, program))
    (await kit.session_api.line()).say("0")
    assert (await ending_of(runner, S1)).exit_code == 0

"""Images that are made anew while a daemon of the version before still runs: it begins nothing in them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.runner_choice import minion_stamp
from overlord.domain.identifiers import SessionId
from overlord.errors import RunnerUnavailable
from tests.puppet import open_door
from tests.runners import IMAGE, DockerKit, clean, engine_or_skip, launch

pytestmark = pytest.mark.docker

S1 = SessionId("s1")


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[DockerKit]:
    await engine_or_skip()
    async with open_door() as session_api:
        kit = DockerKit(tmp_path, session_api)
        yield kit
        await clean(kit.runner())


def of_version(kit: DockerKit, minion: str) -> DockerRunner:
    command = ["python", "-c", "import time; time.sleep(600)"]
    return DockerRunner(kit.root, image=IMAGE, instance=kit.instance, command=command, minion=minion)


async def test_a_session_waits_where_the_image_is_of_another_version_by_now_and_begins_under_its_own_daemon(
    kit: DockerKit,
) -> None:
    before, after = of_version(kit, "the one before"), of_version(kit, minion_stamp())
    with pytest.raises(RunnerUnavailable, match="wait until Overlord is started again"):
        await before.start(launch(kit))
    assert await before.find(S1) is None and await before.sessions() == []
    await after.start(launch(kit))
    assert await after.find(S1) is not None
    assert await before.find(S1) is not None  # what runs is looked after, whoever began it
    for runner in (before, after):
        await runner.close()


async def test_nothing_is_set_up_on_an_image_of_another_version(kit: DockerKit) -> None:
    before, after = of_version(kit, "the one before"), of_version(kit, minion_stamp())
    with pytest.raises(RunnerUnavailable, match=f"{IMAGE}-setup is of another version"):
        await before.ground("")
    for packages in ((), ("tree",)):
        with pytest.raises(RunnerUnavailable, match=f"{IMAGE}-setup is of another version"):
            await before.prepare_layer("0" * 16, image="", packages=packages)
    assert await after.ground("")
    for runner in (before, after):
        await runner.close()

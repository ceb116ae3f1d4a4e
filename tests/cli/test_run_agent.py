"""`overlord run --agent` from the outside: who works is shown, and who cannot work is refused before anything is made."""

from collections.abc import AsyncIterator

import pytest
import yaml

from tests.local import LocalSession
from tests.played_agents import PlayedAgent, done
from tests.quick import quick_desk
from tests.world import CALC

MENDS = [["write", "calc.py", CALC["calc.py"].replace("a - b", "a + b")], done("add() adds")]
TITLE = "add() subtracts in calc.py"


@pytest.fixture
async def user() -> AsyncIterator[LocalSession]:
    async with quick_desk() as user:
        yield user


def settings(user: LocalSession, **agents: object) -> None:
    text = {
        "process": {"python": user.python},
        "runner": "process",
        "sessions": {"grace_s": 2},
        "agents": agents,
    }
    (user.root / "overlord.yaml").write_text(yaml.safe_dump(text))


async def test_who_works_is_shown_while_it_works_and_at_the_end(user: LocalSession) -> None:
    settings(user, opencode=PlayedAgent(user.root, "opencode", MENDS).settings)
    ended = await user.overlord("run", TITLE, "--agent", "opencode")
    assert ended.code == 0, ended
    assert "opencode is at work with scripted; it may write calc.py" in ended.out
    assert "s of work by opencode ·" in ended.out
    told = await user.overlord("job", "brief", "1", "--repo", ".")
    assert "a work session of role minion, worked by opencode" in told.out


async def test_what_one_agent_could_not_do_is_tried_by_another(user: LocalSession) -> None:
    stuck = ["words", 'OVERLORD_EVENT {"type":"NEEDS_ESCALATION","reason":"I lack a plan","context":""}']
    first, second = PlayedAgent(user.root, "claude-code", [stuck]), PlayedAgent(user.root, "codex", MENDS)
    settings(user, **{"claude-code": first.settings, "codex": second.settings})
    assert (await user.overlord("run", TITLE, "--agent", "claude-code")).code == 1
    ended = await user.overlord("retry", "--agent", "codex")
    assert ended.code == 0, ended
    assert "codex is at work" in ended.out
    assert "s of work by claude-code, codex ·" in ended.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("run", TITLE, "--agent", "cluade"),
            "--agent cluade: there is no agent 'cluade'; did you mean claude-code? There is native,",
        ),
        (("run", TITLE, "--agent", "devin"), "--agent devin: there is no agent 'devin'; there is native,"),
        (
            ("run", TITLE, "--agent", "acp:nobody-has-this"),
            "agent acp:nobody-has-this: acp cannot work here: there is no nobody-has-this on the search path",
        ),
        (("init", "--agent", "aider"), "agent aider: it takes no tools of Overlord's"),
    ],
)
async def test_who_cannot_work_is_refused_before_anything_is_made(
    user: LocalSession, words: tuple[str, ...], told: str
) -> None:
    ended = await user.overlord(*words)
    assert ended.code == 3
    assert told in ended.err
    assert "No runs yet" in (await user.overlord("history")).out


async def test_a_name_that_the_settings_have_no_more_is_in_no_later_runs_way(user: LocalSession) -> None:
    played = PlayedAgent(user.root, "opencode", MENDS).settings
    settings(user, team={"program": "opencode", **played})
    assert (await user.overlord("run", TITLE, "--agent", "team")).code == 0
    settings(user, opencode=played)
    ended = await user.overlord("run", TITLE, "--agent", "opencode")
    assert ended.code == 0, ended

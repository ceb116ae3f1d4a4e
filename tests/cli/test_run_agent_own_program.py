"""`overlord run --agent NAME`: the user's own program works, and one that is missing is said before anything is made."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from overlord.embedded.play import call
from tests.agents.plays import done
from tests.local import git
from tests.quick import quick_desk
from tests.world import CALC

STAND_IN = Path(__file__).parents[1] / "agents" / "wire_stand_in.py"


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("codex", "there is no codex on the search path that Overlord was started with; install it: `npm install -g @openai/codex`"),
        ("nobody", "--agent nobody: there is no agent 'nobody'; there is native, claude-code, codex, opencode"),
    ],
    ids=["missing", "unknown"],
)  # fmt: skip
async def test_an_agent_that_cannot_work_here_is_said_before_anything_is_made(
    agent: str, said: str, tmp_path: Path
) -> None:
    async with quick_desk() as user:
        found = shutil.which("git")
        assert found
        (tmp_path / "git").symlink_to(found)
        ended = await user.overlord(
            "run", "--agent", agent, "add() subtracts", environment={"PATH": str(tmp_path)}
        )
        assert ended.code != 0
        assert said in ended.err
        assert git(user.repo, "branch", "--format=%(refname:short)") == "main"
        assert "Run 1" not in ended.out


async def test_the_users_own_program_takes_a_run_to_a_branch() -> None:
    async with quick_desk() as user:
        environment = user.environment({})
        config = Path(environment["OVERLORD_CONFIG"])
        command = json.dumps([sys.executable, str(STAND_IN), "codex"])
        config.write_text(f"{config.read_text()}agents: {{codex: {{command: {command}}}}}\n")
        script = "import pathlib; p = pathlib.Path('calc.py'); p.write_text(p.read_text().replace('a - b', 'a + b'))"
        user.model.will(call("shell", command=f'"{sys.executable}" -c "{script}"'), done("add adds"))
        ended = await user.overlord("run", "--agent", "codex", "add() subtracts in calc.py")
        assert ended.code == 0, ended.err
        assert git(user.repo, "show", "minion/issue-1:calc.py") + "\n" == CALC["calc.py"].replace(
            "a - b", "a + b"
        )

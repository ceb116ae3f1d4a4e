"""A setup session in memory: the recipe's commands run for real, in a tree written out from a repository in memory, and the real
`minion.setup.finish` ends it. No descendant of a command is looked for, since this process has others' as well."""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from minion import shell
from minion.errors import SetupFailed
from minion.interrupt import Interrupts
from minion.protocol import SETUP_FINISHED, Brief, SetupPlan, StepOutcome, StepResult
from minion.setup.environment import expanded, places
from minion.setup.finish import SetupResult, finish
from tests.memory.repository import LINK, SUBMODULE, Tree
from tests.memory.runner import ProgramKilled

KEPT_OUTPUT = 40_000
# In the Minion's place, which a command may kill: whoever ends without the mark was killed.
_BETWEEN = 'sh -euc "$1"; code=$?; : > "$2"; exit $code'


def write_out(tree: Tree, root: Path) -> None:
    """The files of a tree, in a directory."""
    root.mkdir(parents=True, exist_ok=True)
    for path, entry in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == LINK:
            place.symlink_to(entry.data.decode())
        elif entry.mode == SUBMODULE:
            place.mkdir()
        else:
            place.write_bytes(entry.data)
            if entry.mode.endswith("755"):
                place.chmod(0o755)


def set_up(
    brief: Brief,
    base: Tree,
    head: Tree,
    *,
    home: Path,
    directory: Path,
    cache: Path,
    secrets: Mapping[str, str],
    interrupts: Interrupts,
) -> list[StepResult]:
    """Run a setup to its end. Raises ProgramKilled."""
    plan, until = brief.setup or SetupPlan(), time.monotonic() + brief.limits.time_s
    taken = {path: head[path] for path in plan.taken if path in head}
    tree = home / "tree"
    write_out({path: entry for path, entry in base.items() if path not in plan.taken} | taken, tree)
    for entry in directory.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    variables = _variables(plan, home, directory, cache, brief.session_id)
    results = []
    for number, command in enumerate(plan.commands, 1):
        mark = home / f"ended-{number}"
        done = shell.run(
            ("sh", "-c", _BETWEEN, "sh", command, str(mark)),
            directory=tree,
            environment={**variables, **secrets},
            timeout_s=until - time.monotonic(),
            keep_bytes=KEPT_OUTPUT,
            waiting=interrupts.waiting,
        )
        if not mark.exists() and done.exit_code is not None:
            raise ProgramKilled(command)
        results.append(
            StepResult(
                name=f"setup-{number}",
                outcome=StepOutcome.TIMED_OUT if done.exit_code is None else StepOutcome.RAN,
                command=(command,),
                exit_code=done.exit_code,
                output=done.output,
            )
        )
        if done.exit_code != 0:
            return results
    made = SetupResult(
        directory=directory,
        tree=tree,
        tracked=frozenset(base),
        plan=plan,
        secrets=secrets,
        variables=variables,
        waiting=interrupts.waiting,
    )
    try:
        said = finish(made, until=until)
    except (SetupFailed, OSError) as error:
        return [*results, StepResult(name=SETUP_FINISHED, outcome=StepOutcome.BROKEN, output=str(error))]
    return [*results, StepResult(name=SETUP_FINISHED, outcome=StepOutcome.RAN, exit_code=0, output=said)]


def _variables(plan: SetupPlan, home: Path, directory: Path, cache: Path, session: str) -> dict[str, str]:
    plain = shell.plain_environment({"PATH": os.environ["PATH"]}, home)
    path = (*places(plan.path, directory), str(directory / "venv" / "bin"), plain["PATH"])
    return {
        **plain,
        "MINION_ID": session,
        "XDG_CACHE_HOME": str(cache),
        **expanded(plan.variables, directory),
        **{name: plain[name] for name in ("HOME", "TMPDIR")},
        "MINION_ENVIRONMENT": str(directory),
        "PATH": os.pathsep.join(dict.fromkeys(path)),
    }

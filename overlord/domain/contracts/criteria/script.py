"""`script`: a program of the repository, as it is at base, says whether the work is good.

It is put back as it is at base before it runs, so that no session can change what judges it. What it calls is the head's.
"""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from minion.protocol import CheckStep
from overlord.domain.checks.testruns.red_output import NOT_FOUND, cut_off
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.path import RepositoryPath
from overlord.domain.contracts.criteria.shell_line import RUN, Seconds, unjudged
from overlord.domain.contracts.part import Part

_RUN_IT = """\
if [ ! -f "$1" ]; then echo "There is no file $1 at base."; exit 127; fi
IFS= read -r first <"$1" || :
case "$first" in '#!'*) chmod u+x "$1";; esac
if [ -x "$1" ]; then exec "$1"; fi
exec sh "$1"
"""


class Script(Part):
    """A program of the repository."""

    path: RepositoryPath
    """The program, as it is at base."""
    timeout_s: Seconds = 600
    """Seconds it may take."""


def _as_script(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class ScriptPasses(Criterion):
    """That a program of the repository ends with exit code 0."""

    kind: ClassVar[str] = "script"
    is_static: ClassVar[bool] = False

    script: Annotated[Script, BeforeValidator(_as_script, json_schema_input_type=RepositoryPath | Script)]

    def describe(self) -> str:
        return named(self.kind, self.script.path)

    def command(self) -> str:
        return f"./{self.script.path}"

    def steps(self) -> tuple[CheckStep, ...]:
        path = self.script.path
        return (
            CheckStep(
                name=RUN,
                restore=(path,),
                command=("sh", "-c", _RUN_IT, "sh", f"./{path}"),
                timeout_s=self.script.timeout_s,
                plan=True,
            ),
        )

    def judge(self, seen: Seen) -> CriterionResult:
        step, path = seen.results.get(RUN), self.script.path
        if (why := unjudged(self.steps()[0], step)) or step is None or step.exit_code is None:
            return self.step_result(None, why, step)
        if step.exit_code == 0:
            return self.step_result(True, f"{path} ended with exit code 0.", step)
        if step.exit_code == NOT_FOUND and f"There is no file ./{path} at base." in step.output:
            return self.step_result(
                None, f"There is no file {path} at base: add it there, or name another.", step
            )
        why = cut_off(step.exit_code, step.output) or f"{path} ended with exit code {step.exit_code}."
        return self.step_result(False, f"{why} It has to end with 0.", step)

"""The settings of operators' own programs that are called at fixed points; docs/hooks.md."""

from typing import Annotated

from pydantic import AfterValidator, Field

from overlord.domain.hooks import Hook, HookProgram
from overlord.settings.model import Section

LONGEST_S = 60
"""A session waits for who may refuse."""


def _without_zero(value: str) -> str:
    if "\0" in value:
        raise ValueError("a word of a command has no zero byte")
    return value


Word = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_without_zero)]


class HookSettings(Section):
    """One program. It is started as it stands here, without a shell."""

    command: Annotated[tuple[Word, ...], Field(min_length=1, max_length=50)]
    seconds: Annotated[int, Field(gt=0, le=LONGEST_S)] = 10
    """How long it may take; then it is ended, with all that it started."""


HookList = Annotated[tuple[HookSettings, ...], Field(max_length=10)]


class HooksSettings(Section):
    """The programs of each point, in order."""

    idle: HookList = ()
    task_completed: HookList = ()
    shutdown: HookList = ()
    phase: HookList = ()
    gate: HookList = ()
    evidence: HookList = ()

    def programs(self, hook: Hook) -> tuple[HookProgram, ...]:
        """Those of one point."""
        listed: HookList = getattr(self, hook.value)
        return tuple(HookProgram(command=item.command, timeout_s=item.seconds) for item in listed)

    def names(self) -> dict[str, list[str]]:
        """What is called at each point that has programs, by name alone."""
        found = {hook.value: [program.name for program in self.programs(hook)] for hook in Hook}
        return {hook: names for hook, names in found.items() if names}

"""What `overlord doctor` finds of the operator's own programs: whether each can be started as the daemon would."""

import os
from collections.abc import Sequence

from overlord.adapters.hooks import program_trouble
from overlord.domain.hooks import ASKING, Hook
from overlord.entrypoints.doctor.finding import Finding, bad, warn, well
from overlord.home import Home
from overlord.settings.load import Settings


def examine_hooks(settings: Settings) -> Sequence[Finding]:
    """A finding for each program that is named, for all repositories or for one; none where there is none."""
    sections = {
        "hooks": settings.hooks,
        **{f"spaces.{name}.hooks": own.hooks for name, own in settings.spaces.items()},
    }
    directory, path, found = Home(settings.home).hooks, os.environ.get("PATH", os.defpath), list[Finding]()
    for key, section in sections.items():
        for hook in Hook:
            for program in section.programs(hook):
                trouble = program_trouble(program, directory, path)
                tell = (bad if hook in ASKING else warn) if trouble else well
                found.append(tell(f"{key}.{hook}", trouble or program.name))
    return found

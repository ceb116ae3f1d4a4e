"""Rules about pushes: what a ruleset or a protected branch refuses is said by a hook, in the middle of git's own protocol."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from overlord.embedded.forge.event import EventState

HOOK = """#!/bin/sh
cat "$(dirname "$0")/words" >&2
exit 1
"""


class RuledState(EventState):
    """A forge that can be told to refuse pushes."""

    def refuse_pushes(self, name: str, words: str) -> None:
        """Decline every push to a repository from now on, with these words."""
        place = self._rule(name)
        place.mkdir(parents=True, exist_ok=True)
        (place / "words").write_text(words)
        (place / "pre-receive").write_text(HOOK)
        (place / "pre-receive").chmod(0o755)

    def take_pushes(self, name: str) -> None:
        """Somebody takes the rule away."""
        shutil.rmtree(self._rule(name), ignore_errors=True)

    def push_environment(self, name: str) -> Mapping[str, str]:
        """What git is told when somebody pushes to a repository."""
        rule = self._rule(name)
        return {"GIT_CONFIG_PARAMETERS": f"'core.hooksPath={rule}'"} if rule.is_dir() else {}

    def _rule(self, name: str) -> Path:
        return self.root / "rules" / name

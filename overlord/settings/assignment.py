"""`KEY=VALUE`: a value of a repository's own, as a person gives it with a command."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from overlord.domain.conversation.argument import CommandError, Typed
from overlord.domain.text.plain_yaml import load_yaml
from overlord.settings.file import merged_over, nested

_SECRETS = "setup_secrets"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsArgument:
    """Values of a repository's own, each as `KEY=VALUE`."""

    noun: str = "the settings"
    help: str = "A value of its own, as budget.job_usd=2 or 'scope=[src/**]'."

    def read(self, words: str, _typed: Typed) -> tuple[dict[str, Any], str]:
        return assigned(words.split()), ""


def assigned(assignments: Iterable[str]) -> dict[str, Any]:
    """A section of the settings, of values as they are given. Raises CommandError, which holds none of the words."""
    section: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        path = tuple(key.split("."))
        if not equals or not all(path):
            raise CommandError("Give it as KEY=VALUE, as budget.job_usd=2.")
        if path[0] == _SECRETS:
            raise CommandError(f"{_SECRETS} are not given by command: name them in your settings file.")
        try:
            section = merged_over(section, nested(path, load_yaml(value)))
        except yaml.YAMLError:
            raise CommandError("A value cannot be read as YAML.") from None
    return section

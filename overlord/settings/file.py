"""A YAML file of settings as nested dicts, and how one of these goes over another."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.problem import yaml_problem
from overlord.errors import SettingsError
from overlord.settings.env import reason_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSettings:
    """What settings were made of, before anything of it was checked. Settings that come to the same are the same."""

    merged: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    file: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    path: Path = field(default=Path(), compare=False, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    overrides: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    added: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, compare=False, repr=False)
    """The repositories people added by command, and what they said of each."""


def read_yaml(path: Path, *, required: bool) -> dict[str, Any]:
    """What a file says; nothing when it is not there and need not be. Raises SettingsError without quoting it."""
    try:
        value = load_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise SettingsError(f"OVERLORD_CONFIG names {path}, which does not exist") from None
        return {}
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} cannot be read as YAML: {yaml_problem(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(f"{path} must be a mapping of settings, not a {type(value).__name__}")
    if "home" in value:
        raise SettingsError(f"{path}: home cannot be set in the file; set OVERLORD_HOME")
    return value


def merged_over(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """What one says with what the other says over it, key by key."""
    merged = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        merged[key] = (
            merged_over(known, value) if isinstance(known, dict) and isinstance(value, Mapping) else value
        )
    return merged


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A value at a path of keys, and nothing else."""
    return {path[0]: nested(path[1:], value) if path[1:] else value}


def put_at(values: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The same with this value at a path of keys, in place of whatever stood there."""
    below = put_at(values[path[0]], path[1:], value) if path[1:] else value
    return {**values, path[0]: below}


def has_at(values: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Whether anything is said at a path of keys."""
    below = values.get(path[0]) if path[1:] else None
    return has_at(below, path[1:]) if isinstance(below, Mapping) else not path[1:] and path[0] in values


def found_at(raw: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """What stands at a path of keys."""
    for key in path:
        raw = raw[key]
    return raw

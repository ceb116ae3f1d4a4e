"""The files that come with Overlord: `config/` of the repository, which the wheel carries as `overlord/config/`."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


@cache
def config_directory() -> Traversable:
    """Where they are: in an installed wheel inside the package, in a checkout beside it."""
    packed = files("overlord") / "config"
    return packed if packed.is_dir() else Path(__file__).parents[1] / "config"


def packaged(name: str) -> str:
    """The text of one of them. `name` is its path below `config/`."""
    return (config_directory() / name).read_text(encoding="utf-8")

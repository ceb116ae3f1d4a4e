"""YAML that the operator or Overlord itself wrote, read by libyaml where PyYAML has it: a start reads several documents.

What a repository wrote goes through `untrusted_yaml`.
"""

from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """What the document says; None for an empty one. Raises yaml.YAMLError."""
    try:
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - both are safe loaders
    except yaml.YAMLError:
        return yaml.safe_load(text)  # says what is wrong in the same words wherever it runs

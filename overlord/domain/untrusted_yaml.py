"""YAML that a repository wrote, read without letting it grow: bounded in bytes and depth, no aliases, no tags.

What cannot be read is refused in a sentence that names the file; it is never taken for an absent or an empty one.
"""

from typing import Any

import yaml

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8


class UntrustedYamlError(ValueError):
    """The document is not one to read; the message says why and in which file."""


def read_yaml(content: bytes, path: str) -> Any:
    """What the document says; None for an empty one. Raises UntrustedYamlError."""
    if len(content) > MAX_BYTES:
        raise UntrustedYamlError(f"{path} is larger than {MAX_BYTES:,} bytes")
    try:
        text = content.decode()
        strange = _strangeness(text)
        loaded = None if strange else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        told = " ".join(str(error).split())[:200]
        raise UntrustedYamlError(f"{path} cannot be read as YAML: {told}") from None
    if strange:
        raise UntrustedYamlError(f"{path}: {strange}")
    return loaded


def _strangeness(text: str) -> str:
    """What makes YAML grow or take long to read, found before it is loaded."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return "nothing in it is so deep"
        if isinstance(event, yaml.AliasEvent):
            return "aliases (*name) are not allowed"
    return ""

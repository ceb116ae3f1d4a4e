"""YAML that a repository wrote, read without letting it grow: bounded in bytes and depth, no aliases, no tags, no key twice.

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
    node = compose_yaml(content, path)
    return None if node is None else value_of(node, path)


def compose_yaml(content: bytes, path: str) -> yaml.Node | None:
    """The document as nodes, which know their lines; None for an empty one. Raises UntrustedYamlError."""
    if len(content) > MAX_BYTES:
        raise UntrustedYamlError(f"{path} is larger than {MAX_BYTES:,} bytes")
    try:
        text = content.decode()
        strange = _strangeness(text)
        node: yaml.Node | None = None if strange else yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise UntrustedYamlError(f"{path} cannot be read as YAML: {_error_line(error)}") from None
    if node is not None:
        strange = _twice(node)
    if strange:
        raise UntrustedYamlError(f"{path}: {strange}")
    return node


def value_of(node: yaml.Node, path: str) -> Any:
    """What a composed document says. Raises UntrustedYamlError."""
    try:
        return yaml.SafeLoader("").construct_document(node)
    except (yaml.YAMLError, ValueError) as error:
        raise UntrustedYamlError(f"{path} cannot be read as YAML: {_error_line(error)}") from None


def _error_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


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


def _twice(node: yaml.Node) -> str:
    """A key that is said twice, of which YAML readers take one or the other."""
    if isinstance(node, yaml.SequenceNode):
        return next((strange for item in node.value if (strange := _twice(item))), "")
    if not isinstance(node, yaml.MappingNode):
        return ""
    known: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in known:
                return f"line {key.start_mark.line + 1}: the key {key.value[:100]!r} is there twice"
            known.add(key.value)
        if strange := _twice(key) or _twice(value):
            return strange
    return ""

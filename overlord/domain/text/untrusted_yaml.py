"""YAML that a repository wrote, read without letting it grow: bounded in bytes and depth, no aliases, no tags, no key twice.

What cannot be read is refused in a sentence that names the file; it is never taken for an absent or an empty one.
"""

from typing import Any

import yaml

from overlord.domain.text.problem import yaml_problem

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UntrustedYamlError(ValueError):
    """The document is not one to read; the message says why and in which file. `line`: where, if that is known; `problem`: why,
    without the file."""

    def __init__(self, message: str, *, problem: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.problem = problem or message
        self.line = line


def read_yaml(content: bytes, path: str) -> Any:
    """What the document says; None for an empty one. Raises UntrustedYamlError."""
    node = compose_yaml(content, path)
    return None if node is None else value_of(node, path)


def compose_yaml(content: bytes, path: str, *, is_plain: bool = False) -> yaml.Node | None:
    """The document as nodes, which know their lines; None for an empty one. `is_plain`: a tag or an anchor is refused even where it
    does nothing. Raises UntrustedYamlError."""
    if len(content) > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES:,} bytes"
        raise UntrustedYamlError(f"{path} {problem}", problem=problem)
    try:
        text = content.decode()
        strange = _strangeness(text, is_plain=is_plain)
        node: yaml.Node | None = None if strange else yaml.compose(text, _LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(path, _in_usual_words(content, error)) from None
    if node is not None:
        strange = _twice(node)
    if strange:
        line, problem = strange
        place = path if line is None else f"{path}: line {line}"
        raise UntrustedYamlError(f"{place}: {problem}", problem=problem, line=line)
    return node


def value_of(node: yaml.Node, path: str) -> Any:
    """What a composed document says. Raises UntrustedYamlError."""
    try:
        return yaml.SafeLoader("").construct_document(node)
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> UntrustedYamlError:
    """Never with a line of the document, which may hold a secret."""
    said = yaml_problem(error) if isinstance(error, yaml.YAMLError) else " ".join(str(error).split())[:200]
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    line = None if mark is None else mark.line + 1
    problem = f"cannot be read as YAML: {said.removeprefix(f'line {line}: ')}"
    return UntrustedYamlError(f"{path} cannot be read as YAML: {said}", problem=problem, line=line)


def _in_usual_words(content: bytes, error: Exception) -> Exception:
    """What PyYAML's own reader holds against it: libyaml has other words, which are not the same on every machine."""
    try:
        for _ in yaml.parse(content.decode(), yaml.SafeLoader):
            pass
    except (yaml.YAMLError, ValueError) as usual:
        return usual
    return error


def _strangeness(text: str, *, is_plain: bool) -> tuple[int | None, str] | None:
    """What makes YAML grow or take long to read, found before it is loaded, with its line."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return None, "nothing in it is so deep"
        if isinstance(event, yaml.AliasEvent):
            return None, "aliases (*name) are not allowed"
        if is_plain and isinstance(event, yaml.NodeEvent) and event.start_mark is not None:
            line = event.start_mark.line + 1
            if getattr(event, "tag", None) is not None:
                return line, "tags (!name) are not allowed"
            if event.anchor is not None:
                return line, "anchors (&name) are not allowed"
    return None


def _twice(node: yaml.Node) -> tuple[int, str] | None:
    """A key that is said twice, of which YAML readers take one or the other."""
    if isinstance(node, yaml.SequenceNode):
        return next((strange for item in node.value if (strange := _twice(item))), None)
    if not isinstance(node, yaml.MappingNode):
        return None
    known: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in known:
                return key.start_mark.line + 1, f"the key {key.value[:100]!r} is there twice"
            known.add(key.value)
        if strange := _twice(key) or _twice(value):
            return strange
    return None

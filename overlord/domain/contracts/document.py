"""A contract's files as one document, which knows the file and the line of each key.

Keys are read as they are written: YAML takes `on`, `yes` and `no` for truth values, and a gate has a key `on`. Nothing else in a
contract is read in a way of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import yaml

from overlord.domain.text.untrusted_yaml import UntrustedYamlError, compose_yaml
from overlord.errors import ContractProblem

_SIMPLE_TAGS = frozenset({f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null")})
_VERSION_1_KEYS = {
    "actors": "role",
    "lifetime": "lifetime_h",
    "on": "after",
    "audience": "answered_by",
    "exhausted": "on_exhausted",
}
"""What version 1 calls the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The top-level keys of all files, joined."""

    files: tuple[tuple[str, yaml.MappingNode], ...]
    value: Mapping[str, Any]

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> Self | list[ContractProblem]:
        """The files as one, or everything that is wrong with them before anybody looks at what they say."""
        nodes: list[tuple[str, yaml.MappingNode]] = []
        problems: list[ContractProblem] = []
        for path, content in files.items():
            try:
                node = compose_yaml(content, path, is_plain=True)
            except UntrustedYamlError as error:
                problems.append(_problem(path, error.line, error.problem, rule="yaml"))
                continue
            if isinstance(node, yaml.MappingNode):
                nodes.append((path, node))
            else:
                line = None if node is None else node.start_mark.line + 1
                problems.append(_problem(path, line, "the document: must have keys and values, and has none"))
        problems += _keys_in_two_files(nodes)
        if problems:
            return problems
        value = {key: item for _, node in nodes for key, item in _value(node).items()}
        return cls(files=tuple(nodes), value=value)

    def where(self, way: Sequence[str | int]) -> tuple[str, int | None]:
        """The file and the line of the deepest part on the way to what is meant."""
        for path, root in self.files:
            keys = _keys(root)
            first = keys.get(str(way[0])) or keys.get(_VERSION_1_KEYS.get(str(way[0]), "")) if way else None
            if first is not None:
                return path, _line(first[0], first[1], way[1:])
        return self.files[0][0], None


def _line(key: yaml.Node, node: yaml.Node, way: Sequence[str | int]) -> int:
    line: int = key.start_mark.line + 1
    for part in way:
        if isinstance(node, yaml.MappingNode):
            keys = _keys(node)
            found = keys.get(str(part)) or keys.get(_VERSION_1_KEYS.get(str(part), ""))
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _keys(node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    return {_key(key): (key, value) for key, value in node.value}


def _key(node: yaml.Node) -> str:
    """A key as it is written. One that is a list or a mapping is no key of a contract, and refused as unknown."""
    return node.value if isinstance(node, yaml.ScalarNode) else "?"


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {_key(key): _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    if node.tag not in _SIMPLE_TAGS:
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        return node.value  # a number too long to be one


def _keys_in_two_files(nodes: Sequence[tuple[str, yaml.MappingNode]]) -> Iterator[ContractProblem]:
    taken: dict[str, str] = {}
    for path, node in nodes:
        for key, (place, _) in _keys(node).items():
            if key in taken:
                message = f"the key is in {taken[key]} too"
                yield _problem(
                    path, place.start_mark.line + 1, message, key=key, fix="keep it in one of the files"
                )
            taken.setdefault(key, path)


def _problem(
    path: str, line: int | None, message: str, *, rule: str = "schema", key: str = "", fix: str = ""
) -> ContractProblem:
    return ContractProblem(file=path, line=line, key=key, rule=rule, message=message, fix=fix)

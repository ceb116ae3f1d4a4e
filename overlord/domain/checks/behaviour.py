"""Whether a change alters what a program does, as its paths and its syntax show. What does not needs no test to prove it.

Code decides: documentation, configuration and pictures by their paths; comments, layout, annotations, moved definitions and renamed
names by comparing words. Whatever is not certain is a change of behaviour.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from overlord.domain.changes.paths import guard_of, is_test_path
from overlord.domain.checks.testcode.compare import Source
from overlord.domain.checks.testcode.syntax import COMMENTS, language_of, leaves, named, parse
from overlord.domain.scope.check import Change

_DOCUMENTS = re.compile(
    r"(?i)(?:.*/)?(?:docs?/.*(?<!\.py)|[^/]*\.(?:md|mdx|rst|txt|adoc|png|jpe?g|gif|svg|ico|webp|pdf|css|scss|less|po|pot)"
    r"|(?:licen[cs]e|copying|notice|authors|contributors|changelog|changes|history|news|readme|codeowners)[^/]*)"
)
_CONFIGURATION = re.compile(
    r"(?i)(?:.*/)?(?:[^/]*\.(?:ya?ml|toml|ini|cfg|json|jsonc|lock|properties|conf|env|editorconfig|gitignore|gitattributes|dockerignore)"
    r"|dockerfile[^/]*|makefile|\.[^/]+)"
)
_ASKS_FOR_TESTS = re.compile(
    r"(?i)\b(?:add|write|improve|increase|extend|more|missing|lacks?|without|untested|needs?|cover)\b.{0,60}\b(?:tests?|coverage|testing)\b"
    r"|\btest coverage\b|\btests? for\b"
)
_DEFINES = frozenset({"def", "class", "function", "func", "const", "let", "var", "type", "interface"})
_DEFINITIONS = frozenset({
    "function_definition", "class_definition", "decorated_definition", "function_declaration", "class_declaration",
    "method_declaration", "type_declaration", "interface_declaration", "type_alias_declaration", "export_statement",
})  # fmt: skip
_ANNOTATIONS = frozenset({"type_annotation", "type", "decorator_annotation"})


def is_code(change: Change) -> bool:
    """Whether a changed file may decide what a program does, by its path."""
    return any(map(_may_be_code, change.paths))


def _may_be_code(path: str) -> bool:
    if is_test_path(path) or guard_of(path) is not None:
        return False
    return bool(language_of(path)) or not (_DOCUMENTS.fullmatch(path) or _CONFIGURATION.fullmatch(path))


def exemption(changes: Sequence[Change], sources: Iterable[Source], title: str) -> str:
    """Why a change needs no proof, or nothing. `sources` are its code, as it was and as it is; `title` is the issue's."""
    code = [change for change in changes if is_code(change)]
    if not code:
        if any(is_test_path(path) for change in changes for path in change.paths):
            return "the issue asks for tests" if _ASKS_FOR_TESTS.search(title) else ""
        return "only documentation or configuration is changed"
    found = {source.path: source for source in sources}
    if any(change.path not in found or not language_of(change.path) for change in code):
        return ""
    pairs = [_words(found[change.path]) for change in code]
    if any(before is None or after is None for before, after in pairs):
        return ""
    if all(before == after for before, after in pairs):
        return "only layout, comments or annotations are changed"
    if _is_moved(list(found.values())):
        return "definitions are moved, and nothing else"
    before, after = ([one for pair in pairs for one in pair[side] or ()] for side in (0, 1))
    return "names are changed, and nothing else" if _is_renamed(before, after) else ""


def _words(source: Source) -> tuple[list[str] | None, list[str] | None]:
    sides = ((source.old_path or source.path, source.before), (source.path, source.after))
    return tuple(_meaning(path, text) for path, text in sides)  # type: ignore[return-value]


def _meaning(path: str, text: bytes | None) -> list[str] | None:
    if text is None:
        return []
    root = parse(path, text)
    return None if root is None else list(_meaningful(root))


def _meaningful(root: Node) -> Iterator[str]:
    """The words that decide what runs: without comments, docstrings and annotations."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in COMMENTS or _is_annotation(node) or _is_docstring(node):
            continue
        children = node.children
        if not children or node.type in {"string", "template_string"}:
            yield from leaves(node)
            continue
        pending.extend(
            one
            for one in reversed(children)
            if one.type not in {":", "->"} or node.type not in {"typed_parameter", "function_definition"}
        )


def _is_annotation(node: Node) -> bool:
    """A type of a parameter or a result. That of a field is none: dataclasses and the like are made of it."""
    of_field = node.type == "type" and node.parent is not None and node.parent.type == "assignment"
    return node.type in _ANNOTATIONS and not of_field


def _is_docstring(node: Node) -> bool:
    return (
        node.type == "expression_statement"
        and len(node.named_children) == 1
        and node.named_children[0].type == "string"
    )


def _is_renamed(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether each name became one other everywhere, no two became one, and each that did is defined here: another function that
    is called from now on is no renaming."""
    if len(before) != len(after):
        return False
    defined = {name for word, name in pairwise(before) if word in _DEFINES}
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for old, new in zip(before, after, strict=True):
        if old != new and (old not in defined or not new.isidentifier()):
            return False
        if there.setdefault(old, new) != new or back.setdefault(new, old) != old:
            return False
    return True


def _is_moved(sources: Sequence[Source]) -> bool:
    """Whether the same definitions stand in other files or in another order, and every other statement is where it was. Imports may
    differ only where a definition went to another file."""
    before = [_top(source.old_path or source.path, source.before) for source in sources]
    after = [_top(source.path, source.after) for source in sources]
    sides = [
        (old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None
    ]
    if len(sides) != len(sources):
        return False
    if any(old.others != new.others for old, new in sides):
        return False
    whole = [sum((side[place].definitions for side in sides), Counter[str]()) for place in (0, 1)]
    crossed = any(old.definitions != new.definitions for old, new in sides)
    return whole[0] == whole[1] and (crossed or all(old.imports == new.imports for old, new in sides))


class _Top(NamedTuple):
    """What stands at the top of a file, each statement by its words."""

    definitions: Counter[str]
    imports: list[str]
    others: list[str]


def _top(path: str, text: bytes | None) -> _Top | None:
    found = _Top(Counter(), [], [])
    root = parse(path, text) if text is not None else None
    if text is not None and root is None:
        return None
    for one in named(root):
        sentence = " ".join(_meaningful(one))
        if one.type.startswith(("import", "future_import", "package")):
            found.imports.append(sentence)
        elif one.type in _DEFINITIONS:
            found.definitions[sentence] += 1
        elif not _is_docstring(one):
            found.others.append(sentence)
    return found

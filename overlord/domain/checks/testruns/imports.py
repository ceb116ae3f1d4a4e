"""Whether a test file imports what a change changed, where nothing more exact is known of what it runs."""

import re
from collections.abc import Collection, Iterator
from posixpath import dirname, join, normpath

from overlord.domain.checks.testcode.syntax import language_of

MOST_CHARS = 200_000
_PYTHON = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+([^#\n]+)|import\s+([^#\n]+))", re.MULTILINE)
_SCRIPT = re.compile(r"""(?:from|require\(|import\(|import)\s*["'`]([^"'`\n]{1,300})["'`]""")
_ROOTS = ("src/", "lib/", "python/")


def imports_changed(path: str, source: bytes, changed: Collection[str]) -> bool:
    """Whether the test file at `path` imports one of the changed files itself. Go's tests belong to the code beside them."""
    language = language_of(path)
    text = source.decode("utf-8", "replace")[:MOST_CHARS]
    if language == "go":
        return any(dirname(path) == dirname(one) for one in changed if one.endswith(".go"))
    if language == "python":
        return not set(_modules_read(path, text)).isdisjoint(
            name for one in changed for name in _modules_of(one)
        )
    known = {one.rpartition(".")[0] for one in changed if language_of(one)}
    known |= {one.removesuffix("/index") for one in known}
    return any(_resolved(path, found) in known for found in _SCRIPT.findall(text))


def _modules_of(path: str) -> Iterator[str]:
    """The names a changed file of Python is imported by."""
    if not path.endswith((".py", ".pyi")):
        return
    bare = path.rpartition(".")[0].removesuffix("/__init__")
    yield bare.replace("/", ".")
    for root in _ROOTS:
        if bare.startswith(root):
            yield bare.removeprefix(root).replace("/", ".")


def _modules_read(path: str, text: str) -> Iterator[str]:
    package = dirname(path).replace("/", ".")
    for module, names, plain in _PYTHON.findall(text):
        if plain:
            yield from (one.split(" as ")[0].strip() for one in plain.split(","))
            continue
        dots = len(module) - len(module.lstrip("."))
        above = package.rsplit(".", dots - 1)[0] if dots > 1 else package
        whole = f"{above}.{module.lstrip('.')}".strip(".") if dots else module
        yield whole
        yield from (f"{whole}.{one.split(' as ')[0].strip(' ()')}" for one in names.split(","))


def _resolved(path: str, found: str) -> str:
    whole = normpath(join(dirname(path), found)) if found.startswith(".") else found
    return re.sub(r"\.[cm]?[jt]sx?$", "", whole)

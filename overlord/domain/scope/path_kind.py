"""What a path of a repository is, told from its words alone: a test, a page, an example, code, or nothing to be opened."""

import re
from functools import lru_cache

from minion.protocol import PROTECTED_ALWAYS, PROTECTED_UNLESS_NAMED, is_protected

_STRAY_PARTS = frozenset({"", ".", ".."})
TEST_NAME = re.compile(r"(?:^(?:test|tests|spec)[-_.])|(?:[-_.](?:test|tests|spec|vader)$)", re.IGNORECASE)
TEST_DIRECTORIES = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing"})
_SAMPLE_DIRECTORIES_WORDS = """
example examples sample samples benchmark benchmarks bench fixtures __fixtures__ testdata vendor third_party
node_modules demo dist
"""
_SAMPLE_DIRECTORIES = frozenset(_SAMPLE_DIRECTORIES_WORDS.split())
DOC_DIRECTORIES = frozenset({"doc", "docs", "documentation", "man", "manual", "website"})
_DOC_SUFFIXES = frozenset(["md", "rst", "txt", "adoc", "mdx", "markdown", "1", "5", "7", "8"])
SCRIPT = frozenset(["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"])
_CODE_WORDS = """
py pyi go rs rb java kt scala swift cs php c h cc cpp hpp m dart sh bash zsh fish vim vue svelte html css scss sql lua
ex exs pl
"""
_CODE = frozenset(_CODE_WORDS.split()) | SCRIPT
PLACES = frozenset({"index", "main", "mod", "lib", "__init__", "init", "__main__"})
"""Stems that say nothing: such a file is called as its directory is."""
_SEPARATORS = str.maketrans("", "", "-_. ")


@lru_cache(maxsize=10_000)
def fold(name: str) -> str:
    """A name without what people write differently: case, separators, a plural."""
    folded = name.lower().translate(_SEPARATORS)
    return folded[:-1] if len(folded) > 4 and folded.endswith("s") and not folded.endswith("ss") else folded


def stem_of(path: str) -> str:
    """What a file is called, without endings, marks of a test and leading underscores."""
    name = path[path.rfind("/") + 1 :]
    stem = name[: name.rfind(".")] if "." in name.strip(".") else name
    return TEST_NAME.sub("", stem).strip("_") or stem


def name_of(path: str) -> str:
    """What a file is known as: `index.ts` and its like by the directory they stand for."""
    stem, parts = stem_of(path), path.split("/")[:-1]
    places = [part for part in parts if part.lower() not in {"src", "lib", "source", *TEST_DIRECTORIES}]
    return places[-1] if stem in PLACES and places else stem


def suffix_of(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") + 1 :].lower() if "." in name else ""


def is_test(path: str) -> bool:
    """Whether a file belongs to tests, by its name or by a directory it is in."""
    *directories, name = path.split("/")
    stem = name[: name.rfind(".")] if "." in name.strip(".") else name
    return bool(TEST_NAME.search(stem)) or not TEST_DIRECTORIES.isdisjoint(map(str.lower, directories))


def is_sample(path: str) -> bool:
    """Whether it is there to be looked at, or somebody else's: examples, benchmarks, fixtures, what is vendored."""
    return not _SAMPLE_DIRECTORIES.isdisjoint(map(str.lower, path.split("/")[:-1]))


def is_doc(path: str) -> bool:
    """Whether people read it: documentation, a manual page, a README."""
    *directories, _ = path.split("/")
    in_docs = not DOC_DIRECTORIES.isdisjoint(map(str.lower, directories))
    return suffix_of(path) in _DOC_SUFFIXES and (
        in_docs or suffix_of(path) not in {"txt", "1", "5", "7", "8"}
    )


def is_code(path: str) -> bool:
    return suffix_of(path) in _CODE


def is_source(path: str) -> bool:
    """Whether it is code that does the work: no test, no example, no documentation."""
    return is_code(path) and not is_test(path) and not is_sample(path) and not is_doc(path)


def is_fit(path: str) -> bool:
    """Whether a path may be proposed at all: inside the repository, not protected, and no name a pattern cannot be."""
    strange = path.startswith(("!", "#")) or path != path.strip() or "\0" in path
    return not strange and _STRAY_PARTS.isdisjoint(path.split("/")) and not is_protected(path)


def opens_protected(pattern: str) -> bool:
    """Whether a pattern names a protected place, which is more than `**` does."""
    place = f"{pattern.strip('/')}/".casefold()
    return any(place.startswith(f"{name}/") for name in (*PROTECTED_ALWAYS, *PROTECTED_UNLESS_NAMED))

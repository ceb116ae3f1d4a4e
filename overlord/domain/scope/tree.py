"""A repository's paths as inference asks for them: by what people write of a path, by name, the tests beside, package roots."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from overlord.domain.scope.path_kind import (
    DOC_DIRECTORIES,
    SCRIPT,
    TEST_NAME,
    fold,
    is_code,
    is_doc,
    is_fit,
    is_sample,
    is_source,
    is_test,
    name_of,
    stem_of,
    suffix_of,
)

MOST_LOOSE = 20
_MANIFESTS = (
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "composer.json",
)
_CHANGELOG = re.compile(r"(?:changelog|changes|history|news|release[-_]?notes)(?:\.\w+)?$", re.IGNORECASE)
_LINE = re.compile(r"(?::\d+(?:[-:]\d+)?:?|#L?\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?)$")


class Tree:
    """The paths of a commit."""

    def __init__(self, paths: Collection[str]) -> None:
        self.paths = sorted(filter(is_fit, paths))
        self._there = frozenset(self.paths)
        self._roots: dict[str, str] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._there

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The code that does the work."""
        return tuple(filter(is_source, self.paths))

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        """Paths by their last part, in lower case and without what compilers change of it."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            found[_without_suffix(path[path.rfind("/") + 1 :].lower())].append(path)
        return found

    @cached_property
    def directories(self) -> frozenset[str]:
        return frozenset(parent for path in self.paths for parent in _parents(path))

    def resolve(self, word: str) -> str:
        """The file that a word names, however it is written: with a line, backslashes, in another case, or where it was
        installed. A path needs two parts in common, a bare name must be one file's alone. Empty when it names none."""
        clean = _LINE.sub("", word.strip().rstrip(".:")).replace("\\", "/")
        clean = clean.removeprefix("./").lstrip("/")
        if clean in self._there:
            return clean
        parts = [_without_suffix(part) for part in clean.lower().split("/")]
        bearers = self._by_name.get(parts[-1], []) if "." in clean.strip(".") else []
        if len(parts) == 1:
            return bearers[0] if len(bearers) == 1 else ""
        scored = [(_in_common(parts, path), path) for path in bearers]
        best = max((score for score, _ in scored), default=0)
        fitting = [path for score, path in scored if score == best]
        whole = any(best == path.count("/") + 1 for path in fitting)
        return fitting[0] if len(fitting) == 1 and (best >= 2 or whole) else ""

    def module(self, dotted: str) -> str:
        """The file of a module that is named with dots, whatever of it is named behind. Empty when there is none."""
        parts = dotted.split(".")
        for length in range(len(parts), 1, -1):
            path = "/".join(parts[:length])
            for ending in (".py", "/__init__.py"):
                found = [
                    there
                    for there in (f"{path}{ending}", f"src/{path}{ending}", f"lib/{path}{ending}")
                    if there in self
                ]
                if found:
                    return found[0]
        return ""

    def files_in(self, directory: str) -> tuple[str, ...]:
        """The files that lie directly in a directory, without those of directories below."""
        return tuple(path for path in under(self.paths, directory) if "/" not in path[len(directory) + 1 :])

    def called(self, wanted: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """The files that bear each of these folded names: by their stem, by their directory's name, or by both joined."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            for key in dict.fromkeys(_keys(path)):
                if key in wanted:
                    found[key].append(path)
        return {key: tuple(paths) for key, paths in found.items()}

    @cached_property
    def _tests(self) -> Mapping[str, list[str]]:
        """Test files by what they test. Files in tests that no mark tells from what tests use count where none has a mark."""
        tests = [path for path in self.paths if is_test(path) and is_code(path) and not is_sample(path)]
        marked = {suffix_of(path) for path in tests if _is_marked(path)}
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in tests:
            if _is_marked(path) or suffix_of(path) not in marked:
                found[fold(name_of(path))].append(path)
        return found

    @cached_property
    def tests(self) -> frozenset[str]:
        """The files that are tests themselves."""
        return frozenset(test for tests in self._tests.values() for test in tests)

    @cached_property
    def test_roots(self) -> tuple[str, ...]:
        """The outermost directories that hold tests alone."""
        roots = dict.fromkeys(
            root for path in self.paths if not is_sample(path) and (root := _test_root(path))
        )
        return tuple(root for root in roots if not any(root.startswith(f"{other}/") for other in roots))

    def test_roots_of(self, path: str) -> tuple[str, ...]:
        """The directories of tests that a file's tests may be in, the nearest first: those beside a directory it is in."""
        if suffix_of(path) == "go":
            return ()
        siblings = ((root.rpartition("/")[0], root) for root in self.test_roots)
        above = [root for parent, root in siblings if not parent or path.startswith(f"{parent}/")]
        return tuple(sorted(above, key=lambda root: -root.count("/")))

    def tests_of(self, path: str, names: Collection[str] = ()) -> tuple[str, ...]:
        """The test files there are for a file, the nearest by its name; and those called as one of `names`, or in a
        directory called as the file is."""
        mine = [test for test in self._tests.get(fold(name_of(path)), []) if _same_kind(path, test)]
        nearest = max((_shared(path, test) for test in mine), default=0)
        mine = [
            test
            for test in mine
            if _shared(path, test) == nearest and (suffix_of(path) != "go" or _is_sibling(path, test))
        ]
        mine += [test for name in names for test in self._tests.get(fold(name), []) if _same_kind(path, test)]
        return tuple(
            dict.fromkeys(mine or self._tests_in(fold(name_of(path))) or self._tests_of_package(path))
        )

    def _tests_of_package(self, path: str) -> tuple[str, ...]:
        """Tests that are called as the directory a file is in, if that is not the package as a whole."""
        directory = path.rpartition("/")[0]
        if suffix_of(path) == "go" or directory == self.package_root(path):
            return ()
        called = self._tests.get(fold(directory.rpartition("/")[2]), [])
        return tuple(test for test in called if _same_kind(path, test))

    def _tests_in(self, name: str) -> tuple[str, ...]:
        return tuple(
            test
            for tests in self._tests.values()
            for test in tests
            if "/" in test and fold(TEST_NAME.sub("", test.split("/")[-2])) == name
        )

    def new_test(self, path: str) -> str:
        """Where a test of a file that has none would be, as this project calls its tests. Empty when it has no habit."""
        directory, _, name = path.rpartition("/")
        stem, suffix = name_of(path), suffix_of(path)
        if suffix == "go":
            return _join(directory, f"{stem_of(path)}_test.go")
        if suffix in SCRIPT:
            return self._new_script_test(directory, name[: name.rfind(".")], suffix)
        if suffix == "py":
            root = next(iter(self.test_roots_of(path)), "tests")
            ends = sum(
                test.endswith(("_tests.py", "_test.py")) for tests in self._tests.values() for test in tests
            )
            begins = sum(
                test.rpartition("/")[2].startswith("test_")
                for tests in self._tests.values()
                for test in tests
            )
            return _join(root, f"{stem}_tests.py" if ends > begins else f"test_{stem}.py")
        if suffix == "rb":
            return _join(next(iter(self.test_roots_of(path)), "test"), f"test_{stem}.rb")
        return ""

    def _new_script_test(self, directory: str, stem: str, suffix: str) -> str:
        tests = [test for found in self._tests.values() for test in found if suffix_of(test) in SCRIPT]
        siblings = [
            test for test in tests if re.search(r"\.(?:test|spec)\.\w+$", test) and "__tests__" not in test
        ]
        if siblings or not tests:
            mark = "spec" if siblings and ".spec." in siblings[0] else "test"
            return _join(directory, f"{stem}.{mark}.{suffix}")
        if any("__tests__" in test for test in tests):
            return _join(directory, f"__tests__/{stem}.test.{suffix}")
        return _join(next(iter(self.test_roots_of(directory)), "test"), f"{stem}.{suffix}")

    def package_root(self, path: str) -> str:
        """The directory of the package that a file is of: of the nearest manifest, else the outermost Python package, else
        the first directory. Empty for a file that lies in none."""
        directory = path.rpartition("/")[0]
        if suffix_of(path) == "go":  # each of its directories is one
            return directory
        if directory not in self._roots:
            self._roots[directory] = self._root_above(directory)
        return self._roots[directory]

    def _root_above(self, directory: str) -> str:
        parents = [directory, *_parents(directory)] if directory else []
        for parent in parents:
            if any(f"{parent}/{manifest}" in self._there for manifest in _MANIFESTS):
                return parent
        packages = [parent for parent in parents if f"{parent}/__init__.py" in self._there]
        return packages[-1] if packages else (parents[-1] if parents else "")

    def main_roots(self, *, everything: bool = False) -> tuple[str, ...]:
        """The package roots that hold the code, and nothing but tests and documentation left out."""
        roots = (
            path.split("/")[0] if suffix_of(path) == "go" and "/" in path else self.package_root(path)
            for path in self.sources
        )
        counts: defaultdict[str, int] = defaultdict(int)
        for root in roots:
            counts[root] += 1
        counts.pop("", None)
        most = max(counts.values(), default=0)
        return tuple(sorted(root for root, files in counts.items() if everything or files * 10 >= most))

    def changelogs(self) -> tuple[str, ...]:
        """The files at the root that tell what changed."""
        return tuple(path for path in self.paths if "/" not in path and _CHANGELOG.match(path))

    def readmes(self) -> tuple[str, ...]:
        """The files at the root that one reads first."""
        return tuple(path for path in self.paths if "/" not in path and path.lower().startswith("readme"))

    def private_parts_of(self, path: str) -> tuple[str, ...]:
        """Files beside one that are called as it is with an underscore before: `_termui_impl.py` of `termui.py`."""
        directory, _, name = path.rpartition("/")
        begins = f"_{name[: name.rfind('.')]}"
        siblings = self.files_in(directory) if directory else ()
        return tuple(
            one for one in siblings if re.match(rf"{re.escape(begins)}(?:_\w+)?\.", one.rpartition("/")[2])
        )

    def loose_sources(self) -> tuple[str, ...]:
        """Code that lies in no directory; not more than a few files."""
        return tuple(path for path in self.paths if "/" not in path and is_source(path))[:MOST_LOOSE]

    def docs(self) -> tuple[str, ...]:
        """Where documentation lies: directories of it, and files at the root."""
        roots = {path.split("/")[0] for path in self.paths if is_doc(path) and "/" in path}
        return tuple(sorted(root for root in roots if root.lower() in DOC_DIRECTORIES))


def _without_suffix(name: str) -> str:
    """A name without what is different in what was built of it: `.js` of `.ts`."""
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}.js" if dot and suffix in SCRIPT else name


def _in_common(parts: list[str], path: str) -> int:
    """How many parts at the end a word and a path have in common."""
    mine = [_without_suffix(part) for part in path.lower().split("/")]
    same = 0
    for one, other in zip(reversed(parts), reversed(mine), strict=False):
        if one != other:
            break
        same += 1
    return same


def _parents(path: str) -> Iterator[str]:
    """The directories a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def _keys(path: str) -> Iterator[str]:
    parts = path.split("/")
    name = name_of(path)
    yield fold(name)
    if len(parts) > 1:
        yield fold(parts[-2] + name)
        yield fold(parts[-2])
    if len(parts) > 2:
        yield fold(parts[-3] + parts[-2])


def _test_root(path: str) -> str:
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        if part.lower() in {"test", "tests", "spec", "specs"}:
            return "/".join(parts[: index + 1])
    return ""


def _is_marked(path: str) -> bool:
    name = path[path.rfind("/") + 1 :]
    return bool(TEST_NAME.search(name[: name.rfind(".")])) or "__tests__" in path


def _is_sibling(path: str, other: str) -> bool:
    return path.rpartition("/")[0] == other.rpartition("/")[0]


def _same_kind(path: str, test: str) -> bool:
    one, other = suffix_of(path), suffix_of(test)
    return test != path and (one == other or {one, other} <= SCRIPT)


def _shared(path: str, other: str) -> int:
    """How many directories at the beginning two paths have in common."""
    count = 0
    for one, two in zip(path.split("/")[:-1], other.split("/"), strict=False):
        if one != two:
            break
        count += 1
    return count


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def under(paths: Iterable[str], directory: str) -> tuple[str, ...]:
    """Those of the paths that lie in a directory."""
    return tuple(path for path in paths if path.startswith(f"{directory}/"))

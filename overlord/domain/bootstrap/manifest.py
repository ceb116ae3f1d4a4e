"""What the manifests of a repository say: what it is called, what it depends on, what it installs. Anybody's bytes, read without running."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from overlord.domain.environments.source import Sources, strings, table, word

MOST_NESTED = 30
_MOST_DEPTH = 3
_MOST_NAME = 100
_NOT_THEIRS = frozenset(
    {
        "node_modules",
        "vendor",
        "third_party",
        "site-packages",
        ".venv",
        "venv",
        "tests",
        "test",
        "testdata",
        "fixtures",
    }
    | {"examples", "example", "docs", "doc", "benchmarks", "bench", "__tests__", ".github"}
)
_CLASSIFIED = ("pyproject.toml", "setup.cfg", "setup.py")
_LIBRARY_CLASSIFIER = "Topic :: Software Development :: Libraries"
_CONSOLE_CLASSIFIER = "Environment :: Console"
_REQUIREMENT = re.compile(r"[ \t]*([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
_SETUP_NAME = re.compile(r"\bname[ ]?=[ ]?[\"']([A-Za-z0-9._-]{1,80})[\"']")
_STRING = re.compile(r"[\"']([A-Za-z0-9][A-Za-z0-9._-]{0,80})[ \t]{0,4}(?:[\[<>=!~;][^\"'\n]{0,200})?[\"']")
_GO_MODULE = re.compile(r"^module[ \t]{1,8}(\S{1,200})", re.MULTILINE)
_GO_REQUIRED = re.compile(
    r"^(?:require)?[ \t]{1,8}([a-z0-9.-]{1,80}\.[a-z]{2,10}/\S{1,200})[ \t]{1,4}v", re.MULTILINE
)
_YAML_KEY = re.compile(r"^  ([a-z_][a-z0-9_]{0,80}):", re.MULTILINE)
_YAML_NAME = re.compile(r"^name:[ \t]{0,4}([A-Za-z0-9_.-]{1,80})", re.MULTILINE)
_GEM = re.compile(r"^[ \t]{0,8}gem[ \t(]{1,4}[\"']([A-Za-z0-9_.-]{1,80})[\"']", re.MULTILINE)
_COORDINATE = re.compile(r"[\"']([a-z0-9.-]{3,100}:[a-z0-9._-]{2,100})(?::|[\"'])")
_MAVEN = re.compile(r"<artifactId>([A-Za-z0-9._-]{1,100})</artifactId>")


@dataclass(slots=True, kw_only=True)
class Manifests:
    """What all of them say together."""

    name: tuple[str, str] | None = None
    """What it is called, and the manifest that says so."""
    dependencies: dict[str, str] = field(default_factory=dict)
    """By their names in lower case: the manifest that names each first."""
    installs: list[str] = field(default_factory=list)
    """Manifests that install a command."""
    packages: list[str] = field(default_factory=list)
    """Manifests of what others can install and import."""
    libraries: list[str] = field(default_factory=list)
    """Sentences about packages that say they are libraries, or whose command needs an extra: it comes beside what they are for."""
    consoles: list[str] = field(default_factory=list)
    """Manifests with the classifier of programs for a console."""
    python: str = ""
    """Which versions of Python it says it supports."""
    licence: tuple[str, str] | None = None
    """The licence that a manifest names, and the manifest."""

    def depends(self, path: str, names: Iterable[str]) -> None:
        for name in names:
            self.dependencies.setdefault(name.casefold().replace("_", "-"), path)

    def named(self, path: str, name: str) -> None:
        """The first one at the root says it; of those below nobody's name is the repository's."""
        if self.name is None and name and len(name) <= _MOST_NAME and "/" not in path:
            self.name = (name, path)

    def licensed(self, path: str, licence: str) -> None:
        if self.licence is None and licence and len(licence) <= _MOST_NAME and "/" not in path:
            self.licence = (licence, path)


def manifest_paths(names: Collection[str]) -> tuple[str, ...]:
    """The manifests to read, those at the root first."""
    found = [name for name in names if _reader_of(name) is not None and _is_theirs(name)]
    return tuple(sorted(found, key=lambda name: (name.count("/"), name))[:MOST_NESTED])


def read_manifests(names: Collection[str], files: Mapping[str, bytes]) -> Manifests:
    """What those that were read say. What cannot be read says nothing."""
    sources, said = Sources(names=frozenset(), files=files), Manifests()
    for path in manifest_paths(names):
        if (reader := _reader_of(path)) and path in files:
            reader(said, path, sources)
            _classifiers(said, path, sources)
    return said


def _classifiers(said: Manifests, path: str, sources: Sources) -> None:
    """What kind of project a Python package says it is, whichever of the three forms its manifest has."""
    if path.rsplit("/", 1)[-1] not in _CLASSIFIED:
        return
    text = sources.text(path)
    if _LIBRARY_CLASSIFIER in text:
        said.libraries.append(f"{path} says that it is a library.")
    elif path.endswith(".toml") and "cli" in table(sources.toml(path), "project", "optional-dependencies"):
        said.libraries.append(f"Its command needs the extra cli ({path}).")
    if _CONSOLE_CLASSIFIER in text:
        said.consoles.append(path)


def _is_theirs(path: str) -> bool:
    directories = path.casefold().split("/")[:-1]
    return len(directories) <= _MOST_DEPTH and _NOT_THEIRS.isdisjoint(directories)


def _pyproject(said: Manifests, path: str, sources: Sources) -> None:
    found = sources.toml(path)
    project, poetry = table(found, "project"), table(found, "tool", "poetry")
    said.named(path, word(project.get("name")) or word(poetry.get("name")))
    said.depends(path, _required(strings(project.get("dependencies"))))
    said.depends(path, (name for name in table(poetry, "dependencies") if name != "python"))
    said.python = (
        said.python
        or word(project.get("requires-python"))
        or word(table(poetry, "dependencies").get("python"))
    )
    licence = project.get("license")
    said.licensed(path, word(licence) or word(table(licence).get("text")) or word(poetry.get("license")))
    if table(project, "scripts") or table(project, "gui-scripts") or table(poetry, "scripts"):
        said.installs.append(path)
    if project or poetry:
        said.packages.append(path)


def _setup_cfg(said: Manifests, path: str, sources: Sources) -> None:
    found = sources.ini(path)
    metadata, options = found.get("metadata", {}), found.get("options", {})
    said.named(path, metadata.get("name", ""))
    said.licensed(path, metadata.get("license", ""))
    said.python = said.python or options.get("python_requires", "")
    said.depends(path, _required(options.get("install_requires", "").splitlines()))
    if "console_scripts" in found.get("options.entry_points", {}):
        said.installs.append(path)
    if metadata.get("name"):
        said.packages.append(path)


def _setup_py(said: Manifests, path: str, sources: Sources) -> None:
    text = sources.text(path)
    if name := _SETUP_NAME.search(text):
        said.named(path, name[1])
    _, _, after = text.partition("install_requires")
    said.depends(path, (name[1] for name in _STRING.finditer(after.partition("]")[0])))
    if "console_scripts" in text:
        said.installs.append(path)
    if "setup(" in text:
        said.packages.append(path)


def _requirements(said: Manifests, path: str, sources: Sources) -> None:
    said.depends(path, _required(sources.text(path).splitlines()))


def _package_json(said: Manifests, path: str, sources: Sources) -> None:
    found = sources.json(path)
    said.named(path, word(found.get("name")))
    said.licensed(path, word(found.get("license")))
    said.depends(path, (name for key in ("dependencies", "peerDependencies") for name in table(found, key)))
    if found.get("bin"):
        said.installs.append(path)
    if any(found.get(key) for key in ("main", "module", "exports")) and not found.get("private"):
        said.packages.append(path)


def _cargo(said: Manifests, path: str, sources: Sources) -> None:
    found = sources.toml(path)
    package = table(found, "package")
    said.named(path, word(package.get("name")))
    said.licensed(path, word(package.get("license")))
    said.depends(path, table(found, "dependencies"))
    said.depends(path, table(found, "workspace", "dependencies"))
    if found.get("bin"):
        said.installs.append(path)
    if table(found, "lib"):
        said.packages.append(path)


def _go_mod(said: Manifests, path: str, sources: Sources) -> None:
    text = sources.text(path)
    if module := _GO_MODULE.search(text):
        said.named(path, module[1].rstrip("/").rsplit("/", 1)[-1])
    said.depends(path, (name[1] for name in _GO_REQUIRED.finditer(text)))


def _pubspec(said: Manifests, path: str, sources: Sources) -> None:
    text = sources.text(path)
    if name := _YAML_NAME.search(text):
        said.named(path, name[1])
    said.depends(path, (name[1] for name in _YAML_KEY.finditer(text)))


def _gemfile(said: Manifests, path: str, sources: Sources) -> None:
    said.depends(path, (name[1] for name in _GEM.finditer(sources.text(path))))


def _composer(said: Manifests, path: str, sources: Sources) -> None:
    found = sources.json(path)
    said.named(path, word(found.get("name")).rsplit("/", 1)[-1])
    said.depends(path, table(found, "require"))


def _gradle(said: Manifests, path: str, sources: Sources) -> None:
    said.depends(path, (name[1] for name in _COORDINATE.finditer(sources.text(path))))


def _maven(said: Manifests, path: str, sources: Sources) -> None:
    said.depends(path, (name[1] for name in _MAVEN.finditer(sources.text(path))))


_Reader = Callable[[Manifests, str, Sources], None]
_READERS: Mapping[str, _Reader] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "package.json": _package_json,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "pubspec.yaml": _pubspec,
    "Gemfile": _gemfile,
    "composer.json": _composer,
    "build.gradle": _gradle,
    "build.gradle.kts": _gradle,
    "pom.xml": _maven,
}
_REQUIREMENT_FILE = re.compile(r"requirements(?:[._-](?:base|main|common|prod|production))?\.(?:txt|in)")


def _reader_of(path: str) -> _Reader | None:
    name = path.rsplit("/", 1)[-1]
    return _requirements if _REQUIREMENT_FILE.fullmatch(name) else _READERS.get(name)


def _required(lines: Iterable[str]) -> Iterable[str]:
    return (name[1] for line in lines if (name := _REQUIREMENT.match(line)))

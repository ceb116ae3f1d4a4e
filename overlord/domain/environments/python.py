"""What a Python project needs: a virtual environment, itself in it (editable), and what its tests import.

One tool locks or builds a project, and the first whose file is there is taken; uv installs in every case. Where
several places name what tests need, all are installed together, resolved as one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from overlord.domain.environments.paths import (
    C_SOURCES,
    DEVELOPMENT_REQUIREMENTS,
    MAIN_REQUIREMENTS,
    PYTHON_MANIFESTS,
    RUST_SOURCES,
    TEST_REQUIREMENTS,
    is_python_manifest,
)
from overlord.domain.environments.poetry import (
    INSTALL_ITSELF,
    pdm_locked,
    poetry_groups,
    poetry_locked,
    unlocked_groups,
)
from overlord.domain.environments.source import (
    Part,
    Sources,
    named_for_tests,
    quoted,
    shown,
    strings,
    table,
    word,
)
from overlord.domain.environments.tests import Wanted, literal_keys, wanted_by_tests

VENV = '"$MINION_ENVIRONMENT/venv"'
PREPARE = f"uv venv {VENV} || uv venv --clear --no-project --no-config {VENV}"
"""The Python the project asks for; where that cannot be had, the one that is there."""
VARIABLES = (
    ("VIRTUAL_ENV", "{environment}/venv"),
    ("UV_PROJECT_ENVIRONMENT", "{environment}/venv"),
    ("UV_PYTHON_INSTALL_DIR", "{environment}/python"),
    # The cache is shared by setups: a hard link would let one of them write into another's environment.
    ("UV_LINK_MODE", "copy"),
    # Sessions cannot write byte code there, and import two to three times slower without it.
    ("UV_COMPILE_BYTECODE", "1"),
    # In a session `uv run` takes the environment as it is.
    ("UV_NO_SYNC", "1"),
)
_RUST_TOOLS = frozenset({"maturin", "setuptools-rust"})
_C_TOOLS = frozenset(
    {"cython", "cffi", "pybind11", "nanobind", "numpy", "meson-python", "scikit-build-core", "scikit-build"}
)
_VERSION_TOOLS = frozenset({"hatch-vcs", "pbr", "setuptools-scm", "versioneer", "versioningit"})
_EXTENSIONS = re.compile(r"\b(?:Extension\(|ext_modules|cythonize|cffi_modules|rust_extensions)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Project:
    """What its manifests say, gathered once."""

    sources: Sources
    manifest: dict[str, object]
    """pyproject.toml."""
    extras: tuple[str, ...]
    groups: tuple[str, ...]
    files: tuple[str, ...]
    """Requirement files for tests."""
    others: tuple[str, ...]
    """Poetry's and PDM's groups for tests."""
    wanted: Wanted
    """What tox, nox or hatch say, where nothing else says anything."""

    @property
    def metadata(self) -> dict[str, object]:
        return table(self.manifest, "project")

    @property
    def is_installable(self) -> bool:
        """Whether it is a package that something can build."""
        declared = table(self.manifest, "build-system") or "options" in self.sources.ini("setup.cfg")
        return bool(declared) or self.sources.has("setup.py")

    @property
    def build_tools(self) -> frozenset[str]:
        """What its build asks for, by name."""
        required = strings(table(self.manifest, "build-system").get("requires"))
        return frozenset(
            re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0].lower().replace("_", "-") for line in required
        )

    @property
    def finds_out_its_version(self) -> bool:
        """Whether its version may come from tags, which a setup does not have: it is then none that others ask for."""
        dynamic = "version" in strings(self.metadata.get("dynamic"))
        return (
            dynamic
            or bool(self.build_tools & _VERSION_TOOLS)
            or "use_scm_version" in self.sources.text("setup.py")
        )

    @property
    def needs_its_requirements(self) -> bool:
        """Whether its main requirement file adds something: its own dependencies, or for want of others the tests'."""
        tests = self.extras or self.groups or self.files or self.others or not self.wanted.is_empty
        return not (tests and self.declares_dependencies)

    @property
    def declares_dependencies(self) -> bool:
        declared = bool(self.metadata) and "dependencies" not in strings(self.metadata.get("dynamic"))
        return declared or bool(table(self.manifest, "tool", "poetry", "dependencies"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installation:
    commands: tuple[str, ...]
    what: str


def python_part(sources: Sources) -> Part | None:
    """What to do for Python, or None for a repository that names no package."""
    project = _project(sources)
    installation = _locked(project) or _unlocked(project)
    if installation is None:
        return None
    packages, suffixes = _compilers(project)
    return Part(
        packages=packages,
        prepare=(PREPARE,),
        install=installation.commands,
        variables=VARIABLES,
        path=("venv/bin",),
        inputs=_inputs(sources, suffixes),
        what=(installation.what, *_explanation(project, packages)),
    )


def _project(sources: Sources) -> _Project:
    manifest = sources.toml("pyproject.toml")
    groups = named_for_tests(table(manifest, "dependency-groups"))
    extras = _extras(sources, manifest)
    files = sources.present(TEST_REQUIREMENTS) or sources.present(DEVELOPMENT_REQUIREMENTS)
    development = table(manifest, "tool", "pdm", "dev-dependencies")
    others = named_for_tests(dict.fromkeys([*poetry_groups(manifest), *development]))
    is_declared = extras or groups or files or others
    wanted = None if is_declared else wanted_by_tests(sources, manifest)
    return _Project(
        sources=sources,
        manifest=manifest,
        extras=extras,
        groups=groups,
        files=files,
        others=others,
        wanted=wanted or Wanted(source=""),
    )


def _locked(project: _Project) -> _Installation | None:
    """With the first tool whose lock file is there."""
    commands: tuple[str, ...]
    sources, manifest = project.sources, project.manifest
    if sources.has("uv.lock") and (project.metadata or table(manifest, "tool", "uv", "workspace")):
        what, commands = "uv.lock", (_uv_sync(project),)
    elif sources.has("poetry.lock") and (project.metadata or table(manifest, "tool", "poetry")):
        what, commands = "poetry.lock", poetry_locked(manifest, project.extras)
    elif sources.has("pdm.lock") and project.metadata:
        what, commands = "pdm.lock", pdm_locked(manifest, project.extras)
    else:
        return None
    more = _pip_install(files=project.wanted.files, packages=project.wanted.packages)
    return _Installation(commands=(*commands, *more), what=f"Python project with dependencies from {what}")


def _uv_sync(project: _Project) -> str:
    members = ["--all-packages"] if table(project.manifest, "tool", "uv", "workspace") else []
    options = [item for name in project.extras for item in ("--extra", name)]
    options += [item for name in project.groups for item in ("--group", name)]
    # The interpreter is named, so that a pin that could not be met above is not asked for again.
    return f"uv sync --frozen --python {VENV}/bin/python {quoted([*members, *options])}".rstrip()


def _unlocked(project: _Project) -> _Installation | None:
    """The project itself if it is a package, its requirement files, and what its tests need."""
    sources, manifest, wanted = project.sources, project.manifest, project.wanted
    main = sources.present(MAIN_REQUIREMENTS)[:1] if project.needs_its_requirements else ()
    files = (*main, *project.files, *wanted.files)
    packages = (*unlocked_groups(sources, manifest), *wanted.packages)
    groups = [item for name in project.groups for item in ("--group", name)]
    if project.is_installable:
        commands, what = _editable(project, groups, files, packages), _built_with(project)
    elif project.metadata:
        extra = [item for name in project.extras for item in ("--extra", name)]
        itself = ["--requirements", "pyproject.toml", *extra, *groups]
        commands, what = (
            _pip_install(itself, files, packages),
            "Python project that is no package (pyproject.toml)",
        )
    elif sources.has("Pipfile", "Pipfile.lock"):
        lock = sources.has("Pipfile.lock")
        commands = ("uvx pipenv sync --dev" if lock else "uvx pipenv install --dev --skip-lock",)
        what = f"Python dependencies from {'Pipfile.lock' if lock else 'Pipfile'}"
    else:
        commands, what = _pip_install(groups, files, packages), "Python code that is no package"
    return _Installation(commands=commands, what=what) if commands else None


def _editable(
    project: _Project, groups: Sequence[str], files: Sequence[str], packages: Sequence[str]
) -> tuple[str, ...]:
    """The project installed with everything it and its tests ask for.

    Where they ask for the project again, as pytest does for pluggy, a version without tags would have them resolved to
    releases of long ago: what is asked for is then installed first, and the project over it.
    """
    extras = tuple(dict.fromkeys([*project.extras, *project.wanted.extras]))
    if not project.finds_out_its_version:
        itself = f".[{','.join(extras)}]" if extras else "."
        return _pip_install(["--editable", itself, *groups], files, packages)
    manifest = project.sources.present(("pyproject.toml", "setup.py"))[0]
    asked = ["--requirements", manifest, *(item for name in extras for item in ("--extra", name)), *groups]
    return (*_pip_install(asked, files, packages), INSTALL_ITSELF)


def _pip_install(
    words: Sequence[str] = (), files: Sequence[str] = (), packages: Sequence[str] = ()
) -> tuple[str, ...]:
    """One command, so that everything is resolved together; none when there is nothing to install."""
    options = [item for path in dict.fromkeys(files) for item in ("--requirements", path)]
    everything = [*words, *options, *packages]
    return (f"uv pip install {quoted(everything)}",) if everything else ()


def _extras(sources: Sources, manifest: dict[str, object]) -> tuple[str, ...]:
    """Those for tests that a manifest names where it can be read without running it."""
    declared = [
        *table(manifest, "project", "optional-dependencies"),
        *table(manifest, "tool", "poetry", "extras"),
    ]
    declared += sources.ini("setup.cfg").get("options.extras_require", {})
    if "extras_require" in sources.text("setup.py"):
        declared += literal_keys(sources, "setup.py")
    return named_for_tests(dict.fromkeys(declared))


def _compilers(project: _Project) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The Debian packages that build its extensions, and how the names of their sources end."""
    tools = project.build_tools
    declared = "ext-modules" in table(project.manifest, "tool", "setuptools")
    if tools & _RUST_TOOLS:
        return ("cargo", "build-essential", "python3-dev"), (*RUST_SOURCES, *C_SOURCES)
    if tools & _C_TOOLS or declared or _EXTENSIONS.search(project.sources.text("setup.py")):
        return ("build-essential", "python3-dev"), C_SOURCES
    return (), ()


def _inputs(sources: Sources, suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """What the installation reads: all that can be told by name; of a workspace every member's manifest too."""
    manifests = {"pyproject.toml"} if sources.has("uv.lock") else set()
    return tuple(
        name
        for name in sources.names
        if is_python_manifest(name)
        or name.rsplit("/", 1)[-1] in manifests
        or (suffixes and name.endswith(suffixes))
    )


def _built_with(project: _Project) -> str:
    system = table(project.manifest, "build-system")
    if not system:
        return f"Python project built with setuptools ({' and '.join(project.sources.present(PYTHON_MANIFESTS[:3]))})"
    backend = word(system.get("build-backend")).split(".")[0].split(":")[0] or "setuptools"
    return f"Python project built with {shown(backend)} (pyproject.toml)"


def _explanation(project: _Project, packages: tuple[str, ...]) -> tuple[str, ...]:
    wanted = project.wanted
    named = (*wanted.packages, *wanted.files, *(f"extra {name}" for name in wanted.extras))
    groups = (
        ("extras", project.extras),
        ("dependency groups", project.groups),
        ("development groups", project.others),
        ("requirement files for tests:", project.files),
        (f"test dependencies from {wanted.source}:", named),
        ("it compiles extensions, with", packages),
    )
    return tuple(shown(f"{label} {', '.join(items)}") for label, items in groups if items)

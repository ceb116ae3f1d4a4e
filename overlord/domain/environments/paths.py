"""What a path is to an environment by its name alone: a manifest or lock file, or a source that is compiled into it."""

import re

TEST_WORDS = ("dev", "develop", "development", "test", "testing", "tests")
"""What extras, dependency groups and requirement files are called that hold what tests need."""
PYTHON_MANIFESTS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "MANIFEST.in",
)
_PYTHON_SETTINGS = (
    "uv.toml",
    "pdm.toml",
    "poetry.toml",
    "hatch.toml",
    "tox.toml",
    "tox.ini",
    "noxfile.py",
    ".python-version",
)
MAIN_REQUIREMENTS = (
    "requirements.txt",
    *(f"requirements/{name}.txt" for name in ("base", "main", "common", "requirements")),
)
_FORMS = (
    "requirements-{}.txt",
    "requirements_{}.txt",
    "requirements.{}.txt",
    "{}-requirements.txt",
    "{}_requirements.txt",
    "requirements/{}.txt",
)
TEST_REQUIREMENTS = (
    *(form.format(name) for name in TEST_WORDS if name.startswith("test") for form in _FORMS),
    "tests/requirements.txt",
    "test/requirements.txt",
)
DEVELOPMENT_REQUIREMENTS = tuple(
    form.format(name) for name in TEST_WORDS if name.startswith("dev") for form in _FORMS
)
"""For want of the others: they pin what builds the documentation too, not seldom an old release of the project itself."""
_REQUIREMENT_FILE = re.compile(
    r"(?:[\w.-]+/)?(?:[\w.-]*[._-])?(?:requirements|constraints)(?:[._-][\w.-]*)?\.(?:txt|in)|requirements/[^/]+"
)
NODE_MANIFESTS = (
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".pnpmfile.cjs",
    "yarn.lock",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bun.lock",
    "bun.lockb",
)
GO_MANIFESTS = ("go.mod", "go.sum", "go.work", "go.work.sum")
CARGO_MANIFESTS = (
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo/config.toml",
    ".cargo/config",
)
MANIFESTS = frozenset(
    {*PYTHON_MANIFESTS, *_PYTHON_SETTINGS, *NODE_MANIFESTS, *GO_MANIFESTS, *CARGO_MANIFESTS}
)
C_SOURCES = (
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".cxx",
    ".hh",
    ".hpp",
    ".pyx",
    ".pxd",
    ".pxi",
    ".f",
    ".f90",
    "meson.build",
    "CMakeLists.txt",
)
RUST_SOURCES = (".rs", "Cargo.toml", "Cargo.lock")
_COMPILED = tuple(name for name in (*C_SOURCES, ".rs") if name.startswith("."))


def is_python_manifest(path: str) -> bool:
    return path in PYTHON_MANIFESTS or path in _PYTHON_SETTINGS or bool(_REQUIREMENT_FILE.fullmatch(path))


def is_manifest(path: str) -> bool:
    """Whether detection would read this path, or a tool it calls."""
    return path in MANIFESTS or is_python_manifest(path)


def is_compiled_source(path: str) -> bool:
    """Whether a path is a source that a build compiles: no manifest, though an environment depends on it."""
    return path.endswith(_COMPILED)

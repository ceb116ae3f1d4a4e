"""What kind of project a repository holds, told from dependencies, files and layout.

Each sign speaks for a kind, with a weight; the kind with most of it wins, and its signs are the reasons. A dependency alone is weak:
a library that helps with a framework depends on the framework too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from overlord.domain.bootstrap.manifest import Manifests
from overlord.domain.changes.paths import is_test_path
from overlord.domain.discovery.question import ProjectKind
from overlord.domain.text.plain import count, plain_line

_WEB, _API, _CLI = ProjectKind.WEB_APP, ProjectKind.API, ProjectKind.CLI
_LIBRARY, _DATA, _MOBILE = ProjectKind.LIBRARY, ProjectKind.DATA, ProjectKind.MOBILE
_ORDER = (_MOBILE, _WEB, _API, _DATA, _CLI, _LIBRARY)
"""Which of two kinds wins for which as much speaks."""
_LEAST = 2
_DEPENDENCIES: Mapping[ProjectKind, tuple[int, Sequence[str]]] = {
    _MOBILE: (
        6,
        ["react-native", "expo", "flutter", "kivy", "@ionic/core", "@capacitor/core", "nativescript"],
    ),
    _WEB: (
        3,
        [
            "django",
            "react",
            "react-dom",
            "vue",
            "next",
            "nuxt",
            "svelte",
            "@sveltejs/kit",
            "@angular/core",
            "preact",
            "solid-js",
            "astro",
            "@remix-run/react",
            "gatsby",
            "rails",
            "laravel/framework",
            "streamlit",
            "dash",
            "symfony/framework-bundle",
        ],
    ),
    _API: (
        3,
        [
            "fastapi",
            "starlette",
            "djangorestframework",
            "flask-restful",
            "falcon",
            "litestar",
            "sanic",
            "connexion",
            "graphene",
            "express",
            "fastify",
            "koa",
            "@nestjs/core",
            "@hapi/hapi",
            "hono",
            "@apollo/server",
            "actix-web",
            "axum",
            "rocket",
            "warp",
            "github.com/gin-gonic/gin",
            "github.com/labstack/echo/v4",
            "github.com/gorilla/mux",
            "github.com/go-chi/chi/v5",
            "github.com/gofiber/fiber/v2",
            "spring-boot-starter-web",
            "grpcio",
            "tonic",
            "sinatra",
        ],
    ),
    _CLI: (
        2,
        [
            "click",
            "typer",
            "docopt",
            "fire",
            "cleo",
            "cyclopts",
            "textual",
            "prompt-toolkit",
            "commander",
            "yargs",
            "oclif",
            "@oclif/core",
            "ink",
            "clap",
            "structopt",
            "argh",
            "github.com/spf13/cobra",
            "github.com/urfave/cli/v2",
            "thor",
        ],
    ),
    _DATA: (
        2,
        [
            "pandas",
            "polars",
            "pyspark",
            "dask",
            "apache-airflow",
            "dagster",
            "prefect",
            "luigi",
            "dbt-core",
            "dbt-postgres",
            "scikit-learn",
            "torch",
            "tensorflow",
            "xgboost",
            "jupyter",
            "notebook",
            "great-expectations",
            "kedro",
            "duckdb",
        ],
    ),
}
_MOST_FROM_DEPENDENCIES = 5
"""More dependencies of one kind say no more."""
_HTML = (".html", ".jinja", ".jinja2", ".j2", ".erb", ".ejs", ".hbs", ".blade.php")
_PAGES = (".vue", ".svelte", ".jsx", ".tsx")
_DESCRIPTIONS = ("openapi.yaml", "openapi.yml", "openapi.json", "swagger.yaml", "swagger.yml", "swagger.json")


@dataclass(slots=True)
class _Signs:
    """What speaks for each kind."""

    weights: dict[ProjectKind, int] = field(default_factory=dict)
    reasons: dict[ProjectKind, list[str]] = field(default_factory=dict)

    def add(self, kind: ProjectKind, weight: int, reason: str) -> None:
        self.weights[kind] = self.weights.get(kind, 0) + weight
        self.reasons.setdefault(kind, []).append(plain_line(reason, limit=200))


def kind_of(
    names: Collection[str], files: Mapping[str, bytes], manifests: Manifests
) -> tuple[ProjectKind, tuple[str, ...]]:
    """The kind, and why, in sentences. OTHER where too little speaks for any."""
    signs = _Signs()
    own = [
        name
        for name in names
        if not is_test_path(name) and not name.startswith(("docs/", "doc/", "examples/"))
    ]
    _from_dependencies(signs, manifests, own)
    _from_names(signs, own)
    _from_entry_points(signs, manifests, own, files)
    best = max(_ORDER, key=lambda kind: signs.weights.get(kind, 0))
    if signs.weights.get(best, 0) < _LEAST:
        return ProjectKind.OTHER, ("Neither its dependencies nor its files say what kind of project it is.",)
    return best, tuple(signs.reasons[best])


def entry_points(names: Collection[str]) -> tuple[str, ...]:
    """The few programs whose text is read to see whether a command line begins in them."""
    found = [
        name
        for name in names
        if name.rsplit("/", 1)[-1] in ("__main__.py", "main.py", "cli.py") and not is_test_path(name)
    ]
    single = [name for name in names if name.endswith(".py") and "/" not in name and not is_test_path(name)]
    return tuple(sorted({*found, *single}, key=lambda name: (name.count("/"), name))[:10])


def _from_dependencies(signs: _Signs, manifests: Manifests, own: Collection[str]) -> None:
    known = manifests.dependencies
    for kind, (weight, names) in _DEPENDENCIES.items():
        found = [name for name in names if name in known]
        if found:
            listed = ", ".join(found[:4])
            signs.add(
                kind,
                min(weight + len(found) - 1, _MOST_FROM_DEPENDENCIES + (kind is _MOBILE)),
                f"It depends on {listed} ({known[found[0]]}).",
            )
    framework = next(
        (name for name in ("flask", "bottle", "tornado", "aiohttp", "pyramid", "quart") if name in known),
        None,
    )
    if framework:
        pages = any("templates/" in name for name in own)
        kind = _WEB if pages else _API
        signs.add(
            kind,
            3,
            f"It depends on {framework} ({known[framework]}), {'with' if pages else 'without'} templates.",
        )


def _from_names(signs: _Signs, own: Collection[str]) -> None:
    bases: dict[str, str] = {}
    for name in own:
        bases.setdefault(name.rsplit("/", 1)[-1].casefold(), name)
    for base, kind, weight, what in (
        ("androidmanifest.xml", _MOBILE, 5, "an Android app"),
        ("project.pbxproj", _MOBILE, 4, "an app for Apple's devices"),
        ("podfile", _MOBILE, 4, "an app for Apple's devices"),
        ("manage.py", _WEB, 4, "a Django project"),
        ("dbt_project.yml", _DATA, 5, "a dbt project"),
        ("dvc.yaml", _DATA, 3, "a pipeline of DVC"),
        ("schema.graphql", _API, 3, "a GraphQL schema"),
        *((name, _API, 4, "the description of an API") for name in _DESCRIPTIONS),
    ):
        if base in bases:
            signs.add(kind, weight, f"{bases[base]} belongs to {what}.")
    _from_counts(signs, own)


def _from_counts(signs: _Signs, own: Collection[str]) -> None:
    notebooks = sum(name.endswith(".ipynb") for name in own)
    if notebooks:
        signs.add(_DATA, 3 if notebooks > 2 else 2, f"It has {count(notebooks, 'notebook')}.")
    if any(name.startswith("dags/") or "/dags/" in name for name in own):
        signs.add(_DATA, 3, "It has a directory dags, as Airflow's projects do.")
    pages = sum(name.endswith(_PAGES) for name in own)
    if pages > 2:
        signs.add(_WEB, 2, f"It has {count(pages, 'component')} of web pages.")
    templates = sum("templates/" in name and name.endswith(_HTML) for name in own)
    if templates > 2:
        signs.add(_WEB, 2, f"It has {count(templates, 'template')} of web pages.")
    root = next((name for name in ("index.html", "public/index.html", "src/index.html") if name in own), None)
    if root:
        signs.add(_WEB, 2, f"{root} is a web page.")
    protocols = sum(name.endswith(".proto") for name in own)
    if protocols:
        signs.add(_API, 2, f"It has {count(protocols, 'description')} of gRPC services.")


def _from_entry_points(
    signs: _Signs, manifests: Manifests, own: Collection[str], files: Mapping[str, bytes]
) -> None:
    if manifests.installs:
        signs.add(_CLI, 3, f"{manifests.installs[0]} installs a command.")
    commands = [name for name in own if name.startswith("cmd/") and name.endswith("/main.go")]
    single = [name for name in ("main.go", "src/main.rs") if name in own]
    if commands or single:
        signs.add(_CLI, 2, f"{(commands or single)[0]} is a program.")
    for name in entry_points(own):
        text = files.get(name, b"")
        if b"argparse" in text or b"optparse" in text or (b"sys.argv" in text and b"__main__" in text):
            signs.add(_CLI, 2, f"{name} reads a command line.")
            break
    if manifests.packages:
        signs.add(_LIBRARY, 2, f"{manifests.packages[0]} describes a package that others can install.")
    _from_classifiers(signs, manifests)
    libraries = [name for name in own if name in ("src/lib.rs", "lib.rs") or name.endswith(".gemspec")]
    if libraries:
        signs.add(_LIBRARY, 3, f"{libraries[0]} is a library.")
    if "go.mod" in own and not commands and not single:
        signs.add(_LIBRARY, 2, "go.mod describes a module, and there is no main.go.")


def _from_classifiers(signs: _Signs, manifests: Manifests) -> None:
    """What a package says of itself outweighs what it depends on and that it installs a command, unless both are so."""
    if manifests.libraries:
        signs.add(_LIBRARY, 4, manifests.libraries[0])
    if manifests.consoles and manifests.installs:
        signs.add(_CLI, 3, f"{manifests.consoles[0]} says that it is used in a console.")

"""What the code itself decides: facts by topic, each with the file that shows it. Nobody has to be asked about them."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from overlord.domain.bootstrap.manifest import Manifests
from overlord.domain.text.plain import count, plain_line

MOST_CHARS = 300
LICENCES = (
    "LICENSE",
    "LICENCE",
    "COPYING",
    "LICENSE.md",
    "LICENSE.txt",
    "LICENSE.rst",
    "LICENCE.md",
    "LICENCE.txt",
    "UNLICENSE",
)
_LEAST_SHARE = 0.2
"""A second language counts from this share of the files in a known language."""
_FRAMEWORKS: Mapping[str, str] = {
    "django": "Django", "flask": "Flask", "fastapi": "FastAPI", "starlette": "Starlette", "litestar": "Litestar",
    "tornado": "Tornado", "aiohttp": "aiohttp", "click": "Click", "typer": "Typer", "textual": "Textual", "pandas": "pandas",
    "polars": "Polars", "pyspark": "Spark", "apache-airflow": "Airflow", "dagster": "Dagster", "prefect": "Prefect",
    "torch": "PyTorch", "tensorflow": "TensorFlow", "scikit-learn": "scikit-learn", "next": "Next.js", "react": "React",
    "vue": "Vue", "nuxt": "Nuxt", "svelte": "Svelte", "@angular/core": "Angular", "react-native": "React Native",
    "expo": "Expo", "express": "Express", "fastify": "Fastify", "koa": "Koa", "@nestjs/core": "NestJS",
    "commander": "Commander", "yargs": "yargs", "clap": "clap", "axum": "Axum", "actix-web": "Actix Web", "tokio": "Tokio",
    "github.com/spf13/cobra": "Cobra", "github.com/gin-gonic/gin": "Gin", "flutter": "Flutter", "rails": "Rails",
    "laravel/framework": "Laravel", "spring-boot-starter-web": "Spring Boot",
}  # fmt: skip
_STORAGE: Mapping[str, str] = {
    "psycopg": "PostgreSQL", "psycopg2": "PostgreSQL", "psycopg2-binary": "PostgreSQL", "asyncpg": "PostgreSQL", "pg": "PostgreSQL",
    "github.com/lib/pq": "PostgreSQL", "github.com/jackc/pgx/v5": "PostgreSQL", "mysqlclient": "MySQL", "pymysql": "MySQL",
    "mysql2": "MySQL", "aiosqlite": "SQLite", "better-sqlite3": "SQLite", "sqlite3": "SQLite", "rusqlite": "SQLite",
    "sqflite": "SQLite", "pymongo": "MongoDB", "motor": "MongoDB", "mongoose": "MongoDB", "mongodb": "MongoDB",
    "redis": "Redis", "ioredis": "Redis", "elasticsearch": "Elasticsearch", "duckdb": "DuckDB", "cassandra-driver": "Cassandra",
}  # fmt: skip
_DEPLOYMENT: Mapping[str, str] = {
    "dockerfile": "a container image",
    "containerfile": "a container image",
    "docker-compose.yml": "Docker Compose",
    "docker-compose.yaml": "Docker Compose",
    "compose.yaml": "Docker Compose",
    "compose.yml": "Docker Compose",
    "procfile": "processes of a platform",
    "fly.toml": "Fly.io",
    "vercel.json": "Vercel",
    "netlify.toml": "Netlify",
    "app.yaml": "Google App Engine",
    "serverless.yml": "Serverless Framework",
    "chart.yaml": "Kubernetes with Helm",
    "kustomization.yaml": "Kubernetes",
    "main.tf": "Terraform",
}
_RELEASE = re.compile(
    r"\.github/workflows/[\w.-]{0,60}(?:release|publish|deploy)[\w.-]{0,60}\.ya?ml", re.IGNORECASE
)
_KNOWN_LICENCES: Sequence[tuple[str, str]] = (
    ("apache license version 2.0", "Apache-2.0"),
    ("gnu affero general public license", "AGPL-3.0"),
    ("gnu lesser general public license", "LGPL"),
    ("gnu general public license version 3", "GPL-3.0"),
    ("gnu general public license version 2", "GPL-2.0"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    ("redistribution and use in source and binary forms", "BSD"),
    ("permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"),
    ("this is free and unencumbered software released into the public domain", "Unlicense"),
    ("eclipse public license", "EPL"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFact:
    """One thing that the code decides."""

    topic: str
    """As `language`; the bank of questions names it where it answers a question."""
    value: str
    source: str


def code_facts(
    names: Collection[str],
    files: Mapping[str, bytes],
    manifests: Manifests,
    *,
    languages: Sequence[tuple[str, int]],
    layout: Sequence[tuple[str, int]],
) -> tuple[CodeFact, ...]:
    """Every fact that can be told. What can be told of tests and lint is the survey's to add."""
    found = (
        *_named(manifests),
        *_language(manifests, languages),
        *_dependencies("framework", _FRAMEWORKS, manifests),
        *_dependencies("storage", _STORAGE, manifests),
        *_structure(layout, languages),
        *_deployment(names),
        *_releases(names),
        *_licence(names, files, manifests),
    )
    return tuple(found)


def fact(topic: str, value: str, source: str) -> CodeFact:
    """One, with what a repository says made plain."""
    return CodeFact(
        topic=topic, value=plain_line(value, limit=MOST_CHARS), source=plain_line(source, limit=MOST_CHARS)
    )


def _named(manifests: Manifests) -> Iterator[CodeFact]:
    if manifests.name:
        yield fact("name", *manifests.name)


def _language(manifests: Manifests, languages: Sequence[tuple[str, int]]) -> Iterator[CodeFact]:
    total = sum(number for _, number in languages)
    used = [(name, number) for name, number in languages if number >= total * _LEAST_SHARE]
    if used:
        words = [f"{name} {manifests.python}".strip() if name == "Python" else name for name, _ in used]
        yield fact("language", ", ".join(words), f"{count(used[0][1], 'file')} of {used[0][0]}")


def _dependencies(topic: str, known: Mapping[str, str], manifests: Manifests) -> Iterator[CodeFact]:
    found: dict[str, str] = {}
    for name, path in manifests.dependencies.items():
        if name in known:
            found.setdefault(known[name], path)
    if found:
        yield fact(topic, ", ".join(list(found)[:5]), next(iter(found.values())))


def _structure(layout: Sequence[tuple[str, int]], languages: Sequence[tuple[str, int]]) -> Iterator[CodeFact]:
    if layout and languages:
        parts = [f"{name}/ ({count(number, 'file')})" for name, number in layout[:8]]
        yield fact("structure", ", ".join(parts), "its directories")


def _deployment(names: Collection[str]) -> Iterator[CodeFact]:
    found: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (name.count("/"), name)):
        what = _DEPLOYMENT.get(name.rsplit("/", 1)[-1].casefold())
        if what and name.count("/") <= 2:
            found.setdefault(what, name)
    if found:
        yield fact(
            "deployment",
            ", ".join(f"{what} ({name})" for what, name in list(found.items())[:4]),
            next(iter(found.values())),
        )


def _releases(names: Collection[str]) -> Iterator[CodeFact]:
    found = sorted(name for name in names if _RELEASE.fullmatch(name))
    if found:
        yield fact("releases", f"By {', '.join(found[:3])}", found[0])


def _licence(names: Collection[str], files: Mapping[str, bytes], manifests: Manifests) -> Iterator[CodeFact]:
    if manifests.licence:
        yield fact("licence", *manifests.licence)
        return
    for path in (name for name in LICENCES if name in names):
        text = " ".join(
            files.get(path, b"")[:20_000].decode(errors="replace").casefold().replace(",", ", ").split()
        )
        text = text.replace(", version", " version")
        found = [(text.index(words), known) for words, known in _KNOWN_LICENCES if words in text]
        if found:  # one licence may speak of another further down
            yield fact("licence", min(found)[1], path)
            return

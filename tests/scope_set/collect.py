"""`python -m tests.scope_set.collect PROJECT DIRECTORY`: writes `occurrences/PROJECT.yaml`, what the search of the product finds in a
release's files for every word of the project's issues. `DIRECTORY` holds the release, unpacked; only its layout's files are read.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from overlord.adapters.git.content import symbols
from overlord.domain.identifiers import Sha
from overlord.domain.scope.issue_text import candidates
from overlord.domain.scope.occurrences import MOST_SYMBOLS
from tests.scope_set.measure import HERE, cases, paths_of


def collect(project: str, directory: Path) -> None:
    words = sorted({word for case in cases() if case.layout == project for word in candidates(case.issue)})
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for path in paths_of(project):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(directory / path, root / path)
        given = ("-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "core.hooksPath=/dev/null")
        for command in (
            ("init", "--quiet"),
            ("add", "--force", "."),
            (*given, "commit", "--quiet", "-m", "all"),
        ):
            subprocess.run(["git", *command], cwd=root, check=True)
        said = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
        )
        definitions, mentions = asyncio.run(_found(root / ".git", Sha(said.stdout.strip()), words))
    told = {"definitions": definitions, "mentions": mentions}
    text = yaml.safe_dump(told, default_flow_style=None, width=10_000, allow_unicode=True)
    (HERE / "occurrences" / f"{project}.yaml").write_text(text, encoding="utf-8")


async def _found(
    mirror: Path, head: Sha, words: list[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    definitions, mentions = dict[str, list[str]](), dict[str, list[str]]()
    for start in range(0, len(words), MOST_SYMBOLS):
        found = await symbols.search(mirror, head, words[start : start + MOST_SYMBOLS])
        definitions |= {word: list(files) for word, files in found.definitions.items()}
        mentions |= {word: list(files) for word, files in found.mentions.items()}
    return definitions, mentions


if __name__ == "__main__":
    collect(sys.argv[1], Path(sys.argv[2]))

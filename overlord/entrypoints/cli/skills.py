"""`overlord skills validate`: what would be held against skill files, before anybody proposes them. Reads the files and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.domain.text import count
from overlord.entrypoints.cli.show import json_text, say, table

if TYPE_CHECKING:
    from overlord.domain.skill_review import SkillReview

app = typer.Typer(help="Skills: instructions that Minions load.", no_args_is_help=True)


@app.callback()
def skills() -> None:
    """Skills: instructions that Minions load."""


@app.command()
def validate(
    paths: Annotated[list[str], typer.Argument(help="Skill files, or folders of them.", metavar="PATH…")],
    json: Annotated[bool, typer.Option("--json", help="One line of JSON for each file.")] = False,
) -> None:
    """Judge skill files: their form, conflicts between them, and what in their text could do harm. 1 if any is rejected."""
    from overlord.domain.skill_review import SkillVerdict, beside_each_other

    reviews = beside_each_other([_review(file) for file in _files(paths)])
    if json:
        for review in reviews:
            typer.echo(json_text(_as_json(review)))
    else:
        _show(reviews)
    raise typer.Exit(1 if any(review.verdict is SkillVerdict.REJECT for review in reviews) else 0)


def _files(paths: list[str]) -> Iterator[str]:
    """The paths as they were given, each once; of a folder the skills in it."""
    found = (file for path in paths for file in ([path] if not Path(path).is_dir() else _in_folder(path)))
    return iter(dict.fromkeys(found))


def _in_folder(path: str) -> list[str]:
    return sorted(str(file) for file in Path(path).glob("*.yaml")) or [path]


def _review(file: str) -> "SkillReview":
    from overlord.domain.skill_review import review_skill, unreadable
    from overlord.domain.untrusted_yaml import MAX_BYTES

    try:
        with Path(file).open("rb") as opened:
            return review_skill(opened.read(MAX_BYTES + 1), file)
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else None
        return unreadable(file, f"The file cannot be read: {told or error}.")


def _as_json(review: "SkillReview") -> dict[str, object]:
    findings = [
        {
            "rule": item.rule,
            "level": item.level,
            "line": item.line,
            "message": item.message,
            "evidence": item.evidence,
        }
        for item in review.findings
    ]
    return {"file": review.file, "verdict": review.verdict, "findings": findings}


def _show(reviews: "tuple[SkillReview, ...]") -> None:
    from overlord.domain.skill_review import SkillVerdict

    rows = [
        (f"{review.file}:{item.line}" if item.line else review.file, item.level, item.rule, item.message)
        for review in reviews
        for item in review.findings
    ]
    if rows:
        table(("place", "level", "rule", "what"), rows)
        say("")
    counted = [(verdict, sum(review.verdict is verdict for review in reviews)) for verdict in SkillVerdict]
    told = ", ".join(f"{number} {_WORDS[verdict.name]}" for verdict, number in counted if number)
    say(f"{count(len(reviews), 'file')}: {told}.")


_WORDS = {"ACCEPT": "accepted", "FLAG": "flagged for a person to look at", "REJECT": "rejected"}

"""`overlord skills validate`: what would be held against skill files, before anybody proposes them. Reads the files and nothing else."""

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import count
from overlord.entrypoints.terminal.show import show_text, table

if TYPE_CHECKING:
    from overlord.domain.skills.review import SkillReview


def validate(
    paths: Annotated[list[str], typer.Argument(help="Skill files, or folders of them.", metavar="PATH…")],
    json: Annotated[bool, typer.Option("--json", help="One line of JSON for each file.")] = False,
) -> None:
    """Judge skill files: their form, conflicts between them, and what in their text could do harm. 1 if any is rejected."""
    from overlord.domain.skills.verdict import SkillVerdict

    reviews = _reviews(_files(paths))
    if json:
        for review in reviews:
            typer.echo(json_text(_as_json(review)))
    else:
        _show_reviews(reviews)
    raise typer.Exit(1 if any(review.verdict is SkillVerdict.REJECT for review in reviews) else 0)


def _files(paths: list[str]) -> dict[str, bool]:
    """The paths as they were given, each once, and whether each is to be read; of a folder all that is in it."""
    from overlord.domain.skills.file import FOLDER_FILE

    found: dict[str, bool] = {}
    for path in paths:
        inside = sorted(Path(path).iterdir()) if Path(path).is_dir() else []
        inside = [file / FOLDER_FILE if (file / FOLDER_FILE).is_file() else file for file in inside]
        skills = {str(file) for file in inside if file.suffix == ".yaml" or file.name == FOLDER_FILE}
        found |= {str(file): str(file) in skills for file in inside} if skills else {path: True}
    return found


def _reviews(files: dict[str, bool]) -> "tuple[SkillReview, ...]":
    """What is held against each; a file that is named in two ways is in no conflict with itself."""
    from overlord.domain.skills.review import misplaced, with_conflicts

    places = {file: os.path.realpath(file) for file in files}
    judged: dict[str, SkillReview] = {}
    for file, is_read in files.items():
        judged.setdefault(places[file], _review(file) if is_read else misplaced(file))
    known = dict(zip(judged, with_conflicts(list(judged.values())), strict=True))
    return tuple(replace(known[place], file=file) for file, place in places.items())


def _review(file: str) -> "SkillReview":
    from overlord.domain.skills.file import has_folder_form
    from overlord.domain.skills.review import misplaced, review_skill, unreadable
    from overlord.domain.text.untrusted_yaml import MAX_BYTES

    try:
        mode = Path(file).stat().st_mode
        if not stat.S_ISREG(mode):
            return unreadable(
                file,
                "There are no skill files in it." if stat.S_ISDIR(mode) else "It is no regular file.",
            )
        with Path(file).open("rb") as opened:
            review = review_skill(opened.read(MAX_BYTES + 1), file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return unreadable(file, f"The file cannot be read: {reason or error}.")
    misplaced_findings = (
        () if Path(file).suffix == ".yaml" or has_folder_form(file) else misplaced(file).findings
    )
    return replace(review, findings=(*misplaced_findings, *review.findings))


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


def _show_reviews(reviews: "tuple[SkillReview, ...]") -> None:
    from overlord.domain.skills.verdict import SkillVerdict

    rows = [
        (f"{review.file}:{item.line}" if item.line else review.file, item.level, item.rule, item.message)
        for review in reviews
        for item in review.findings
    ]
    if rows:
        table(("place", "level", "rule", "what"), rows)
        show_text("")
    counted = [(verdict, sum(review.verdict is verdict for review in reviews)) for verdict in SkillVerdict]
    text = ", ".join(f"{number} {_WORDS[verdict.name]}" for verdict, number in counted if number)
    show_text(f"{count(len(reviews), 'file')}: {text}.")


_WORDS = {"ACCEPT": "accepted", "FLAG": "flagged for a person to look at", "REJECT": "rejected"}

"""What `overlord doctor` says of the operator's own programs."""

from pathlib import Path

from overlord.entrypoints.doctor.finding import Health
from overlord.entrypoints.doctor.hooks import examine_hooks
from overlord.settings.load import load


def test_a_program_that_is_missing_or_may_not_be_executed_is_found(tmp_path: Path) -> None:
    directory = tmp_path / "home" / "hooks"
    directory.mkdir(parents=True)
    (directory / "notes.sh").write_text("#!/bin/sh\n")
    listed = {
        "idle": [{"command": ["./notes.sh"]}, {"command": ["sh"]}],
        "gate": [{"command": ["./none.sh"]}],
    }
    space = {"acme/calc": {"hooks": {"task_completed": [{"command": ["no-such-program"]}]}}}
    settings = load({"OVERLORD_HOME": str(tmp_path / "home")}, hooks=listed, spaces=space)
    assert [(item.what, item.health, item.said) for item in examine_hooks(settings)] == [
        (
            "hooks.idle",
            Health.BAD,
            f"{directory}/notes.sh may not be executed: chmod +x {directory}/notes.sh",
        ),
        ("hooks.idle", Health.WELL, "sh"),
        ("hooks.gate", Health.WARN, f"there is no {directory}/none.sh"),
        (
            "spaces.acme/calc.hooks.task_completed",
            Health.BAD,
            "there is no no-such-program on the search path",
        ),
    ]


def test_without_hooks_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert examine_hooks(load({"OVERLORD_HOME": str(tmp_path)})) == []

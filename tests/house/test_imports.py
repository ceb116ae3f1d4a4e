"""Imports point down: the rooms of ARCHITECTURE.md, proved on the import graph of the whole source."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

LEAVES = {
    "overlord.errors",
    "overlord.git_limits",
    "overlord.meters",
    "overlord.points",
    "overlord.process_limits",
}
"""What every room of Overlord may import."""
CHAIN = (
    "entrypoints",
    "app",
    "routines",
    "engine",
    "commands_message",
    "commands_skill",
    "commands_proposal",
    "commands",
    "commands_scope",
    "commands_untested",
    "inquiries",
    "store",
    "domain",
)
"""Each may import those after it."""
ALLOWED: dict[str, set[str]] = {
    **{
        room: {"minion.protocol", *(f"overlord.{below}" for below in CHAIN[index + 1 :])}
        for index, room in enumerate(CHAIN)
    },
    "domain": {"minion.protocol", "minion.packed"},
    "ports": {"minion.protocol", "overlord.domain"},
    "home": {"overlord.domain"},
    "bell": set(),
    "smart_http": set(),
    "http_server": set(),
    "process_limits": set(),
    "settings": {
        "minion.protocol",
        "overlord.domain",
        "overlord.settings_chat",
        "overlord.settings_environment",
        "overlord.settings_file",
        "overlord.settings_model",
        "overlord.settings_near",
        "overlord.settings_space",
        "overlord.settings_watch",
        "overlord.settings_work",
    },
    "settings_file": {"overlord.domain", "overlord.settings_environment"},
    "settings_held": {"overlord.domain", "overlord.settings"},
    "settings_near": {"overlord.domain"},
    "settings_space": {
        "minion.protocol",
        "overlord.domain",
        "overlord.settings_chat",
        "overlord.settings_model",
        "overlord.settings_work",
    },
    "settings_watch": {"overlord.settings_model"},
    "settings_work": {"overlord.domain", "overlord.settings_model"},
    "settings_chat": {"overlord.settings_model"},
    "settings_environment": {"overlord.domain"},
    "settings_model": {"overlord.domain"},
    "adapters": {
        "minion",
        "minion.protocol",
        "overlord.ports",
        "overlord.domain",
        "overlord.home",
        "overlord.settings",
    },
    "door": {
        "minion.protocol",
        "overlord.store",
        "overlord.domain",
        "overlord.ports",
        "overlord.home",
        "overlord.settings",
        "overlord.settings_model",
        "overlord.settings_held",
        "overlord.settings_space",
        "overlord.bell",
        "overlord.smart_http",
        "overlord.http_server",
        "overlord.process_limits",
    },
    "embedded": {"overlord.smart_http"},
    "errors": set(),
    "git_limits": set(),
    "points": set(),
    "meters": set(),
    "__main__": {"overlord.entrypoints"},
}
for _room in ("engine", "routines"):
    ALLOWED[_room] |= {
        "overlord.ports",
        "overlord.home",
        "overlord.settings",
        "overlord.settings_held",
        "overlord.settings_model",
        "overlord.settings_work",
    }
ALLOWED["commands_space"] = ALLOWED["commands"] | {"overlord.commands"}
ALLOWED["engine"] |= {"overlord.commands_space"}
ALLOWED["inquiries"] |= {"overlord.settings", "overlord.settings_space"}
ALLOWED["inquiries_session"] = ALLOWED["inquiries"] | {"overlord.ports", "overlord.home"}
ALLOWED["app"] |= {
    "minion",
    "overlord.adapters",
    "overlord.door",
    "overlord.ports",
    "overlord.home",
    "overlord.commands_space",
    "overlord.settings",
    "overlord.settings_file",
    "overlord.settings_held",
    "overlord.settings_model",
    "overlord.bell",
    "overlord.process_limits",
}
ALLOWED["entrypoints"] |= ALLOWED["app"] | {
    "overlord.embedded",
    "overlord.http_server",
    "overlord.inquiries_session",
    "overlord.settings_chat",
    "overlord.settings_environment",
    "overlord.settings_watch",
}


def modules(package: str) -> Iterator[Path]:
    for path in sorted((ROOT / package).rglob("*.py")):
        if "config/demo" not in path.as_posix():
            yield path


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            yield from (
                f"{node.module}.{alias.name}" for alias in node.names if node.module in {"overlord", "minion"}
            )


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "overlord").parts[0].removesuffix(".py")


def breaches() -> Iterator[str]:
    for path in modules("overlord"):
        room = room_of(path)
        if room == "__init__":
            continue
        allowed = ALLOWED[room] | LEAVES | {f"overlord.{room}"}
        for name in imported(path):
            if name.split(".")[0] not in {"overlord", "minion"} or name in {"overlord", "minion"} & allowed:
                continue
            if name == "overlord" or any(name == good or name.startswith(f"{good}.") for good in allowed):
                continue
            yield f"{path.relative_to(ROOT)} imports {name}"
    for path in modules("minion"):
        yield from (
            f"{path.relative_to(ROOT)} imports {name}"
            for name in imported(path)
            if name.startswith("overlord")
        )


def test_imports_point_down() -> None:
    assert list(breaches()) == []


def test_every_room_has_its_rule() -> None:
    rooms = {room_of(path) for path in modules("overlord")} - {"__init__"}
    assert rooms <= ALLOWED.keys()

"""Imports point down: the layers of ARCHITECTURE.md, and the packages inside each, proved on the import graph of the whole source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LEAVES = {
    "overlord.command_ref",
    "overlord.config_files",
    "overlord.errors",
    "overlord.git_limits",
    "overlord.metrics",
    "overlord.failpoints",
    "overlord.process_limits",
}
"""What every layer of Overlord may import."""
CHAIN = ("entrypoints", "app", "engine", "verbs", "queries", "store", "domain")
"""The layers. Each may import those after it."""
ALLOWED: dict[str, set[str]] = {
    **{
        layer: {"minion.protocol", *(f"overlord.{below}" for below in CHAIN[index + 1 :])}
        for index, layer in enumerate(CHAIN)
    },
    "domain": {"minion.protocol", "minion.checks.packed"},
    "ports": {"minion.protocol", "overlord.domain"},
    "home": {"overlord.domain"},
    "wakeup": set(),
    "file_tree": set(),
    "smart_http": set(),
    "http_server": set(),
    "process_limits": set(),
    "settings": {"minion.protocol", "overlord.domain"},
    "adapters": {
        "minion",
        "minion.protocol",
        "overlord.ports",
        "overlord.domain",
        "overlord.home",
        "overlord.settings",
    },
    "session_api": {
        "minion.protocol",
        "overlord.store",
        "overlord.domain",
        "overlord.ports",
        "overlord.home",
        "overlord.settings",
        "overlord.wakeup",
        "overlord.smart_http",
        "overlord.http_server",
        "overlord.process_limits",
    },
    "embedded": {"overlord.smart_http"},
    "command_ref": set(),
    "config_files": set(),
    "errors": set(),
    "git_limits": set(),
    "failpoints": set(),
    "metrics": set(),
    "__main__": {"overlord.entrypoints"},
}
ALLOWED["store"] |= {"overlord.file_tree"}
ALLOWED["engine"] |= {"overlord.file_tree", "overlord.ports", "overlord.home", "overlord.settings"}
ALLOWED["verbs"] |= {"overlord.settings"}
ALLOWED["queries"] |= {"overlord.settings", "overlord.ports", "overlord.home"}
ALLOWED["app"] |= {
    "minion",
    "overlord.adapters",
    "overlord.session_api",
    "overlord.ports",
    "overlord.home",
    "overlord.settings",
    "overlord.wakeup",
    "overlord.process_limits",
}
ALLOWED["entrypoints"] |= ALLOWED["app"] | {
    "overlord.embedded",
    "overlord.file_tree",
    "overlord.http_server",
    "minion.native.prompt",
}

ORDER: dict[str, tuple[str, ...]] = {
    "domain": (
        "identifiers",
        "interface",
        "person",
        "access",
        "search",
        "retention_item",
        "cron",
        "trace",
        "budgets",
        "wires",
        "text",
        "view",
        "event",
        "job",
        "final_state",
        "decision",
        "answers",
        "question",
        "evaluation",
        "convergence",
        "hooks",
        "scope",
        "changes",
        "session",
        "proposals",
        "review",
        "repositories",
        "skills",
        "pause",
        "checks",
        "contracts",
        "knowledge",
        "transcript",
        "disciplines",
        "training",
        "portfolio",
        "event_description",
        "conversation",
        "model_fault",
        "inquiry",
        "trend",
        "chat",
        "disk",
        "environments",
        "discovery",
        "bootstrap",
        "decision_history",
        "launch",
        "mcp",
        "agent_programs",
        "session_watchdog",
        "space_rotation",
        "timetable",
        "transcript_text",
    ),
    "store": (
        "counts",
        "schema",
        "search",
        "evidence",
        "rows",
        "ledger",
        "bootstrap",
        "final_states",
        "access",
        "api_replies",
        "chat",
        "budgets",
        "checks",
        "commit",
        "contracts",
        "conversation",
        "database",
        "decisions",
        "environments",
        "job_history",
        "job_outcomes",
        "jobs",
        "knowledge",
        "spaces",
        "portfolio",
        "proposals",
        "retention",
        "seen_decisions",
        "hooks",
        "sessions",
        "disciplines",
        "training",
        "skills",
    ),
    "queries": (
        "portfolio_brief",
        "overview",
        "job_story",
        "session",
        "look",
        "contract_choice",
        "contract_view",
        "job_search",
        "waits_for",
        "job_status",
        "job_status_view",
        "portfolio",
        "portfolio_initiative",
        "portfolio_view",
        "query",
        "declared",
        "brain",
        "registry",
    ),
    "verbs": (
        "right",
        "message",
        "untested",
        "scope",
        "commands",
        "contract",
        "proposal",
        "skill",
        "space",
        "verb",
        "plan",
        "portfolio",
        "knowledge",
        "calls",
        "brain",
        "rule",
        "answering",
        "decide",
        "issue_request",
        "declared",
        "outcome",
        "registry",
        "typed_words",
        "argument_json",
    ),
    "engine": (
        "runtime",
        "hooks",
        "issues",
        "chat",
        "conversation",
        "skills",
        "bootstrap",
        "knowledge",
        "portfolio",
        "contracts",
        "scope",
        "sessions",
        "delivery",
        "intake",
        "proposals",
        "due",
        "evaluation",
        "disciplines",
        "reload",
        "retention",
        "timetable",
        "tick",
    ),
    "adapters": (
        "clock",
        "schedule",
        "otlp",
        "space_runners",
        "authorities",
        "trash",
        "ending",
        "look",
        "http",
        "git",
        "remote_copies",
        "process",
        "http",
        "git",
        "remote_copies",
        "docker",
        "kubernetes",
        "swarm",
        "github",
        "model",
        "mcp",
        "hooks",
        "runner_choice",
        "slack",
    ),
    "session_api": (
        "limits",
        "wire",
        "cut_off",
        "in_flight",
        "outages",
        "push_limits",
        "mcp_conversations",
        "transcript",
        "turn_journal",
        "parts",
        "gateway",
        "git",
        "listener",
        "mcp",
        "messages",
        "bootstrap",
        "portfolio",
        "sessions",
        "remote",
        "server",
    ),
    "settings": (
        "model",
        "machines",
        "session_listener",
        "disciplines",
        "portfolio",
        "hooks",
        "agents",
        "chat",
        "page",
        "env",
        "file",
        "assignment",
        "work",
        "machines",
        "session_listener",
        "space",
        "suggestion",
        "watch",
        "machines",
        "load",
        "current",
    ),
    "entrypoints": (
        "probe",
        "backup",
        "chat",
        "process_environment",
        "invocation",
        "terminal",
        "doctor",
        "local",
        "fact_log",
        "listen",
        "notify",
        "tracing",
        "mirror_commits",
        "export",
        "claim",
        "training",
        "web",
        "mcp",
        "daemon",
        "process_consent",
        "demo",
        "space_lookup",
        "cli",
    ),
}
"""The packages and modules of each layer, the lowest first. Each may import those before it, and none imports in a circle."""


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


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT / "overlord").parts[0].removesuffix(".py")


def breaches() -> Iterator[str]:
    for path in modules("overlord"):
        layer = layer_of(path)
        if layer == "__init__":
            continue
        allowed = ALLOWED[layer] | LEAVES | {f"overlord.{layer}"}
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


def test_every_layer_has_its_rule() -> None:
    layers = {layer_of(path) for path in modules("overlord")} - {"__init__"}
    assert layers <= ALLOWED.keys()


def package_of(name: str, layer: str) -> str:
    """The package or module of a layer that a dotted name is in; empty for one of another layer."""
    return (
        name.removeprefix(f"overlord.{layer}.").split(".")[0] if name.startswith(f"overlord.{layer}.") else ""
    )


def imported_whole(path: Path) -> Iterator[str]:
    """What is imported, with the modules that are imported from packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if (ROOT / whole.replace(".", "/")).with_suffix(".py").exists():
                    yield whole


def upward(layer: str) -> Iterator[str]:
    """Imports inside a layer of what is not below."""
    order = ORDER[layer]
    for path in modules(f"overlord/{layer}"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if name == f"overlord.{layer}.__init__":
            continue
        mine = package_of(name, layer)
        for other in {package_of(found, layer) for found in imported_whole(path)} - {"", mine}:
            if other in order and order.index(other) >= order.index(mine):
                yield f"{name} imports {other}"


@pytest.mark.parametrize("layer", ORDER)
def test_packages_of_a_layer_import_downwards(layer: str) -> None:
    assert list(upward(layer)) == []


@pytest.mark.parametrize("layer", ORDER)
def test_every_package_has_its_place(layer: str) -> None:
    there = {
        path.relative_to(ROOT / "overlord" / layer).parts[0].removesuffix(".py")
        for path in modules(f"overlord/{layer}")
    }
    assert there - {"__init__"} == set(ORDER[layer])


def test_aiohttp_is_there_for_slack_alone() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules("overlord")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [item.name for item in node.names]
        )
        if name.split(".")[0] in {"aiohttp", "yarl"}
    }
    assert found == {"overlord/adapters/slack/client.py"}

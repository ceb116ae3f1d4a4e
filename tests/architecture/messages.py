"""The messages that people meet when something is wrong, read from the source: errors that are raised, and what `overlord doctor` finds.

A message is what it says with `…` for each part that varies. Those without a word of their own say what another error said.
"""

import ast
import re
from collections.abc import Iterator

from tests.architecture.test_imports import modules

ERRORS = frozenset(
    {
        "SettingsError",
        "ImageUnusable",
        "ContainersMissing",
        "ContractError",
        "NotFound",
        "Refused",
        "PartlyWritten",
        "StoreError",
        "ForgeUnavailable",
        "ForgeRefused",
        "ForgeTooLarge",
        "ForgeUnsupported",
        "ChatUnavailable",
        "ChatRefused",
        "McpUnavailable",
        "GitFailed",
        "Unobtainable",
        "RunnerUnavailable",
        "RunnerRefused",
        "ModelUnavailable",
        "ModelRefused",
        "EnvironmentFileError",
        "EnvironmentFailed",
        "ChecksFileError",
        "ScopeFileError",
        "SkillFileError",
        "NotDrafted",
        "BadParameter",
        "CommentCommandError",
        "CommandError",
        "NotAllowed",
        "NotAnAnswer",
        "UnclearAnswer",
        "misread",
    }
)
FINDINGS = frozenset({"bad", "warn"})
LAYERS = (
    "domain",
    "store",
    "queries",
    "verbs",
    "settings",
    "adapters",
    "engine",
    "session_api",
    "entrypoints",
)


def messages() -> dict[str, str]:
    """Each message, with the module that says it first."""
    found: dict[str, str] = {}
    for layer in LAYERS:
        for path in sorted(modules(f"overlord/{layer}")):
            for call in said(ast.parse(path.read_text(encoding="utf-8"))):
                for text in texts(call):
                    if sum(char.isalpha() for char in text.replace("…", "")) > 8:
                        found.setdefault(text, path.as_posix())
    return found


def said(tree: ast.AST) -> Iterator[ast.expr]:
    """What is raised, and what a finding says that is not well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            if ast.unparse(node.exc.func).rpartition(".")[2] in ERRORS and node.exc.args:
                yield node.exc.args[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in FINDINGS and len(node.args) > 1:
            yield node.args[1]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding":
            named = {one.arg: one.value for one in node.keywords}
            if "said" in named and "WELL" not in ast.unparse(named["health"]):
                yield named["said"]


def texts(node: ast.expr) -> Iterator[str]:
    """What an expression can say, as far as it stands there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield cleaned(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        yield cleaned("".join(map(str, parts)))
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.BinOp):
        yield from (cleaned(f"{left}{right}") for left in texts(node.left) for right in texts(node.right))


def cleaned(text: str) -> str:
    """One line, without marks that Markdown would take for its own."""
    return re.sub(r"(?:… ?){2,}", "… ", " ".join(text.split())).replace("|", "/").strip()


if __name__ == "__main__":
    for message, module in messages().items():
        print(f"{message}  ({module})")

"""Who may say in the source that somebody decided: names as they resolve, whatever a module calls them, held against a list.

An import, an alias, a name handed on by another module and a function's own import all resolve to one dotted name. A module that
holds a person's word is used by its attributes alone: handed on, renamed or asked by a string, it could not be followed. It is
conservative: a name that two things are bound to stands for both.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from tests.architecture.test_imports import ROOT, modules

DRAFT_CLI, SKILLS_CLI, GIVE = (
    f"overlord.entrypoints.cli.{name}"
    for name in ("commands.skills.draft", "commands.skills.group", "verb_command")
)
DRAFT_CHAT, PLAN, CHAT_COMMAND, REQUESTS_STEP = (
    f"overlord.engine.chat.{name}"
    for name in ("chat_drafts", "plan_request", "chat_command", "handle_requests")
)
PROPOSAL_VERB, DRAFT_VERB, VERBS, VERB, ANSWERING, DECIDE, REGISTRY = (
    f"overlord.verbs.{name}"
    for name in ("proposal", "skill", "commands", "verb", "answering", "decide", "registry")
)
ANSWER, EDIT, MESSAGE, RETIRE, CREATE_TOKEN, REVOKE_TOKEN = (
    f"overlord.verbs.declared.{name}"
    for name in ("answer", "edit", "message", "retire", "create_token", "revoke_token")
)
PROPOSALS, DRAFTS, DECISIONS, REQUESTS, ROWS, ACCESS = (
    f"overlord.store.{name}"
    for name in ("proposals.proposals", "skills.drafts", "decisions", "chat.requests", "rows", "access")
)
ISSUE_REQUEST, BUILD, INIT = (
    f"overlord.verbs.{name}" for name in ("issue_request", "declared.build", "declared.init")
)
COMMENTS, COMMENT_COMMAND, PULL_COMMENTS = (
    f"overlord.engine.conversation.{name}"
    for name in ("process_comments", "comment_command", "pull_comments")
)
WORK_CLI, SPACE_CLI = (f"overlord.entrypoints.cli.commands.{name}" for name in ("work", "space"))
WEB_GIVING, WEB_HANDLERS, WEB_SITE, WEB_VISITOR, WEB_ACCOUNT, WEB_GITHUB = (
    f"overlord.entrypoints.web.{name}"
    for name in ("giving", "handlers", "site", "visitor", "account", "github_sign_in")
)
MCP_VERBS = "overlord.entrypoints.mcp.verb_tools"
START, WORK = "overlord.entrypoints.local.start", "overlord.entrypoints.local.work"
ATTACH = "overlord.entrypoints.local.attach"
PERSON = "overlord.domain.person"

CALLERS: Mapping[str, set[str]] = {
    # A person is made where the command line runs as somebody, where it was looked at who wrote in the chat, and where somebody is signed in.
    f"{PERSON}.Person": {GIVE, REQUESTS_STEP, WEB_VISITOR},
    f"{PERSON}.Interface": {PERSON},
    # What a person says is one verb.
    f"{PROPOSAL_VERB}.approve_proposal": {ANSWERING},
    f"{PROPOSAL_VERB}.reject_proposal": {ANSWERING},
    # The store's way to write it down is the verb's alone.
    f"{PROPOSALS}.approve": {PROPOSAL_VERB},
    f"{PROPOSALS}.reject": {PROPOSAL_VERB},
    # The same of drafts of skills, which a person edits as well.
    f"{DRAFT_VERB}.approve_draft": {ANSWERING},
    f"{DRAFT_VERB}.reject_draft": {ANSWERING},
    f"{DRAFT_VERB}.edit_draft": {EDIT},
    f"{DRAFT_VERB}.retire_skill": {RETIRE},
    f"{DRAFTS}.approve": {DRAFT_VERB},
    f"{DRAFTS}.reject": {DRAFT_VERB},
    f"{DRAFTS}.edit": {DRAFT_VERB},
    # A draft begins with a person's word: to a proposal, or to a skill by its name.
    f"{DRAFTS}.request": {PROPOSAL_VERB, DRAFT_VERB},
    # A declared verb is given by an interface that knows who gives it, and by nobody else.
    f"{VERB}.Context": {GIVE, PLAN, COMMENTS, WEB_SITE, MCP_VERBS},
    f"{REGISTRY}.Command": {
        REGISTRY,
        GIVE,
        DRAFT_CLI,
        WORK_CLI,
        SPACE_CLI,
        PULL_COMMENTS,
        WEB_GIVING,
        MCP_VERBS,
    },
    f"{REGISTRY}.command_of": {CHAT_COMMAND, COMMENT_COMMAND},
    f"{REGISTRY}.command_about": {PLAN, WEB_GIVING},
    f"{GIVE}.give": {GIVE, DRAFT_CLI, WORK_CLI, SPACE_CLI},
    f"{DECIDE}.approve": {"overlord.verbs.declared.approve"},
    f"{DECIDE}.reject": {"overlord.verbs.declared.reject"},
    f"{ANSWERING}.answer": {ANSWER, DECIDE, MESSAGE, PLAN},
    # In the chat, what was pressed or typed comes here once it is known who did.
    f"{PLAN}.plan": {REQUESTS_STEP},
    # What the command line does for whoever types it, nobody else has it do.
    f"{DRAFT_CLI}.approve": {SKILLS_CLI},
    f"{DRAFT_CLI}.reject": {SKILLS_CLI},
    f"{DRAFT_CLI}.edit": {SKILLS_CLI},
    f"{DRAFT_CLI}.retire": {SKILLS_CLI},
    # What is a person's word in the chat is what Slack brought.
    f"{REQUESTS}.receive": {"overlord.entrypoints.chat.bolt"},
    # An issue is opened for a person by their word alone.
    f"{ISSUE_REQUEST}.ask_build": {BUILD},
    f"{ISSUE_REQUEST}.ask_init": {INIT},
    # Decisions are answered by whoever is asked, and closed by what overtakes them.
    f"{VERBS}.answer_decision": {VERBS, ANSWERING, START, WORK, ATTACH},
    f"{DECISIONS}.answer": {VERBS, PROPOSALS, DRAFTS},
    # Whoever has a token is somebody: tokens are made and ended by the operator's verbs alone, and the owner needs none.
    f"{ACCESS}.create": {CREATE_TOKEN},
    f"{ACCESS}.revoke": {REVOKE_TOKEN},
    f"{ACCESS}.begin_owner_session": {WEB_SITE},
    # An account is one of which GitHub was asked.
    f"{ACCESS}.begin_account_session": {WEB_GITHUB},
    f"{ACCESS}.note_account": {WEB_ACCOUNT},
}
"""Every module in the source that uses these, but for saying that something is of their type."""
KNOWING = CALLERS[f"{PERSON}.Person"] | {
    PROPOSAL_VERB, DRAFT_VERB, VERBS, PROPOSALS, DRAFTS, DECISIONS, PLAN, VERB, WEB_SITE,
}  # fmt: skip
"""Who knows what a person is at all: who makes one, or takes one as an argument."""
WATCHED = {name.rpartition(".")[0] for name in CALLERS}
"""Modules that are used by their attributes alone."""
TABLES: Mapping[str, str] = {
    "proposals": PROPOSALS,
    "drafts": DRAFTS,
    "decisions": DECISIONS,
    "requests": REQUESTS,
    "issue_requests": "overlord.store.bootstrap.issue_requests",
    "access_tokens": ACCESS,
    "browser_sessions": ACCESS,
}
"""Tables that say what people said, each written by its store alone."""
_GAP = r"(?:\s|/\*.*?\*/)+"
_WRITES = re.compile(
    rf"\b(?:update{_GAP}(?:or{_GAP}\w+{_GAP})?|(?:insert|replace){_GAP}(?:or{_GAP}\w+{_GAP})?into{_GAP}|delete{_GAP}from{_GAP})"
    r"(?:main\s*\.\s*)?[\"'`\[]?(\w+|(?:\{\w*\}|%s)(?=\s|$))",
    re.IGNORECASE | re.DOTALL,
)
_RUNS_TEXT = {
    "__import__",
    "eval",
    "exec",
    "compile",
    "globals",
    "importlib.import_module",
    "importlib.util",
    "runpy",
    "sys.modules",
}
"""Ways to a module that no list of names can follow."""
_QUERIES = "overlord.queries.registry"
# The registries of verbs and queries import the modules of their own folders, which are read here like any other.
_IN_CONTAINERS = "overlord.adapters.docker.profile_check"
"""Runs Overlord's own program inside a container, where there is no database."""
_MIGRATION = "overlord.store.schema.approvals"
"""Writes the rows of what a version before had decided."""
_DYNAMIC = {ROWS, "overlord.store.retention"}
"""Who writes a statement for a table that is named elsewhere: for callers who name it, and for rows that are old."""


class Source:
    """A module as it is read: its nodes, and what its names may stand for."""

    def __init__(self, module: str, text: str) -> None:
        self.module = module
        self.nodes = list(ast.walk(ast.parse(text)))
        self.imports = tuple(self._imports())
        self.bound: dict[str, set[str]] = {}
        """What each name may stand for, wherever in the module that is bound."""
        for name, origin in self.imports:
            self.bound.setdefault(name, set()).add(origin)
        for name in self._made():
            self.bound.setdefault(name, set()).add(f"{module}.{name}")
        self._resolved: dict[int, set[str]] = {}

    def resolved(self, node: ast.AST) -> set[str]:
        """The dotted names that a name or an attribute may stand for."""
        known = self._resolved.get(id(node))
        if known is None:
            known = self._resolved[id(node)] = {_home(name) for name in self._stands_for(node)}
        return known

    def _stands_for(self, node: ast.AST) -> Collection[str]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self.bound.get(node.id, ())
        if isinstance(node, ast.Attribute):
            return [f"{name}.{node.attr}" for name in self.resolved(node.value)]
        return ()

    def _imports(self) -> Iterator[tuple[str, str]]:
        """What is imported, by the name it has here."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for item in node.names:
                    yield (item.asname, item.name) if item.asname else (item.name.partition(".")[0],) * 2
            elif isinstance(node, ast.ImportFrom):
                above = self.module.split(".")[: -node.level] if node.level else []
                origin = ".".join([*above, *([node.module] if node.module else [])])
                for item in node.names:
                    names = sources()[origin].bound if item.name == "*" else [item.name]
                    yield from ((item.asname or name, f"{origin}.{name}") for name in names)

    def _made(self) -> Iterator[str]:
        """Functions, classes and values that it makes."""
        for node in self.nodes:
            if isinstance(node, ast.Module):
                for item in node.body:
                    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                        yield item.name
                    elif isinstance(item, ast.Assign | ast.AnnAssign):
                        targets = item.targets if isinstance(item, ast.Assign) else [item.target]
                        yield from (target.id for target in targets if isinstance(target, ast.Name))


@cache
def sources() -> Mapping[str, Source]:
    """Every module of Overlord."""
    found = {}
    for path in modules("overlord"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[module] = Source(module, path.read_text(encoding="utf-8"))
    return found


@cache
def _origins(module: str) -> Mapping[str, str]:
    """What a module has from others, by the name it has there."""
    return dict(sources()[module].imports)


@cache
def _home(name: str) -> str:
    """Where a dotted name is made, for one that another module has from there."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module, inside = ".".join(parts[:length]), ".".join(parts[: length + 1])
        if inside in sources():
            return name
        if module in sources():
            there = _origins(module).get(parts[length])
            return name if there is None else _home(".".join([there, *parts[length + 1 :]]))
    return name


def breaches(source: Source) -> set[str]:
    """What a module does of this that it may not."""
    found = {name for name in uses(source) if source.module not in CALLERS[name]}
    return found | set(_written(source)) | set(_unfollowed(source))


def uses(source: Source) -> Iterator[str]:
    """The names of CALLERS that a module uses, but for saying that something is of their type."""
    typed = {id(part) for node in source.nodes for hint in _hints(node) for part in ast.walk(hint)}
    for node in source.nodes:
        if id(node) not in typed:
            yield from (name for name in source.resolved(node) if name in CALLERS)


def knows_people(source: Source) -> bool:
    """Whether a module imports what a person is, in whatever way."""
    origins = (_home(origin) for _, origin in source.imports)
    direct = (item.name for node in source.nodes if isinstance(node, ast.Import) for item in node.names)
    return any(f"{name}.".startswith(f"{PERSON}.") for name in (*origins, *direct))


def _hints(node: ast.AST) -> Iterator[ast.expr]:
    """Types that are only said: what is called in one is run, and counts."""
    hint = None
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        hint = node.returns
    elif isinstance(node, ast.arg | ast.AnnAssign):
        hint = node.annotation
    if hint is not None and not any(isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(hint)):
        yield hint


def _written(source: Source) -> Iterator[str]:
    """Statements for tables that are another module's, and ways to write to one that cannot be followed."""
    called = {id(node.func): node for node in source.nodes if isinstance(node, ast.Call)}
    for node in source.nodes:
        if {f"{ROWS}.insert", f"{ROWS}.update"} & source.resolved(node):
            call = called.get(id(node))
            table = _text(call.args[1]) if call is not None and len(call.args) > 1 else ""
            if not table.isidentifier():
                yield f"{ast.unparse(node)} for a table that is not named there"
            elif TABLES.get(table, source.module) != source.module:
                yield f"{ast.unparse(node)} of {table}"
        for table in _WRITES.findall(_text(node)):
            is_named = table.isidentifier()
            if (
                is_named
                and source.module != _MIGRATION
                and TABLES.get(table.lower(), source.module) != source.module
            ):
                yield f"SQL for {table.lower()}"
            elif not is_named and source.module not in _DYNAMIC:
                yield "SQL for a table that is not named there"


def _text(node: ast.AST) -> str:
    """A string as it stands in the source, put together where that can be read; `{}` for what is put in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return "".join(_text(side) or "{}" for side in (node.left, node.right))
    return ""


def _unfollowed(source: Source) -> Iterator[str]:
    """A watched module that is handed on, renamed, or asked for by a string."""
    whole = {id(node.value) for node in source.nodes if isinstance(node, ast.Attribute)}
    for node in source.nodes:
        if id(node) not in whole:
            yield from (f"{name}, handed on" for name in source.resolved(node) & WATCHED)
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            yield from (f"{name}.{node.attr}" for name in source.resolved(node.value) & WATCHED)
        named = source.resolved(node) or ({node.id} if isinstance(node, ast.Name) else set())
        if named & _RUNS_TEXT and source.module not in {_IN_CONTAINERS, REGISTRY, _QUERIES}:
            yield f"{ast.unparse(node)}, which nobody can follow"
        if _text(node).partition(":")[0] in WATCHED:
            yield f"{_text(node)}, by a string"

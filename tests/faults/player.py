"""A light stand-in for the session program: the real door's protocol in 20 ms, with little of the standard library.

    world.overrides["process"] = {"python": played(world.root)}    # before the Overlord is started
    world.model_will(say("Go on."), when=OPENING)

It clones and pushes by git's wire protocol over the session API's socket, makes one model call and writes `calc.py`. Words in the issue's
title choose what it does: `breaks first` and `breaks always` (a failing test), `strays` (first also writes `stray.txt`),
`asks`, `holds` (until `ROOT/go` exists, saying `world.HOLDING`), `reads` (what people say to it), `blocked`, `idle` (changes nothing), `needs more` (changes
`requirements.txt`). What a lead and the sessions of tasks do, `_of_portfolio` says. Of an approved draft of a skill it writes the one file; under a contract with roles, what `_of_role` says, and in the first job of a
repository what `_of_architect` says. A check session calls the plain test functions of the tree it is told of, without pytest, and its linter
never complains; where a title says `forges`, the test run of new work is exit code 0 and no report. A setup session leaves an environment without anything in it. `check dies` and `setup dies`: without a word,
the first time; `check waits`: until `ROOT/go` exists. Where only checks are played (`tests/quick.py`), the Minion is the real one.
"""

import _json  # what `json`, `hashlib` and `socket` are made of: those import ten times as much as is needed here
import _sha1  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType
    from typing import Any

OPENING = "This is a played session."
PATIENCE_S = 60.0
REPLY_S = 20.0
"""How long one call may take that waits for no model: a daemon that was suspended does not answer."""
PAUSE_S = 0.02
FIXED = b"def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"
BROKEN = FIXED.replace(b"a * 2", b"a * 3")
RED_TEST = b"from calc import add\n\n\ndef test_text():\n    assert add('1', '2') == 3\n"
READS_TEXT = b"def add(a, b):\n    return int(a) + int(b)\n"
NOTED = "Numbers are read before they are added: texts broke the sums."
PAIR = {
    "type": "sft",
    "moment": "a clean diagnosis",
    "prompt": "A sum of two inputs fails when one of them is text. What do you look at first?",
    "completion": "At where the inputs are read: convert them there, once, and refuse what is no number.",
    "score": 4,
}
"""What a played trainer finds worth learning."""
VISION = ("Problem", "Users", "Solution", "Scope", "Success")
PLAN = ("Goal", "Current state", "Approach", "What is next")
LEFT_OPEN = 4
"""Questions that a played architect leaves to people: one more than are asked at once."""
CONTRACT: "dict[str, Any]" = {
    "name": "calc",
    "version": 2,
    "lifetime": {"hours": 48},
    "roles": {
        "developer": {
            "scope": ["calc.py", "tests/**"],
            "outputs": ["a change"],
            "verification": ["diff_non_empty"],
            "budget": {"iterations": 3, "exhausted": "ask"},
        }
    },
    "phases": {
        "build": {
            "actors": ["developer"],
            "inputs": ["issue"],
            "outputs": ["calc.py", "tests/**"],
            "criteria": ["evaluation_passed"],
            "next": {"done": "ship"},
        },
        "ship": {"actors": [], "terminal": True},
    },
    "gates": {"merge": {"on": "ship->end", "audience": "person", "approve": "merged", "reject": "pr_closed"}},
}
"""What a played architect proposes."""
WHO = "Played <played@example.invalid> 1750000000 +0000"
COMMIT, TREE, BLOB, REF_DELTA = 1, 2, 3, 7
NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}
FINISHED = "environment.json"
_program = b""


def played(
    root: "Path", *, patience_s: float = PATIENCE_S, others: "Path | None" = None, kinds: str = "check"
) -> str:
    """Write the program below `root`; what to name as `process.python`. `patience_s`: how long it waits out a session API or a
    model that is not well. `others`: the interpreter whose sessions only have those of these kinds (`check`, or `check|setup`) played."""
    script, program = root / "played", root / "played.pyc"
    program.write_bytes(_compiled())
    lines = ["#!/bin/sh"]
    if others is not None:
        lines.append(f'export PATH="{others.parent}:$PATH"')
        named = "|".join(f"*-{kind}-*" for kind in kinds.split("|"))
        lines.append(f'case "$MINION_ID" in {named}) ;; *) exec "{others}" "$@" ;; esac')
    lines.append(f'exec "{sys.executable}" -I -S "{program}" "{root}" {patience_s}')
    script.write_text("\n".join([*lines, ""]))
    script.chmod(0o755)
    return str(script)


def _compiled() -> bytes:
    """This file as Python starts fastest with: a script's bytecode is kept nowhere, and there are thousands of sessions."""
    global _program  # noqa: PLW0603 - a cache without functools, which a session does without
    if not _program:
        from importlib.util import MAGIC_NUMBER

        with open(__file__, "rb") as file:
            code = compile(file.read(), __file__, "exec", dont_inherit=True)
        _program = MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    return _program


class Refusal(Exception):
    """The session API said no."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:500]!r}")
        self.status = status


class SessionApi:
    """One request a connection; a session API that is missing, cuts or stumbles is asked again."""

    def __init__(self, url: str, patience_s: float) -> None:
        self._path = url.removeprefix("unix://")
        self._patience_s = patience_s

    def call(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json", *, again: bool = True
    ) -> tuple[int, bytes]:
        until = time.monotonic() + self._patience_s
        while True:
            try:
                status, answer = self._once(method, path, body, kind)
            except OSError:
                status, answer = 0, b"nobody there"
            if 200 <= status < 300:
                return status, answer
            passing = status in {0, 429, 500, 502, 503, 504}
            if not (passing and again) or time.monotonic() > until:
                raise Refusal(status, answer)
            time.sleep(PAUSE_S)

    def post(self, path: str, record: "dict[str, Any]", *, again: bool = True) -> bytes:
        return self.call("POST", path, _text(record), again=again)[1]

    def _once(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        line = _socket.socket(_socket.AF_UNIX)
        try:
            line.settimeout(PATIENCE_S if path.startswith("/v1/") else REPLY_S)
            line.connect(self._path)
            head = f"{method} {path} HTTP/1.1\r\nHost: door\r\nConnection: close\r\nContent-Type: {kind}\r\n"
            line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            data = b"".join(iter(lambda: line.recv(65536), b""))
        finally:
            line.close()
        first, _, rest = data.partition(b"\r\n\r\n")
        words = first.split(None, 2)
        if len(words) < 2:
            raise ConnectionError("the answer was cut")
        return int(words[1]), _whole(first.lower(), rest)


def _whole(head: bytes, body: bytes) -> bytes:
    """The body that arrived, if all of it did."""
    if b"transfer-encoding: chunked" in head:
        return _joined(body)
    length = head.partition(b"content-length:")[2].split(b"\r\n")[0]
    if length and len(body) != int(length):
        raise ConnectionError("the answer was cut")
    return body


def _joined(chunks: bytes) -> bytes:
    made = b""
    while True:
        size, _, rest = chunks.partition(b"\r\n")
        if not size or len(rest) < int(size, 16) + 2:
            raise ConnectionError("the answer was cut")
        if int(size, 16) == 0:
            return made
        made, chunks = made + rest[: int(size, 16)], rest[int(size, 16) + 2 :]


class Repository:
    """The session's repository as git's smart HTTP shows it: fetched without history, pushed one commit at a time."""

    def __init__(self, session_api: SessionApi) -> None:
        self._session_api = session_api
        self._objects: dict[str, tuple[int, bytes]] = {}

    def fetch(self, *commits: str) -> None:
        wants = b"".join(_line(f"want {sha} no-progress\n") for sha in dict.fromkeys(commits))
        asked = wants + _line("deepen 1\n") + b"0000" + _line("done\n")
        path, kind = "/session/repo.git/git-upload-pack", "application/x-git-upload-pack-request"
        _, answer = self._session_api.call("POST", path, asked, kind)
        self._unpack(answer[answer.index(b"PACK") :])

    def files(self, commit: str) -> dict[str, bytes]:
        """What a commit holds, by path."""
        return dict(self._below(self._objects[commit][1][5:45].decode(), ""))

    def _below(self, tree: str, place: str) -> "Iterator[tuple[str, bytes]]":
        for mode, name, sha in self._tree(tree):
            path = place + os.fsdecode(name)
            if mode == b"40000":
                yield from self._below(sha, path + "/")
            elif sha in self._objects:  # what a submodule names is elsewhere
                yield path, self._objects[sha][1]

    def commit(self, parent: str, files: dict[bytes, bytes]) -> str:
        """A commit that holds these files besides what its parent holds."""
        tree = self._grown(self._objects[parent][1][5:45].decode(), files)
        text = f"tree {tree}\nparent {parent}\nauthor {WHO}\ncommitter {WHO}\n\nPlayed\n"
        return self._put(COMMIT, text.encode())

    def _grown(self, tree: str, files: dict[bytes, bytes]) -> str:
        """A tree that holds these files besides what another holds; an empty name for one that is not there yet."""
        entries = {name: (mode, name, sha) for mode, name, sha in (self._tree(tree) if tree else [])}
        below: dict[bytes, dict[bytes, bytes]] = {}
        for path, content in files.items():
            name, _, rest = path.partition(b"/")
            if rest:
                below.setdefault(name, {})[rest] = content
            else:
                entries[name] = (b"100644", name, self._put(BLOB, content))
        for name, inner in below.items():
            known = entries[name][2] if name in entries else ""
            entries[name] = (b"40000", name, self._grown(known, inner))
        held = sorted(entries.values(), key=lambda entry: entry[1] + (b"/" if entry[0] == b"40000" else b""))
        return self._put(TREE, b"".join(b"%b %b\0" % e[:2] + bytes.fromhex(e[2]) for e in held))

    def push(self, branch: str, old: str, new: str) -> None:
        """Push what `new` adds; a push whose answer was lost is found done."""
        order = _line(f"{old} {new} refs/heads/{branch}\0report-status") + b"0000"
        path, kind = "/session/repo.git/git-receive-pack", "application/x-git-receive-pack-request"
        _, answer = self._session_api.call("POST", path, order + self._pack(), kind)
        if b"ok refs/heads/" not in answer and not self._is_at(branch, new):
            raise Refusal(409, answer)

    def _is_at(self, branch: str, sha: str) -> bool:
        _, told = self._session_api.call("GET", "/session/repo.git/info/refs?service=git-receive-pack")
        return f"{sha} refs/heads/{branch}".encode() in told

    def _tree(self, sha: str) -> list[tuple[bytes, bytes, str]]:
        tree, found = self._objects[sha][1], []
        while tree:
            head, _, rest = tree.partition(b"\0")
            mode, _, path = head.partition(b" ")
            found.append((mode, path, rest[:20].hex()))
            tree = rest[20:]
        return found

    def _put(self, kind: int, data: bytes) -> str:
        sha = _sha(kind, data)
        self._objects[sha] = (kind, data)
        return sha

    def _pack(self) -> bytes:
        body = b"PACK\0\0\0\2" + len(self._objects).to_bytes(4, "big")
        for kind, data in self._objects.values():
            size, first = len(data) >> 4, kind << 4 | len(data) & 15
            head = bytearray()
            while size:
                head.append(first | 128)
                size, first = size >> 7, size & 127
            body += bytes([*head, first]) + zlib.compress(data)
        return bytes(body + _sha1.sha1(body).digest())

    def _unpack(self, pack: bytes) -> None:
        at, deltas = 12, []
        for _ in range(int.from_bytes(pack[8:12], "big")):
            kind = pack[at] >> 4 & 7
            while pack[at] & 128:
                at += 1
            at += 1
            based = pack[at : at + 20].hex()
            at += 20 if kind == REF_DELTA else 0
            opened = zlib.decompressobj()
            data = opened.decompress(pack[at:])
            at = len(pack) - len(opened.unused_data)
            if kind == REF_DELTA:
                deltas.append((based, data))
            else:
                self._put(kind, data)
        while deltas:
            based, data = deltas.pop(0)
            if based in self._objects:
                kind, source = self._objects[based]
                self._put(kind, _applied(source, data))
            else:
                deltas.append((based, data))


def _sha(kind: int, data: bytes) -> str:
    return str(_sha1.sha1(b"%b %d\0" % (NAMES[kind], len(data)) + data).hexdigest())


def _line(text: str) -> bytes:
    return b"%04x" % (len(text.encode()) + 4) + text.encode()


class _Reading:
    """How JSON is read; what `json.JSONDecoder` says to the same scanner."""

    strict, object_hook, object_pairs_hook, parse_float, parse_int, parse_constant = (
        True,
        None,
        None,
        float,
        int,
        float,
    )


def _told(data: bytes) -> "Any":
    """What a JSON text says. Raises ValueError."""
    text = data.decode().strip()
    try:
        value, end = _json.make_scanner(_Reading)(text, 0)  # type: ignore[arg-type]
    except StopIteration:
        raise ValueError("this is no JSON") from None
    if end != len(text):
        raise ValueError("there is more than one JSON text")
    return value


def _text(value: object) -> bytes:
    escape = _json.encode_basestring_ascii
    encode = _json.make_encoder({}, repr, escape, None, ": ", ", ", False, False, True)
    return "".join(encode(value, 0)).encode()


def _applied(source: bytes, delta: bytes) -> bytes:
    at = 0
    for _ in range(2):  # the two sizes
        while delta[at] & 128:
            at += 1
        at += 1
    made = b""
    while at < len(delta):
        order, at = delta[at], at + 1
        if not order & 128:
            made, at = made + delta[at : at + order], at + order
            continue
        numbers = [0] * 7
        for bit in range(7):
            if order >> bit & 1:
                numbers[bit], at = delta[at], at + 1
        offset, size = int.from_bytes(numbers[:4], "little"), int.from_bytes(numbers[4:], "little") or 0x10000
        made += source[offset : offset + size]
    return made


def work(session_api: SessionApi, brief: "dict[str, Any]", root: str) -> None:
    title = brief["issue"]["title"]
    session_api.post("/session/events", {"kind": "progress", "turn": 1, "text": "begin"})
    called = _of_call(session_api, brief) if brief.get("discipline") else None
    opening = _opening(brief) + ([{"role": "user", "content": called[1]}] if called and called[1] else [])
    told = session_api.post("/v1/chat/completions", {"model": brief["model"], "messages": opening})
    _told(told)["choices"][0]["message"]  # what it says is not looked at, but it must be a reply
    if called:
        if "holds" in title:
            session_api.post("/session/events", {"kind": "progress", "turn": 1, "text": "run: holding"})
            _hold(root)
        head = _pushed(session_api, brief, called[2]) if called[2] else None
        _report(session_api, "complete", "Played.", head, answer=_text(called[0]).decode())
        return
    terms = brief.get("terms") or {}
    if terms.get("consultation"):
        _report(session_api, "complete", "Answered.", None, answer=_answer(terms["consultation"]))
        return
    if terms.get("contract") == "init":
        _report(session_api, "complete", "Played.", _of_architect(session_api, brief))
        return
    if (told_of := brief.get("portfolio") or {}).get("initiative"):
        _of_portfolio(session_api, brief, told_of)
        return
    if "asks" in title and not brief["answers"]:
        _ask(session_api, brief)
    if "holds" in title:
        session_api.post("/session/events", {"kind": "progress", "turn": 1, "text": "run: holding"})
        _hold(root)
    if "reads" in title:
        _read(session_api)
    if "blocked" in title:
        _report(session_api, "blocked", "The played session cannot go on.", None)
        return
    _report(session_api, "complete", "Played.", None if "idle" in title else _push(session_api, brief, title))


def _of_call(
    session_api: SessionApi, brief: "dict[str, Any]"
) -> "tuple[dict[str, str], str, dict[bytes, bytes]]":
    """A call of a discipline: its result, what the model is shown besides, and the files it writes, which are the same each time."""
    task = brief["discipline"]
    result = {"phase": task["phase"], "status": "pass", "message": f"Played {task['name']}."}
    shown: str = ""
    files: dict[bytes, bytes] = {}
    if task["name"] == "tdd_red":
        files = {b"tests/test_text.py": RED_TEST}
    elif task["name"] == "tdd_green":
        files = {b"calc.py": READS_TEXT}
    elif task["name"] == "review":
        repository = Repository(session_api)
        repository.fetch(brief["head_sha"])
        shown = "calc.py\n" + repository.files(brief["head_sha"])["calc.py"].decode()
        result["runner_output"] = "WARNING: a short name at calc.py:1"
    elif task["name"] == "retrospective":
        cited = task["history"].partition("- Entry: ")[2].split()[0]
        note = {"kind": "convention", "text": NOTED, "evidence": [cited]}
        result["runner_output"] = _text({"notes": [note]}).decode()
    elif task["name"] == "trainer" and brief["role"] == "reader":
        result["runner_output"] = _text([PAIR]).decode()
    elif task["name"] == "trainer":
        record = _text({name: PAIR[name] for name in ("prompt", "completion")}) + b"\n"
        path = next(path for path in brief["scope"]["patterns"] if "/sft/" in path)
        files = {path.encode(): record}
    return result, shown, files


def _of_portfolio(session_api: SessionApi, brief: "dict[str, Any]", told: "dict[str, Any]") -> None:
    """A lead plans three tasks. A task whose title says so finds another (`finds`), asks what is known (`knows`), cannot go on before a
    person has answered (`waits`), or says nothing of what it did the first time (`half`)."""
    title, task = brief["issue"]["title"], told["task"]
    if task is None:
        planned = [
            _planned(f"{title} finds knows", "first.py"),
            _planned(f"{title} waits", "second.py"),
            {**_planned(f"{title} half", "third.py"), "blocked_by": [1]},
        ]
        text = "\n\n".join(f"## {heading}\n\nAdd.\n" for heading in PLAN)
        session_api.post("/session/plan", {"text": text, "tasks": planned})
        _report(session_api, "complete", "Planned.", None)
        return
    if "finds" in title:
        session_api.post("/session/tasks", _planned(title.replace("finds knows", "found"), "found.py"))
    if "knows" in title:
        _escalate(session_api, title, type="question", kind="convention", question=f"Which form has {title}?")
    if "waits" in title and not any(title in item["question"] for item in told["resolved"]):
        _escalate(
            session_api, title, type="blocker", kind="credentials", question=f"Which key opens {title}?"
        )
        _report(session_api, "blocked", "There is no key.", None)
        return
    made = _pushed(
        session_api, brief, {f"{_place(title)}.py".encode(): f"# {brief['session_id']}\n".encode()}
    )
    if "half" not in title or brief["branch"].endswith("-2"):
        done = {"notes": "It is there.", "addressed": [{"number": 1, "evidence": "the file"}]}
        session_api.post("/session/completion", done)
    note = {"kind": "pattern", "text": f"{title} is in a file of its own."}
    path = f"{_place(title)}.py"
    session_api.post("/session/knowledge", {**note, "check": {"kind": "path_exists", "path": path}})
    session_api.post("/session/idle", {"outcome": "complete", "summary": "Played."})
    _report(session_api, "complete", "Played.", made)


def _place(title: str) -> str:
    """The file of a task, by the last word of its title."""
    return {"knows": "first", "waits": "second", "half": "third", "found": "found"}[
        title.rsplit(maxsplit=1)[-1]
    ]


def _planned(subject: str, path: str) -> "dict[str, Any]":
    return {"subject": subject, "acceptance_criteria": [f"{path} is there"], "paths": [path]}


def _escalate(session_api: SessionApi, title: str, **asked: str) -> None:
    session_api.post("/session/escalations", {**asked, "context": title})


def _hold(root: str) -> None:
    """Until the world lets go, or is no more."""
    while os.path.exists(root) and not os.path.exists(f"{root}/go"):
        time.sleep(PAUSE_S)


def _read(session_api: SessionApi) -> None:
    """Take what people said meanwhile."""
    told = _told(session_api.post("/session/messages", {"turn": 2, "taken": []}))["messages"]
    session_api.post("/session/messages", {"turn": 2, "taken": [item["id"] for item in told]})


def _opening(brief: "dict[str, Any]") -> list[dict[str, str]]:
    task = f"{brief['session_id']} of {brief['repository']}: {brief['issue']['title']}"
    return [{"role": "system", "content": OPENING}, {"role": "user", "content": task}]


def _push(session_api: SessionApi, brief: "dict[str, Any]", title: str) -> str:
    broken = "breaks always" in title or ("breaks first" in title and not brief["findings"])
    mark = f"# {brief['session_id']}\n".encode()
    files = {b"calc.py": (BROKEN if broken else FIXED) + mark}
    if "strays" in title and not brief["findings"]:
        files[b"stray.txt"] = b"stray\n"
    if "needs more" in title:
        files[b"requirements.txt"] = b"more\n"
    if (body := brief["issue"]["body"]).startswith("Write the file `"):
        text = body.partition("```yaml\n")[2].partition("```")[0]
        files = {body.split("`")[1].encode(): text.encode()}
    if brief["role"] in {"architect", "coder", "writer"}:
        files = _of_role(brief, mark)
    return _pushed(session_api, brief, files)


def _pushed(session_api: SessionApi, brief: "dict[str, Any]", files: dict[bytes, bytes]) -> str:
    """The commit with these files that its branch has now."""
    head: str = brief["head_sha"]
    repository = Repository(session_api)
    repository.fetch(head)
    made = repository.commit(head, files)
    repository.push(brief["branch"], head, made)
    return made


def _of_role(brief: "dict[str, Any]", mark: bytes) -> dict[bytes, bytes]:
    """The architect's plan, with what it was told in it; the coder's change, far too large before the architect has said so; the
    writer's notes. A title that says `trespasses` has the coder write the writer's notes as well."""
    told = " ".join(brief["terms"]["feedback"])
    if brief["role"] == "architect":
        return {b"plan/plan.md": b"# Plan\n\nAdd.\n" + told.encode()}
    if brief["role"] == "writer":
        return {b"NOTES.md": b"add() adds.\n" + mark}
    is_told = "What the architect says" in told
    files = {b"calc.py": FIXED + mark * (1 if is_told else 20)}
    if "trespasses" in brief["issue"]["title"] and not is_told:
        files[b"NOTES.md"] = mark
    return files


def _of_architect(session_api: SessionApi, brief: "dict[str, Any]") -> str | None:
    """The first job of a repository: `LEFT_OPEN` questions are left to people, two documents are written, and a contract is proposed,
    a bad one first; where a person said `Make it last 6 hours`, one that does."""
    terms = brief["terms"]
    if terms["phase"] == "discover":
        _record(session_api, _plan(brief, "plan/discovery.md"))
        return None
    if terms["phase"] == "propose":
        said = " ".join([*terms["feedback"], *(finding["message"] for finding in brief["findings"])])
        hours = int(said.rpartition("Make it last ")[2].split()[0]) if "Make it last " in said else 48
        if not said:
            session_api.post("/session/contract", {"contract": {**CONTRACT, "gates": {}}})
        proposed = {"contract": {**CONTRACT, "lifetime": {"hours": hours}}}
        kept = _told(session_api.post("/session/contract", proposed))["yaml"]
        plan = {item["path"]: item["text"] for item in terms["plan"]} | {"plan/contract.yaml": kept}
        return _pushed(session_api, brief, {path.encode(): text.encode() for path, text in plan.items()})
    made = [name for name, kind in _questions(_plan(brief, "plan/discovery.md")) if kind == "decision"]
    entry = "### `%s`\n\nDecision: so.\nRationale: it fits.\nAlternatives: none.\n\n"
    decided = "".join(entry % name for name in made)
    files = {
        b"vision.md": "".join(f"## {heading}\n\nAdd.\n\n" for heading in VISION).encode(),
        b"architecture.md": f"## Overview\n\n## Structure\n\n## Tests\n\n## Decisions\n\n{decided}".encode(),
    }
    return _pushed(session_api, brief, files)


def _plan(brief: "dict[str, Any]", path: str) -> str:
    found: str = next(item["text"] for item in brief["terms"]["plan"] if item["path"] == path)
    return found


def _questions(discovery: str) -> "Iterator[tuple[str, str]]":
    """The name and the kind of each."""
    for line in discovery.split("\n"):
        if line.startswith("### `"):
            yield line.split("`")[1], line.rstrip(")").split()[-1]


def _record(session_api: SessionApi, discovery: str) -> None:
    """Read everything in the code, but for the first questions and what Overlord read there itself."""
    sure = {"answer": "other", "confidence": "high", "source": "calc.py", "quote": "def add(a, b):"}
    answers = []
    for place, (name, _) in enumerate(_questions(discovery)):
        told = discovery.partition(f"### `{name}`")[2].partition("###")[0]
        is_left = place < LEFT_OPEN or "decided by the code" in told
        answers.append({"id": name, "confidence": "low"} if is_left else {"id": name, **sure})
    session_api.post("/session/discovery", {"answers": answers})


def _answer(asked: "dict[str, Any]") -> str:
    """What a session says that is asked: guidance to a role, and yes at a gate."""
    if asked["kind"] == "gate":
        return '{"choice": "approve"}'
    return '{"choice": "guidance", "text": "Change one line."}'


def _ask(session_api: SessionApi, brief: "dict[str, Any]") -> None:
    name = f"{brief['session_id']}-asked"
    question = {"kind": "question", "turn": 1, "text": "Shall I go on?", "question_id": name}
    session_api.post("/session/events", {**question, "question_kind": "question", "options": ["yes", "no"]})
    status = 204
    while status == 204:
        try:
            status, _ = session_api.call("GET", f"/session/answers/{name}")
        except Refusal as refused:
            status = refused.status


def _report(
    session_api: SessionApi,
    outcome: str,
    summary: str,
    head: str | None,
    reason: str = "",
    *,
    answer: str = "",
) -> None:
    said = {"outcome": outcome, "reason": reason, "summary": summary, "head": head, "turns": 1}
    said["answer"] = answer
    session_api.post("/session/report", said)


def check(session_api: SessionApi, brief: "dict[str, Any]") -> None:
    repository = Repository(session_api)
    repository.fetch(brief["base_sha"], brief["head_sha"])
    if "check waits" in brief["issue"]["title"]:
        _hold(sys.argv[1])
    base, head = repository.files(brief["base_sha"]), repository.files(brief["head_sha"])
    results = []
    for step in brief["steps"]:
        files = dict(base if step["tree"] == "base" else head)
        for path in step["restore"]:
            files.pop(path, None)
            files |= {path: base[path]} if path in base else {}
        result = {"name": step["name"], "outcome": "ran", "command": step["command"], "duration_s": 0.01}
        forges = "forges" in brief["issue"]["title"] and step["tree"] != "base"
        told = (
            {"exit_code": 0, "captured": ""} if step["capture"] or forges else _tested(files, step["command"])
        )
        results.append(result | told)
    session_api.post("/session/report", {"steps": results}, again=False)


def setup(session_api: SessionApi, brief: "dict[str, Any]") -> None:
    with open(os.path.join(os.environ["MINION_ENVIRONMENT"], FINISHED), "w") as file:
        file.write("{}")
    failed = "setup fails" in brief["issue"]["title"]
    made = [
        {"name": "setup", "outcome": "ran", "command": ["sh", "-c", "true"], "exit_code": 1 if failed else 0}
    ]
    made += [] if failed else [{"name": "finish", "outcome": "ran", "exit_code": 0}]
    session_api.post("/session/report", {"steps": made}, again=False)


def _dies(brief: "dict[str, Any]", root: str) -> bool:
    """Whether this session is one that ends without a word: the first of its kind, when its issue says so."""
    if f"{brief['kind']} dies" not in brief["issue"]["title"]:
        return False
    mark = f"{root}/{brief['kind']}-died-{brief['issue']['number']}"
    if os.path.exists(mark):
        return False
    with open(mark, "w"):
        return True


def _tested(files: dict[str, bytes], words: list[str]) -> "dict[str, Any]":
    """What the tests of these files say; none but functions without arguments are known here, and another command is not run."""
    if words and words[0] != "pytest":
        return {"outcome": "broken", "output": "Only pytest is played."}
    scripts = words[1:] or sorted(path for path in files if _is_test(path))
    if not scripts:
        return {"outcome": "nothing_to_run"}
    cases = []
    for path in scripts:
        module = path.removesuffix(".py").replace("/", ".")
        for name, why in _called(files, path):
            cases.append(f'<testcase classname="{module}" name="{name}" file="{path}">{why}</testcase>')
    exit_code = 1 if any("<failure" in case or "<error" in case for case in cases) else 0 if cases else 5
    return {
        "exit_code": exit_code,
        "junit": f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>",
    }


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("test_") and name.endswith(".py")


def _called(files: dict[str, bytes], path: str) -> "Iterator[tuple[str, str]]":
    """Each test function of a file, and how it failed. A file that cannot be imported is one test that failed."""
    before = set(sys.modules)
    sys.meta_path.insert(0, Tree(files))
    try:
        space: dict[str, Any] = {"__name__": path}
        exec(compile(files[path], path, "exec", dont_inherit=True), space)
        for name, test in list(space.items()):
            if name.startswith("test") and callable(test):
                yield name, _why(test)
    except Exception as error:
        yield "imported", _failure(error, "error")
    finally:
        del sys.meta_path[0]
        for name in set(sys.modules) - before:
            del sys.modules[name]


def _why(test: "Callable[[], object]") -> str:
    try:
        test()
    except Exception as error:
        return _failure(error)
    return ""


def _failure(error: Exception, kind: str = "failure") -> str:
    told = f"{type(error).__name__} {error}"
    return f'<{kind} message="{"".join(letter for letter in told if letter not in "<>&" + chr(34))}"/>'


class Tree:
    """Imports modules from files that are in memory alone. A package is what is in its directory; its `__init__.py` is not run."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        is_package = self._path(name) is None
        if is_package and self._path(f"{name}.__init__") is None:
            return None
        found: ModuleSpec = sys.modules["_frozen_importlib"].ModuleSpec(name, self, is_package=is_package)
        return found

    def create_module(self, spec: "ModuleSpec") -> None:
        return None

    def exec_module(self, module: "ModuleType") -> None:
        path = self._path(module.__name__)
        if path is not None:
            exec(compile(self._files[path], path, "exec", dont_inherit=True), vars(module))

    def _path(self, name: str) -> "str | None":
        path = f"{name.replace('.', '/')}.py"
        return next((found for found in (path, f"src/{path}") if found in self._files), None)


TOLD = {"check": check, "setup": setup}


def main(root: str, patience_s: str) -> int:
    session_api = SessionApi(os.environ["OVERLORD_URL"], float(patience_s))
    try:
        brief = _told(session_api.call("GET", "/session/brief")[1])
        if _dies(brief, root):
            return 9
        if brief["kind"] in TOLD:
            TOLD[brief["kind"]](session_api, brief)
            return 0
        try:
            work(session_api, brief, root)
        except (ValueError, LookupError):
            _report(session_api, "error", "The model's reply could not be read.", None, "model")
        except Refusal as refused:
            budget = refused.status == 402
            _report(
                session_api,
                "out_of_budget" if budget else "error",
                str(refused),
                None,
                "" if budget else "model",
            )
    except Refusal as refused:
        sys.stderr.write(f"played: {refused}\n")
        return 3
    return 0


if __name__ == "__main__":
    code = main(*sys.argv[1:3])
    sys.stderr.flush()
    os._exit(code)

"""The session's own tools for a coding agent: an MCP server over HTTP on loopback, in the Minion's process.

Agents give a call a minute, some less. So a question to people is asked, waited for a part of that, and then named by an id that
`wait_for_answer` takes; so is an exploration begun. What changes the session is done one call at a time. Nothing here is ended by
`session.interrupts`: those are the main thread's.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minion.agents.agent import TOOLS_SERVER, Server
from minion.agents.session_tools import wire
from minion.errors import MinionError, ToolError
from minion.native.conversation import bounded
from minion.session import Session
from minion.tools import ask
from minion.tools.explore import count, reading_tools
from minion.tools.registry import tools_of, use
from minion.tools.tool import Parameter, Submission, Tool

if TYPE_CHECKING:
    from minion.agents.session_tools.http import Listener

ANSWER_WAIT_S = 45.0
"""The longest a call waits for a person: below what the least patient agent gives a call."""
READING = ("use_skill", "wait_for_answer", "explore", "search_knowledge")
WAITED_FOR = ("ask_question", "explore")
"""What goes on in a thread of its own, and is waited for by its id."""
SESSION_TOOLS = (
    "ask_question",
    "explore",
    "wait_for_answer",
    "task_complete",
    "task_blocked",
    "give_answer",
    "give_result",
    "use_skill",
    "record_discovery",
    "propose_contract",
    "propose_plan",
    "add_task",
    "note_knowledge",
    "search_knowledge",
    "escalate",
    "record_completion",
)
"""What is served of a session's tools: agents read, write and run by themselves."""
INSTRUCTIONS = (
    "These tools are the session's own. End the session with task_complete, task_blocked, give_answer or "
    "give_result, whichever there is: the work is handed in by that alone."
)
AT_NEXT_PROMPT = (
    "Your own tools refuse these paths until your next prompt: end this turn now with a word, and do not end the session. You are "
    "told to go on at once, and they allow them."
)


@dataclass(slots=True)
class _Pending:
    """A question that was put to people, or an exploration; `text` is what came of it, once `answered` is set."""

    answered: threading.Event = field(default_factory=threading.Event)
    text: str = ""
    is_error: bool = False


class ToolsServer:
    """One session's tools server, from `start` to `close`."""

    def __init__(
        self,
        session: Session,
        tools: Mapping[str, Tool] | None = None,
        *,
        on_end: Callable[[], None] = lambda: None,
        holds_up: Callable[[], str] = lambda: "",
        answer_wait_s: float = ANSWER_WAIT_S,
    ) -> None:
        """`tools` are the session's, those of its brief when left out. `on_end` is called, in a thread of the server, once a tool
        has ended the session. `holds_up` is asked before that, and may say in words why the session goes on."""
        self.submission: Submission | None = None
        """What the tool said that ended the session."""
        self.ended = threading.Event()
        """Set once there is a submission."""
        self.grants_at_next_prompt = False
        """Whether the agent's own permissions are those of its prompt, so that a scope granted meanwhile is theirs with the next."""
        self._session = session
        self._tools = self._served(tools_of(session.brief) if tools is None else tools)
        self._on_end = on_end
        self._holds_up = holds_up
        self._answer_wait_s = answer_wait_s
        self._pending: dict[str, _Pending] = {}
        self._turn = threading.Lock()
        self._exploring = threading.Lock()
        """Held by the one exploration that is made at a time."""
        self._is_closed = False
        self._listener: Listener | None = None

    def start(self) -> Server:
        """Listen, and return the server as an agent is told of it."""
        from minion.agents.session_tools.http import Listener  # only a session with an agent listens

        token = secrets.token_urlsafe(32)
        self._listener = Listener(
            self.answer, lambda sent: hmac.compare_digest(sent, f"Bearer {token}".encode())
        )
        headers = {"Authorization": f"Bearer {token}"}
        return Server(name=TOOLS_SERVER, url=self._listener.url, headers=headers, tools=tuple(self._tools))

    def close(self) -> None:
        """Stop listening, and exploring."""
        self._is_closed = True
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    @contextmanager
    def quiet(self, wait_s: float = 10.0) -> Iterator[None]:
        """Inside no call changes the session, so that a program can be ended with all its processes and no git of ours; a call that
        is being made is waited for."""
        holds = self._turn.acquire(timeout=wait_s)
        try:
            yield
        finally:
            if holds:
                self._turn.release()

    def resume(self) -> None:
        """Let the session go on after its submission: a person has written meanwhile."""
        self.submission = None
        self.ended.clear()

    def answer(self, request: wire.Request) -> bytes:
        """The reply to a request of the protocol."""
        if request.method == "initialize":
            return wire.result(request.id, self._introduced(request.params))
        if request.method == "ping":
            return wire.result(request.id, {})
        if request.method == "tools/list":
            return wire.result(request.id, {"tools": [_listed(tool) for tool in self._tools.values()]})
        if request.method == "tools/call":
            return self._called(request)
        message = f"There is no method {request.method[:100]}: this server has tools and nothing else."
        return wire.error(request.id, wire.UNKNOWN_METHOD, message)

    def _introduced(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": wire.agreed_version(params.get("protocolVersion")),
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": TOOLS_SERVER, "version": "1"},
            "instructions": INSTRUCTIONS,
        }

    def _called(self, request: wire.Request) -> bytes:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            message = f"There is no tool {str(name)[:100]}. Known: {', '.join(self._tools)}."
            return wire.error(request.id, wire.INVALID_PARAMS, message)
        if not isinstance(arguments, dict | None):
            return wire.error(request.id, wire.INVALID_PARAMS, "The arguments must be an object.")
        text, is_error = self._used(tool, arguments or {})
        limited = bounded(text, self._session.brief.limits.output_chars)
        return wire.result(request.id, wire.tool_text(limited, is_error=is_error))

    def _used(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """What a call comes to in words, and whether it failed."""
        try:
            if tool.name == "wait_for_answer":
                return self._waited(tool.read(arguments)["id"].strip())
            with self._turn:
                if self.submission is not None:
                    raise ToolError("The session has ended. Do nothing more.")
                done = use(self._session, tool, arguments)
                if isinstance(done, Submission):
                    return self._end(done), False
            return self._waited(done) if tool.name in WAITED_FOR else (done, False)
        except MinionError as error:
            return f"Error: {error}", True

    def _end(self, submission: Submission) -> str:
        if held := self._holds_up():
            return held
        self.submission = submission
        self.ended.set()
        self._on_end()
        return "Taken: the session ends here. Do nothing more."

    def _served(self, tools: Mapping[str, Tool]) -> dict[str, Tool]:
        known = dict(tools)
        for name, begin in (("ask_question", self._ask), ("explore", self._explore)):
            if (tool := known.get(name)) is not None:
                meaning = f"{tool.meaning} Where that takes more than {ANSWER_WAIT_S:.0f} s, you are told to wait on."
                known[name] = replace(tool, meaning=meaning, run=begin)
                known["wait_for_answer"] = _WAITING
        return {name: known[name] for name in SESSION_TOOLS if name in known}

    def _ask(self, session: Session, **asked: Any) -> str:
        """Put a question, and return the id by which its answer is waited for here."""
        question_id = ask.put_question(
            session, **{"options": (), "kind": "question", "patterns": (), **asked}
        )
        name, question = self._begun("q")
        if not question_id:
            question.text = ask.UNANSWERED
            question.answered.set()
        else:
            target, words = self._await, (question, question_id)
            threading.Thread(target=target, args=words, name="answer", daemon=True).start()
        return name

    def _begun(self, kind: str) -> tuple[str, _Pending]:
        """Something to wait for, and its id."""
        name = f"{kind}{sum(known.startswith(kind) for known in self._pending) + 1}"
        self._pending[name] = _Pending()
        return name, self._pending[name]

    def _explore(self, session: Session, *, question: str, paths: tuple[str, ...] = ()) -> str:
        """Begin an exploration, and return the id by which its answer is waited for here."""
        count(session, question)
        name, pending = self._begun("x")
        words = (pending, question, paths)
        threading.Thread(target=self._explored, args=words, name="explore", daemon=True).start()
        return name

    def _explored(self, pending: _Pending, question: str, paths: tuple[str, ...]) -> None:
        """In a thread of the exploration's own. Its tools take turns with what changes the session."""
        from minion.native.exploration import Ground, explored  # few sessions explore

        session = self._session
        session_api = session.session_api.another(patience_s=session.session_api.patience_s)
        pending.text, pending.is_error = (
            "Error: The exploration broke off.",
            True,
        )  # unless it comes to its end
        try:
            with self._exploring:
                ground = Ground(
                    session=session,
                    tools=reading_tools(session.brief),
                    session_api=session_api,
                    reading=lambda: self._turn,
                    has_ended=self._has_ended,
                )
                pending.text, pending.is_error = explored(ground, question, paths), False
        except MinionError as error:
            pending.text = f"Error: {error}"
        finally:
            session_api.close()
            pending.answered.set()

    def _has_ended(self) -> bool:
        return self._is_closed or self.submission is not None or self._session.interrupts.is_ending

    def _await(self, question: _Pending, question_id: str) -> None:
        """In a thread of the question's own: a scope that is granted counts whether or not the agent asks for its answer."""
        session = self._session
        session_api = session.session_api.another(patience_s=session.session_api.patience_s)
        before = session.territory.scope
        try:
            question.text = ask.answer_to(session, session_api, question_id)
            if self.grants_at_next_prompt and session.territory.scope != before:
                question.text += f"\n{AT_NEXT_PROMPT}"
        except MinionError as error:
            question.text, question.is_error = f"Error: {error}", True
        finally:
            session_api.close()
            question.answered.set()

    def _waited(self, name: str) -> tuple[str, bool]:
        question = self._pending.get(name)
        if question is None:
            known = ", ".join(self._pending) or "none was asked"
            raise ToolError(f"There is no question {name[:100]!r}. Known: {known}.")
        if question.answered.wait(self._answer_wait_s):
            return question.text, question.is_error
        return (
            f"Not answered yet: call wait_for_answer with id {name}, or do meanwhile what does not need it.",
            False,
        )


_WAITING = Tool(
    name="wait_for_answer",
    meaning="Wait on for the answer to a question that was asked, or an exploration that was begun, before.",
    run=lambda _session, **_arguments: "",
    parameters=(Parameter(name="id", meaning="Its id, as you were given it.", required=True),),
)


def _listed(tool: Tool) -> dict[str, Any]:
    """A tool as MCP lists it. Clients ask a person about tools that do not say what they do, where there is nobody to ask."""
    function = tool.schema()["function"]
    return {
        "name": tool.name,
        "description": function["description"],
        "inputSchema": function["parameters"],
        "annotations": {
            "readOnlyHint": tool.name in READING,
            "destructiveHint": False,
            "idempotentHint": tool.name in READING,
            "openWorldHint": False,
        },
    }

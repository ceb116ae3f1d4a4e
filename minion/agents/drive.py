"""A conversation with an agent whose program is started anew for each prompt: started, watched, bounded and ended.

An agent's program is code of others that works for a model: it may write anything, for ever, in any number of processes, and may
never end. What it says is taken for what it is worth, and the session's own limits hold whatever it does:

1. It has no input but what it is given, a process group of its own, and is ended with all it started.
2. After its result, a tool or a sentinel line that ends the session, it has a moment to leave.
3. When nothing is seen of it for `limits.silent_s`, or its turns are used up, it is ended.
4. The session's time limit and TERM interrupt wherever it is waited for.
"""

import time
from dataclasses import dataclass, field

from minion.agents.agent import Attempt, CodingAgent, Said, SaidKind, Stopped
from minion.agents.program_files import LaidFiles, find_program, write_files
from minion.agents.running import Health, Line, RunningProgram
from minion.agents.sentinel import NoSentinel, Sentinel, is_sentinel, read_sentinel
from minion.agents.surroundings import Surroundings

LEAVE_S = 10.0
"""How long a program may take to leave once it has nothing more to do."""
TURNS_TO_LEAVE = 2
"""The turns it may take for its last words once a tool has ended its session: more would only cost."""
LOOK_S = 0.25
KEPT_WORDS = 64 * 1024
"""Characters of an agent's words that are kept, the last ones."""
KEPT_ERROR = 4_000
MOST_REFUSED = 20
"""Lines of one prompt that look like sentinels and are none, of which people are told."""
KEPT_LINES = 40
"""Lines of output that are no events, kept in case they say what went wrong."""


class Words:
    """What an agent has said in one prompt: its last words, and the sentinel lines among all of them."""

    def __init__(self) -> None:
        self.sentinel: Sentinel | None = None
        """The last one there was."""
        self.refused: list[str] = []
        """Why lines that looked like sentinels were none; taken out by whoever tells of them."""
        self._refusals = 0
        self._run: list[str] = []
        """The pieces of text since it last did anything else,"""
        self._size = 0
        """and how long they are together."""
        self._ended = False

    @property
    def text(self) -> str:
        return "\n".join(self._run)[-KEPT_WORDS:].strip()

    def add(self, text: str, *, is_partial: bool = False) -> Sentinel | None:
        """Take words in; the sentinel that is complete with them. With `is_partial` they go on where the ones before stopped."""
        if self._ended:
            self._run, self._size, self._ended = [], 0, False
        if is_partial and self._run:
            self._run[-1] += text
        else:
            self._run.append(text)
        self._size += len(text) + 1
        if self._size > 2 * KEPT_WORDS:
            self._run = [self.text]
            self._size = len(self._run[0])
        return None if is_partial else self._look(text)

    def end_run(self) -> Sentinel | None:
        """It does something else: what it says next are new words. The sentinel of partial words, which are whole now."""
        if self._ended or not self._run:
            return None
        self._ended = True
        return self._look("".join(self._run)) or self._look(self.text)

    def _look(self, text: str) -> Sentinel | None:
        found = None
        for line in text.splitlines():
            if is_sentinel(line):
                try:
                    found = read_sentinel(line)
                except NoSentinel as error:
                    self._refusals += 1
                    if self._refusals <= MOST_REFUSED:
                        self.refused.append(f"A sentinel line was passed over: {error}: {line[:200]}")
        if found is not None:
            self.sentinel = found
        return found


@dataclass(slots=True)
class _Prompt:
    """How one prompt stands."""

    words: Words = field(default_factory=Words)
    errors: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    before: int = 0
    """The session's turns before it."""
    turns: int = 0
    failed: bool = False
    leaves_at: float | None = None
    """By when the program is to be gone."""
    decided_at: int | None = None
    """The turn in which a tool ended the session."""
    has_result: bool = False
    result: str = ""


class ProgramConversation:
    """The conversation with one agent."""

    def __init__(self, agent: CodingAgent, around: Surroundings) -> None:
        self.capabilities = agent.capabilities
        self._agent = agent
        self._around = around
        self._conversation = ""
        self._laid: LaidFiles | None = None
        self._running: RunningProgram | None = None

    def ask(self, prompt: str) -> Attempt:
        """Start the program with a prompt and see it to its end."""
        around = self._around
        given = around.given()
        resume = self._conversation if self.capabilities.resume else ""
        program = self._agent.program(given, prompt, resume=resume)
        environment = around.environment()
        command = find_program(given.choice, self._agent.executables, environment["PATH"])
        given.home.mkdir(parents=True, exist_ok=True)
        write_files(given.home, program.files)
        laid = self._laid = LaidFiles(given.root, given.home.with_name("agent-aside"))
        state = _Prompt(before=around.session.turn)
        requests = around.traffic.model_requests
        try:
            laid.lay(program.tree_files)
            around.session.workspace.set_aside = laid.names
            running = self._running = RunningProgram(
                (*command, *program.arguments),
                directory=given.root,
                environment={**environment, "HOME": str(given.home), **program.environment},
                waiting=around.session.interrupts.waiting,
                stdin_text=program.stdin,
            )
            stopped = self._follow(running, state, requests)
        finally:
            code = self._end(state)
        return self._attempt(state, stopped, code)

    def close(self) -> None:
        """End the program where it still runs, and take our files out of the working copy."""
        self._end(_Prompt())

    def _follow(self, running: RunningProgram, state: _Prompt, requests: int) -> Stopped | None:
        around = self._around
        health = Health(running, around.traffic, around.session.brief.limits.silent_s)
        turns = around.session.turn
        while True:
            lines = running.read(LOOK_S)
            for line in lines:
                self._hear(line, state)
            if lines:
                health.note_active()
            self._count(state, turns, around.traffic.model_requests - requests)
            if running.has_ended:
                for line in running.drain():
                    self._hear(line, state)
                self._count(state, turns, around.traffic.model_requests - requests)
                return None
            if (stopped := self._stopping(state, health)) is not None:
                return stopped
            around.tick()

    def _stopping(self, state: _Prompt, health: Health) -> Stopped | None:
        session, now = self._around.session, time.monotonic()
        if session.turn > session.brief.limits.turns:
            return Stopped.TURNS
        if state.decided_at is None and self._around.is_decided():
            state.decided_at = session.turn
            state.leaves_at = state.leaves_at or now + LEAVE_S
        if state.decided_at is not None and session.turn > state.decided_at + TURNS_TO_LEAVE:
            return Stopped.DECIDED
        if state.leaves_at is not None and now > state.leaves_at:
            decided = state.words.sentinel is not None or self._around.is_decided()
            return Stopped.DECIDED if decided else Stopped.LINGERED
        return Stopped.SILENT if health.is_silent() else None

    def _count(self, state: _Prompt, before: int, requests: int) -> None:
        """Count the turns: as the agent tells them, or as its requests to the model show them."""
        limit = self._around.session.brief.limits.turns
        told = state.turns if self.capabilities.structured_events else requests
        self._around.session.turn = min(before + told, limit + 1)

    def _hear(self, line: Line, state: _Prompt) -> None:
        pieces = tuple(self._agent.read(line.text))
        is_event = bool(pieces) or (not line.is_error and line.text.lstrip().startswith("{"))
        if not self.capabilities.structured_events and not pieces:
            pieces, is_event = (Said(kind=SaidKind.TEXT, text=line.text),), not line.is_error
        if not is_event:
            state.noise = [*state.noise[1 - KEPT_LINES :], line.text[:500]]
        for said in pieces:
            self._take(said, state)
        for refused in state.words.refused:
            self._around.teller.log(refused)
        state.words.refused.clear()

    def _take(self, said: Said, state: _Prompt) -> None:
        now = time.monotonic()
        if said.kind is SaidKind.TEXT:
            found = state.words.add(said.text, is_partial=said.is_partial)
        else:
            found = state.words.end_run()
        if said.kind is SaidKind.SESSION:
            self._conversation = said.text
        elif said.kind is SaidKind.TURN:
            state.turns += 1
        elif said.kind is SaidKind.ERROR:
            state.errors = [*state.errors[-4:], said.text[:KEPT_ERROR]]
        elif said.kind is SaidKind.RESULT:
            state.has_result, state.failed, state.result = True, said.failed, said.text[:KEPT_WORDS]
        if found is not None or said.kind is SaidKind.RESULT:
            state.leaves_at = now + LEAVE_S
        elif state.leaves_at is not None and not state.has_result and not self._around.is_decided():
            state.leaves_at = now + LEAVE_S  # it works on: its last words count, and they may be others
        self._around.teller.tell(state.before + state.turns, said)

    def _end(self, state: _Prompt) -> int | None:
        """End the program with all it started, and put the working copy in order."""
        running, self._running = self._running, None
        code = None
        if running is not None:
            with self._around.quiet():
                code = running.end()
        if self._laid is not None:
            self._laid.remove()
        state.words.end_run()
        if running is not None and running.dropped_bytes:
            self._around.teller.log(
                f"{running.dropped_bytes:,} bytes of the agent's output were dropped: too much at once."
            )
        return code

    def _attempt(self, state: _Prompt, stopped: Stopped | None, code: int | None) -> Attempt:
        error = "\n".join(state.errors)
        if not error and state.failed:
            error = state.result or "it says that it failed, and not why"
        if not error and code:
            error = "\n".join(state.noise)[-KEPT_ERROR:]
        return Attempt(
            exit_code=code,
            stopped=stopped,
            text=state.words.text or state.result,
            error=error,
            failed=state.failed,
            conversation=self._conversation,
            turns=state.turns,
            sentinel=state.words.sentinel,
        )

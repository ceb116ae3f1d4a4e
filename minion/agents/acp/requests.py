"""What an agent asks of its client: whether it may do a call, and files of the working copy.

A call is judged before it runs, by every path and command that it names anywhere. What cannot be told is refused.
"""

import re

from minion.agents.acp.call import MOST_ITEMS, as_list, as_object, joined, read_call
from minion.agents.acp.files import read_file, write_file
from minion.agents.acp.guard import Guard
from minion.agents.acp.wire import METHOD_NOT_FOUND, Message, RequestRefused
from minion.agents.agent import Given


class Requests:
    """Answers an agent's requests, and remembers what it was refused."""

    def __init__(self, given: Given) -> None:
        self._calls: dict[str, Message] = {}
        self.refused: list[str] = []
        self.hold(given)

    def hold(self, given: Given) -> None:
        """What the session may do as it is now: its scope may have been widened."""
        self._guard = Guard(given.permissions, given.root)
        names = "|".join(re.escape(server.name) for server in given.servers)
        # As a word of its own: the server `it` has no tool `edit`.
        self._is_of_server = re.compile(rf"(?<![A-Za-z0-9-])(?:{names})(?![A-Za-z0-9-])") if names else None

    def remember(self, call: Message) -> bool:
        """What was said of a call so far: the question whether it may run can leave that out. Whether the call is a new one."""
        number = _number(call)
        is_new = number not in self._calls
        self._calls[number] = joined(self._calls.pop(number, {}), call)
        while len(self._calls) > MOST_ITEMS:
            del self._calls[next(iter(self._calls))]
        return is_new

    def answer(self, method: str, params: Message) -> object:
        """The result of a request. Raises RequestRefused."""
        match method:
            case "session/request_permission":
                return self._permission(params)
            case "fs/read_text_file":
                return {"content": read_file(self._guard, params)}
            case "fs/write_text_file":
                self._write(params)
                return None
        raise RequestRefused(METHOD_NOT_FOUND, f"Method not found: {method[:100]}")

    def refusal(self, said: Message) -> str:
        """Why a call may not run; empty when it may."""
        call, guard = read_call(said), self._guard
        if call.is_fetch:
            return "There is no network in this session."
        for line in call.lines:
            if not guard.allows_command(line):
                return f"This session may not run: {line[:200]}"
        if call.is_plain and self._is_of_server is not None and self._is_of_server.search(call.title):
            return ""  # a tool of a server it was given
        if call.changes:
            if not call.files:
                return f"It cannot be told what this would change: {call.title[:200]}"
            wrong = [path for path in call.files if not guard.allows_write(path)]
            return f"This session may not change {wrong[0][:200]}" if wrong else ""
        wrong = [path for path in (*call.files, *call.places) if not guard.allows_read(path)]
        return f"This session may not read {wrong[0][:200]}" if wrong else ""

    def _permission(self, params: Message) -> Message:
        call = as_object(params.get("toolCall"))
        why = self.refusal(joined(self._calls.get(_number(call), {}), call))
        if why:
            self.refused.append(why)
        options = [as_object(option) for option in as_list(params.get("options"))]
        for kind in ("reject_once", "reject_always") if why else ("allow_once",):
            for option in options:
                if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return {"outcome": {"outcome": "cancelled"}}

    def _write(self, params: Message) -> None:
        try:
            write_file(self._guard, params)
        except RequestRefused as refused:
            if refused.is_denied:
                self.refused.append(str(refused))
            raise


def _number(call: Message) -> str:
    return str(call.get("toolCallId", ""))[:200]

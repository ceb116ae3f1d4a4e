"""The exceptions of the Minion. First question of each: whose fault? Outcomes of commands and checks are values."""


class MinionError(Exception):
    """Anything the Minion raises by itself. The message is a sentence for a person or for the model."""


class BadStart(MinionError):
    """The environment the Minion was started with cannot be used; the message names the variable."""


class SessionApiGone(MinionError):
    """The session API did not answer for longer than we wait."""


class SessionApiRefused(MinionError):
    """The session API understood and said no: a 4xx that repeating will not change."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{message} ({status} {code})")
        self.status = status
        self.code = code


class OutOfBudget(SessionApiRefused):
    """The session's budget is spent (402)."""


class ModelFailed(MinionError):
    """What comes back from the model cannot be worked with, however often it is asked."""


class Interrupted(MinionError):
    """The session must end now. `reason` is a code of the report: `terminated` or `time_limit`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ToolError(MinionError):
    """A tool call that cannot be done as asked. The message is for the model: what is wrong, and what to do."""


class GitFailed(MinionError):
    """A git command failed; the message has its last words. `transient`: the way to the session API was cut."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class SetupFailed(MinionError):
    """What setup made cannot be used; the message says why, for people."""


class AgentFailed(MinionError):
    """An agent's program is missing, or cannot be started."""


class McpFailed(MinionError):
    """An MCP server does not do what it was asked. The message says what it did, without its name."""

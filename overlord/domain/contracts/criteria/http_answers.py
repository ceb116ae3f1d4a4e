"""`http_answers`: a server that the criterion starts in the check session answers a request as it should.

The Minion's own program (`minion/checks/http_probe.py`) starts it, asks until it answers or time is up, and ends it. Only this
machine itself is ever asked.
"""

import json
import re
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from minion.protocol import HTTP_PROBE, PROBE_SAYS, CheckStep, ProbeExit
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.path import RepositoryPath
from overlord.domain.contracts.criteria.shell_line import RUN, ShellLine, unjudged
from overlord.domain.contracts.part import Part

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MARGIN_S = 30
"""What the step has beside the criterion's own time: to start the program and to end the server."""
_PATH = re.compile(r"/[!-~]*")


def _url(value: str) -> str:
    parts = urlsplit(value)
    try:
        port = parts.port
    except ValueError:
        raise ValueError("the url has no port between 1 and 65535") from None
    if parts.scheme != "http" or parts.hostname not in LOOPBACK or "@" in parts.netloc:
        raise ValueError("only this machine itself is asked: `http://127.0.0.1:8000/health`")
    if not port:
        raise ValueError("the url names its port: `http://127.0.0.1:8000/health`")
    if not _PATH.fullmatch(_asked(value)):
        raise ValueError("the url's path is of plain characters; write others as %20")
    return value


def _asked(url: str) -> str:
    """What comes after the port: the path and the query."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class HttpCheck(Part):
    """What is started, what is asked, and what has to come back."""

    start: ShellLine
    """What starts the server. It finds the port it is asked at in `$PORT`."""
    url: Annotated[str, Field(max_length=500), AfterValidator(_url)] | None = None
    """What is asked: an address of this machine."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Absent, with no url: a free one."""
    path: Annotated[str, Field(max_length=500, pattern=r"^/[!-~]*$")] | None = None
    """What is asked at the port."""
    status: Annotated[int, Field(ge=100, le=599)] = 200
    """The status that has to come back."""
    contains: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """What is in the first megabyte of the answer's body."""
    within_s: Annotated[int, Field(ge=1, le=600)] = 30
    """Seconds until it has to answer."""
    directory: RepositoryPath | None = None
    """Where it is started; absent: at the repository's root."""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if self.url is None and self.path is None:
            raise ValueError(
                "say what to ask: `url: http://127.0.0.1:8000/health`, or `port: 8000` and `path: /health`"
            )
        if self.url is not None and (self.path is not None or self.port is not None):
            raise ValueError("the url has port and path in it: leave `port` and `path` out")
        return self

    def spec(self) -> dict[str, Any]:
        """What the probe is told."""
        parts = urlsplit(self.url or f"http://127.0.0.1:{self.port or 0}{self.path}")
        return {
            "start": self.start,
            "directory": self.directory or ".",
            "hosts": ["127.0.0.1", "::1"] if parts.hostname == "localhost" else [parts.hostname],
            "port": parts.port or 0,
            "path": _asked(parts.geturl()),
            "status": self.status,
            "contains": self.contains or "",
            "within_s": self.within_s,
        }

    def asked(self) -> str:
        """What is asked, as people write it."""
        return self.url or f"http://127.0.0.1:{self.port or '$PORT'}{self.path}"


class HttpAnswers(Criterion):
    """That a server starts and answers."""

    kind: ClassVar[str] = "http_answers"
    is_static: ClassVar[bool] = False

    http_answers: HttpCheck

    def describe(self) -> str:
        check = self.http_answers
        return named(self.kind, f"{check.asked()} ({check.start})")

    def command(self) -> str:
        check = self.http_answers
        return check.start if check.directory is None else f"cd {check.directory} && {check.start}"

    def steps(self) -> tuple[CheckStep, ...]:
        check = self.http_answers
        words = (HTTP_PROBE, json.dumps(check.spec()))
        return (CheckStep(name=RUN, command=words, timeout_s=check.within_s + MARGIN_S, plan=True),)

    def judge(self, seen: Seen) -> CriterionResult:
        step = seen.results.get(RUN)
        if (why := unjudged(self.steps()[0], step)) or step is None:
            return self.step_result(None, why, step)
        told = [line for line in step.output.splitlines() if line.startswith(PROBE_SAYS)]
        said = told[-1].removeprefix(PROBE_SAYS).strip()[:500] if told else ""
        if step.exit_code == ProbeExit.ANSWERED:
            return self.step_result(True, said or "The server answered.", step)
        if step.exit_code == ProbeExit.NOT_ANSWERED:
            return self.step_result(False, said or "The server did not answer.", step)
        ended = f"The program that asks the server ended with exit code {step.exit_code}"
        return self.step_result(None, said or f"{ended}, so it could not be judged.", step)

"""Git for a session: its own bare repository, through `git http-backend`, and nothing else of the disk.

Git runs outside the session's walls, on what the session sent; so it is bounded there (`git_limits`), and a push that is
refused says why in words that the session's git prints.
"""

from starlette.types import Receive, Scope, Send

from minion.protocol import REPOSITORY_PATH, SessionKind
from overlord.domain.session import MAX_PUSH_BYTES, Session
from overlord.git_limits import SERVING, SETTINGS
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.push_limits import left_bytes, spent
from overlord.smart_http import Serving, refuse, serve_git

SLACK_BYTES = 1024 * 1024
"""By how much a request may be longer than the pack in it: git refuses the pack with a reason, a server the request without."""
_FETCH = Serving(limits=SERVING, settings=SETTINGS, refusal="")


async def serve(scope: Scope, receive: Receive, send: Send, parts: SessionApiParts, session: Session) -> None:
    """`git clone` and `git push` on /session/repo.git. Protocol v2 is never spoken: it would serve the whole mirror."""
    path = scope["path"].removeprefix(REPOSITORY_PATH)

    async def answer(serving: Serving) -> None:
        await serve_git(
            scope,
            receive,
            send,
            repository=parts.home.session_repository(session.id),
            path_info=path,
            user="minion",
            max_request_bytes=MAX_PUSH_BYTES + SLACK_BYTES,
            serving=serving,
        )

    if "git-receive-pack" not in path and b"git-receive-pack" not in scope["query_string"]:
        await answer(_FETCH)
    elif session.kind is not SessionKind.WORK:
        await refuse(send, 403, f"a {session.kind} session pushes nothing")
    elif shortage := parts.home.shortage():
        await refuse(send, 503, f"{shortage}: try again")  # git itself would say that it is refused for good
    elif scope["method"] != "GET":
        async with parts.pushes.one(parts.home, session.id) as receiving:
            await answer(receiving)
    elif await left_bytes(parts.home, session.id):
        await answer(_FETCH)
    else:
        await refuse(send, 403, f"rejected: {spent()}")

"""Git for a session: its own bare repository, through `git http-backend`, and nothing else of the disk."""

from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from minion.protocol import REPOSITORY_PATH, SessionKind
from overlord.domain.session import MAX_PUSH_BYTES, Session
from overlord.door.parts import DoorParts
from overlord.smart_http import serve_git


async def serve(scope: Scope, receive: Receive, send: Send, parts: DoorParts, session: Session) -> None:
    """`git clone` and `git push` on /session/repo.git. Protocol v2 is never spoken: it would serve the whole mirror."""
    path = scope["path"].removeprefix(REPOSITORY_PATH)
    pushes = "git-receive-pack" in path or b"git-receive-pack" in scope["query_string"]
    if pushes and session.kind is not SessionKind.WORK:
        raise HTTPException(403, f"a {session.kind} session pushes nothing")
    if pushes and (shortage := parts.home.shortage()):
        raise HTTPException(
            503, f"{shortage}: try again"
        )  # git itself would say that the push is refused for good
    await serve_git(
        scope,
        receive,
        send,
        repository=parts.home.session_repository(session.id),
        path_info=path,
        user="minion",
        max_request_bytes=MAX_PUSH_BYTES,
    )

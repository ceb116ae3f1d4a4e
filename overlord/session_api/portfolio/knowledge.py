"""What a session learned, and what it looks up: `search_knowledge` and `note_knowledge`."""

from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import NotesFound, PortfolioTool, encode
from overlord.domain.session import Session
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import caller


async def search(_request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`GET /session/knowledge?q=words`."""
    await caller(parts, session, PortfolioTool.SEARCH_KNOWLEDGE)
    return Response(encode(NotesFound(notes=())), media_type="application/json")


async def note(_request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/knowledge`."""
    await caller(parts, session, PortfolioTool.NOTE_KNOWLEDGE)
    return Response(status_code=501)

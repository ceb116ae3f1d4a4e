"""What a form sends: names and values, in order. Nothing else is read from a body."""

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

MOST_BYTES = 1_000_000
MOST_FIELDS = 1_000
KIND = "application/x-www-form-urlencoded"


async def form_of(request: Request) -> list[tuple[str, str]]:
    """The fields of a request, read once. Raises HTTPException for what is no form, or is too long."""
    known: list[tuple[str, str]] | None = getattr(request.state, "form", None)
    if known is not None:
        return known
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != KIND:
        raise HTTPException(415, "send a form")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "that is too long")
    try:
        fields = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:  # UnicodeDecodeError is one
        raise HTTPException(400, "that is no form") from None
    fields = [(name, value.replace("\r\n", "\n")) for name, value in fields]  # as a browser ends lines
    request.state.form = fields
    return fields

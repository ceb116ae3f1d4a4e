"""What addresses of the page say: a job, a number, a part of a page, and what was done on the one before."""

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from overlord.entrypoints.web.sign_in import same
from overlord.entrypoints.web.visitor import Visitor
from overlord.errors import NotFound

MOST_DIGITS = 15
DONE = "done"
"""The parameter that says what was done."""
SIGNED, PART = "signed", "part"


def job_in(request: Request) -> int:
    """The job of an address. Raises NotFound for a number that none can have."""
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise NotFound("there is no such job")
    return int(text)


def number_in(text: str) -> int:
    """A number of an address; -1 for what is none."""
    try:
        return int(text) if len(text) <= 9 else -1
    except ValueError:
        return -1


def is_part(request: Request) -> bool:
    """Whether what changes of a page is asked for, and not the whole."""
    return request.query_params.get("part") == "1"


def part_of(request: Request) -> str:
    """The address of the part of a page that changes."""
    rest = request.url.remove_query_params([DONE, SIGNED]).include_query_params(part="1")
    return f"{rest.path}?{rest.query}"


def back(request: Request, visitor: Visitor, said: str) -> Response:
    """To the page that the form was on, with what was done: signed, so that no link of a stranger's says it."""
    text = said[:1500]
    return RedirectResponse(
        f"{_came_from(request)}{DONE}={quote(text, safe='')}&{SIGNED}={visitor.signed(text)}", 303
    )


def _came_from(request: Request) -> str:
    """The page a form was on, up to where a parameter follows."""
    try:
        page = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/?"
    if page.netloc != request.headers.get("host") or not page.path.startswith("/"):
        return "/?"
    kept = [(name, value) for name, value in parse_qsl(page.query) if name not in {DONE, SIGNED, PART}]
    return f"/{page.path.lstrip('/')}?{urlencode(kept)}{'&' if kept else ''}"


def done_in(request: Request, visitor: Visitor) -> str:
    """What was done, where we have said it."""
    text = request.query_params.get(DONE, "")
    return text if text and same(visitor.signed(text), request.query_params.get(SIGNED, "")) else ""

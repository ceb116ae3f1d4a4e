"""The files a text names, of those a repository has: by path, by a name only one file has, or by a link to a blob."""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from operator import itemgetter
from urllib.parse import unquote

from minion.protocol import Issue

MOST_NAMED = 20
_WORD = re.compile(r"[^\s`'\"<>()\[\]{}|*,;!?]+")
_SPAN = re.compile(r"`([^`\n]{1,400})`")
_BLOB = re.compile(r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:blob|blame|raw|edit)/([^\s?#]+)")
_LINE = re.compile(r"(?::\d+(?:[-:]\d+)?:?|#L?\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?)$")
_DEEPEST_REF = 8
_LONGEST_NAME = 4096


def named_files(texts: Iterable[str], paths: Collection[str], *, most: int = MOST_NAMED) -> tuple[str, ...]:
    """The paths that texts name, in order of mention. `paths` is best a set or a mapping.

    A basename counts when it has an extension and one file alone bears it.
    """
    mentions = [mention[1] for text in texts for mention in sorted(_mentions(text), key=itemgetter(0))]
    wanted = {form for words in mentions for word in words for form in _forms(word) if "/" not in form}
    names = _bearers(wanted, paths) if wanted else {}
    found = (_file_mentioned(words, paths, names) for words in mentions)
    return tuple(islice(dict.fromkeys(path for path in found if path), most))


def files_named_in(issue: Issue, paths: Collection[str]) -> tuple[str, ...]:
    """The files that an issue's title, text and comments name."""
    return named_files((issue.title, issue.body, *(comment.body for comment in issue.comments)), paths)


def in_links(text: str) -> Iterable[tuple[str, ...]]:
    """What may be the path in each link to a blob, likeliest first."""
    return (_after_ref(blob[1]) for word in _WORD.finditer(text) if (blob := _BLOB.match(word[0])))


def _bearers(wanted: Collection[str], paths: Iterable[str]) -> dict[str, str]:
    """Which file bears each wanted basename; empty where more than one does."""
    bearers: dict[str, str] = {}
    for path in paths:
        name = path[path.rfind("/") + 1 :]
        if name in wanted:
            bearers[name] = "" if name in bearers else path
    return bearers


def _mentions(text: str) -> Iterable[tuple[int, tuple[str, ...]]]:
    """Where something is mentioned, and what it may be the path of, likeliest first."""
    for span in _SPAN.finditer(text):  # a path in backticks may have blanks
        yield span.start(), (span[1].strip(),)
    for word in _WORD.finditer(text):
        if len(word[0]) > _LONGEST_NAME:
            continue
        blob = _BLOB.match(word[0])
        if blob:
            yield word.start(), _after_ref(blob[1])
        elif "://" not in word[0]:
            yield word.start(), (word[0],)


def _after_ref(rest: str) -> tuple[str, ...]:
    """What may be the path in a blob's address: a ref may have slashes."""
    parts = unquote(rest).split("/")
    return tuple("/".join(parts[start:]) for start in range(1, min(len(parts), _DEEPEST_REF)))


def _file_mentioned(words: Iterable[str], paths: Collection[str], bearers: Mapping[str, str]) -> str:
    """The file one mention names; empty when it names none."""
    for form in (form for word in words for form in _forms(word)):
        if form in paths:
            return form
        if "." in form.strip(".") and bearers.get(form):
            return bearers[form]
    return ""


def _forms(word: str) -> Iterable[str]:
    """A word, and what is left of it without what clings to a path: a line, a full stop, `./`."""
    yield word
    bare = word.rstrip(".:")
    bare = _LINE.sub("", bare)
    yield bare
    yield bare.removeprefix("./").removeprefix("/")

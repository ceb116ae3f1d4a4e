"""Words as bash reads them: quotes, expansions, and commands inside words.

Half of `command_line.py`. Stricter than bash on purpose: what is not known for certain raises `UnreadableLine`.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

MAX_DEPTH = 12
_PARAMETER = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_BRACED = re.compile(
    r"\$\{(?:#?[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?]|[A-Za-z_][A-Za-z0-9_]*:?[-+][A-Za-z0-9_./:-]*)\}"
)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_ENDS_WORD = frozenset(" \t\n;&|()<>")
_PATTERN = frozenset("*?[]{}~")
_LONE = ("[", "]", "{", "}", "{}")
"""Words of signs that stand for themselves."""


class UnreadableLine(ValueError):
    """It cannot be told what a line starts; the message says what stands in the way."""


@dataclass(slots=True)
class Word:
    """A word as bash reads it, its quotes taken away."""

    text: str = ""
    bare: str = ""
    """What stands before its first quote or expansion."""
    is_plain: bool = True
    """Whether `text` is what the command gets: no expansion and no pattern is in it."""
    is_whole: bool = True
    """Whether it stays one word: what is expanded in it is in double quotes."""
    is_bare: bool = True
    """Whether it has no quotes and no expansions."""

    @property
    def assigned(self) -> str:
        """The variable it assigns where assignments are read; empty for none."""
        found = _ASSIGNED.match(self.bare)
        return found.group(1) if found else ""

    @property
    def keyword(self) -> str:
        """The word as bash's grammar sees it; empty for one that is quoted or expanded."""
        return self.text if self.is_bare and self.is_plain else ""

    def add(self, text: str, *, quoted: bool) -> None:
        self.text += text
        if quoted:
            self.is_bare = False
        elif self.is_bare:
            self.bare += text

    def expand(self, *, quoted: bool) -> None:
        """Note that something is put in when the line runs."""
        self.is_plain = self.is_bare = False
        self.is_whole = self.is_whole and quoted


class WordReader(ABC):
    """A place in a text, and the words from there. `_commands_to` and `_commands_in` are what it leaves to `command_line.py`."""

    def __init__(self, text: str, *, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise UnreadableLine("it is nested too deeply")
        self._text = text
        self._depth = depth
        """How many others this is inside of; 0 for the line itself."""
        self._at = 0
        self._bodies: list[tuple[str, bool, bool]] = []
        """The here-documents that begin with the next line: their end, whether tabs are taken away, whether they are literal."""

    def read_body(self) -> None:
        """The text is a here-document's, in which only `$`, backticks and backslashes mean something."""
        word = Word()
        while sign := self._peek():
            self._quoted_sign(word, sign, escaped="$`\\")

    @abstractmethod
    def _commands_to(self, closing: str) -> str:
        """Read commands from here to `closing`."""

    @abstractmethod
    def _commands_in(self, text: str) -> None:
        """Read the commands of another text."""

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _continuation(self) -> None:
        """A line that goes on: only after a blank, where it cannot join two halves of an operator."""
        if self._at and self._text[self._at - 1] not in " \t\n":
            raise UnreadableLine("a line ends in a backslash without a blank before it")
        self._at += 2

    def _word(self) -> Word:
        """The word here. Raises UnreadableLine where none begins."""
        word = Word()
        begin = self._at
        while (sign := self._peek()) and (sign not in _ENDS_WORD or (sign in "<>" and self._peek(1) == "(")):
            if sign in "<>":
                self._substitution(word, quoted=False)
            elif sign == "\\":
                self._escaped(word)
            elif sign == "'":
                word.add(self._to("'", self._at + 1), quoted=True)
            elif sign == '"':
                self._double_quoted(word)
            elif sign in "$`":
                self._expansion(word, quoted=False)
            else:
                self._bare(word, sign)
        if self._at == begin:
            raise UnreadableLine("a word is missing")
        if word.is_bare and word.text in _LONE:
            word.is_plain = word.is_whole = True
        return word

    def _bare(self, word: Word, sign: str) -> None:
        if not sign.isascii():
            raise UnreadableLine(f"{sign!r} stands outside quotes")
        if sign in _PATTERN:
            word.is_plain = False
            word.is_whole = word.is_whole and sign == "~"
        word.add(sign, quoted=False)
        self._at += 1

    def _escaped(self, word: Word) -> None:
        following = self._peek(1)
        if following == "\n":
            self._continuation()
            return
        if not following:
            raise UnreadableLine("it ends in a backslash")
        word.add(following, quoted=True)
        self._at += 2

    def _to(self, closing: str, begin: int) -> str:
        """The text from `begin` to the next `closing`, which is passed."""
        end = self._text.find(closing, begin)
        if end < 0:
            raise UnreadableLine(f"{closing} is missing")
        self._at = end + 1
        text = self._text[begin:end]
        if self._bodies and "\n" in text:
            raise UnreadableLine("a here-document begins before the end of a quoted line")
        return text

    def _double_quoted(self, word: Word) -> None:
        word.add("", quoted=True)
        self._at += 1
        while (sign := self._peek()) != '"':
            if not sign:
                raise UnreadableLine('" is missing')
            self._quoted_sign(word, sign, escaped='$`"\\')
        self._at += 1

    def _quoted_sign(self, word: Word, sign: str, *, escaped: str) -> None:
        following = self._peek(1)
        if sign == "\\" and following == "\n":
            self._continuation()
        elif sign == "\\" and following and following in escaped:
            word.add(following, quoted=True)
            self._at += 2
        elif sign in "$`":
            self._expansion(word, quoted=True)
        elif sign == "\n" and self._bodies:
            raise UnreadableLine("a here-document begins before the end of a quoted line")
        else:
            word.add(sign, quoted=True)
            self._at += 1

    def _expansion(self, word: Word, *, quoted: bool) -> None:
        """What begins with `$` or a backtick."""
        following = self._peek(1)
        if self._peek() == "`":
            self._backticks(word, quoted=quoted)
        elif following == "(":
            if self._peek(2) == "(":
                raise UnreadableLine("it has arithmetic, $(( ))")
            self._substitution(word, quoted=quoted)
        elif following == "{":
            self._parameter(word, _BRACED, quoted=quoted)
        elif following == "[" or (following == '"' and not quoted):
            raise UnreadableLine(f"it has ${following}")
        elif following == "'" and not quoted:
            self._ansi(word)
        elif _PARAMETER.match(self._text, self._at):
            self._parameter(word, _PARAMETER, quoted=quoted)
        else:
            word.add("$", quoted=quoted)
            self._at += 1

    def _parameter(self, word: Word, form: re.Pattern[str], *, quoted: bool) -> None:
        found = form.match(self._text, self._at)
        if found is None:
            raise UnreadableLine("it has a form of ${ } other than ${NAME} and ${NAME:-word}")
        word.expand(quoted=quoted and "@" not in found.group())
        self._at = found.end()

    def _ansi(self, word: Word) -> None:
        end = self._at + 2
        while (sign := self._text[end : end + 1]) != "'":
            if not sign:
                raise UnreadableLine("' is missing")
            end += 2 if sign == "\\" else 1
        if self._bodies:
            raise UnreadableLine("a here-document begins before the end of a quoted line")
        word.expand(quoted=True)
        self._at = end + 1

    def _substitution(self, word: Word, *, quoted: bool) -> None:
        if self._bodies:
            raise UnreadableLine("a command stands inside the line that begins a here-document")
        self._at += 2
        self._commands_to(")")
        word.expand(quoted=quoted)

    def _backticks(self, word: Word, *, quoted: bool) -> None:
        if self._bodies:
            raise UnreadableLine("a command stands inside the line that begins a here-document")
        text = self._to("`", self._at + 1)
        if "\\" in text or (quoted and '"' in text):
            raise UnreadableLine("backticks hold a backslash or a quote; write $( ) in their place")
        self._commands_in(text)
        word.expand(quoted=quoted)

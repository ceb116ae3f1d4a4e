"""A line of bash, read far enough to tell which programs it starts: its simple commands, and the words of each.

A reader of our own, for three reasons: the parsers there are for Python are large or under a licence that we cannot take; all
that is needed is where commands begin; and it has to be stricter than bash, not as able. Whatever it does not know for certain,
it refuses: `UnreadableLine` says why. Quotes, `$( )`, backticks, `<( )`, here-documents and compound commands are read, also
inside each other. Arithmetic, arrays, functions and most forms of `${ }` are not: bash runs what stands in a *value* there.
"""

import re
from dataclasses import dataclass, field

from minion.tools.shell_words import MAX_DEPTH, UnreadableLine, Word, WordReader

MAX_CHARS = 20_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REDIRECTION = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>&|>\||>")
_SEPARATOR = re.compile(r"&&|\|\||\|&|[;&|]")
_CASE_END = re.compile(r";;&|;;|;&")
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_DIGITS = re.compile(r"[0-9]+")

BEFORE_COMMANDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{"})
AFTER_COMMANDS = frozenset({"fi", "done", "}"})
RESERVED = BEFORE_COMMANDS | AFTER_COMMANDS | {"for", "case", "esac", "in"}


@dataclass(slots=True)
class _Simple:
    """The simple command that is being read."""

    words: list[Word] = field(default_factory=list)
    is_begun: bool = False
    """Whether something of it was read already, so that no word is a keyword."""
    is_over: bool = False
    """Whether it was a compound command, which only redirections may follow."""
    is_data: bool = False
    """Whether its words are a list, as after `for x in`."""


def commands_of(line: str) -> tuple[tuple[Word, ...], ...]:
    """The simple commands of a line with their words, leading assignments among them. Raises UnreadableLine."""
    if len(line) > MAX_CHARS:
        raise UnreadableLine(f"it is longer than {MAX_CHARS:,} characters")
    if any((sign < " " and sign not in "\t\n") or sign == "\x7f" for sign in line):
        raise UnreadableLine("it holds control characters")
    found: list[tuple[Word, ...]] = []
    _Reader(line, found, depth=0).read_all()
    return tuple(found)


class _Reader(WordReader):
    def __init__(self, text: str, found: list[tuple[Word, ...]], *, depth: int) -> None:
        super().__init__(text, depth=depth)
        self._found = found

    def read_all(self) -> None:
        self._read_list("")

    def _read_list(self, closing: str) -> str:
        """Read commands to `closing`, `)` or `;;`; what ended them is returned, `esac` among that."""
        simple = _Simple()
        while True:
            self._skip_blanks()
            if (ending := self._ending(closing)) is not None:
                self._next(simple)
                return ending
            sign = self._peek()
            if sign == "\n":
                self._newline()
                simple = self._next(simple)
            elif sign == "(":
                self._subshell(simple)
            elif found := _REDIRECTION.match(self._text, self._at):
                if sign in "<>" and self._peek(1) == "(":
                    self._take(simple, self._word(), closing)
                else:
                    self._redirect(simple, found.group())
            elif found := _SEPARATOR.match(self._text, self._at):
                self._at = found.end()
                simple = self._next(simple)
            elif self._take(simple, self._word(), closing) == "esac":
                return "esac"

    def _ending(self, closing: str) -> str | None:
        """What ends the list of commands here, which is passed; None where it goes on."""
        if closing == ";;" and (found := _CASE_END.match(self._text, self._at)):
            self._at = found.end()
            return closing
        sign = self._peek()
        if sign not in ("", ")"):
            return None
        if sign != closing:
            raise UnreadableLine(f"{closing} is missing" if closing else "a ) closes nothing")
        if self._bodies:
            raise UnreadableLine("a here-document has no end")
        self._at += len(sign)
        return sign

    def _next(self, simple: _Simple) -> _Simple:
        if simple.words and not simple.is_data:
            self._found.append(tuple(simple.words))
        return _Simple()

    def _take(self, simple: _Simple, word: Word, closing: str) -> str:
        """A word of a command, or one of the grammar's own, which is returned."""
        if self._peek() == "(":
            raise UnreadableLine("a ( after a word begins a function, an array or a pattern")
        if self._peek() in ("<", ">") and word.is_bare:
            if _DIGITS.fullmatch(word.text):
                return ""  # the number of a redirection
            if word.text.startswith("{"):
                raise UnreadableLine("a redirection assigns a variable")
        keyword = "" if simple.is_begun else word.keyword
        if keyword in BEFORE_COMMANDS:
            simple.is_over = False
        elif keyword in AFTER_COMMANDS:
            simple.is_over = True
        elif keyword == "for":
            self._for(simple)
        elif keyword == "case":
            self._case(simple)
        elif keyword == "esac" and closing == ";;":
            return keyword
        elif simple.is_over:
            raise UnreadableLine(f"{word.text[:40]!r} stands after the end of a compound command")
        else:
            simple.is_begun = True
            simple.words.append(word)
        return ""

    def _subshell(self, simple: _Simple) -> None:
        if simple.is_begun or simple.is_over:
            raise UnreadableLine("a ( stands where no command begins")
        if self._peek(1) == "(":
            raise UnreadableLine("it has arithmetic, (( ))")
        self._at += 1
        self._commands_to(")")
        simple.is_over = True

    def _commands_to(self, closing: str) -> str:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnreadableLine("it is nested too deeply")
        ending = self._read_list(closing)
        self._depth -= 1
        return ending

    def _commands_in(self, text: str) -> None:
        _Reader(text, self._found, depth=self._depth + 1).read_all()

    def _for(self, simple: _Simple) -> None:
        self._skip_blanks()
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise UnreadableLine("a for has no plain name")
        self._at = found.end()
        self._found.append((Word(text=f"{found.group()}=", bare=f"{found.group()}="),))
        self._skip_blanks()
        if self._peek() in ("\n", ";"):
            simple.is_over = True
            return
        word = self._word()
        if word.keyword == "in":
            simple.is_begun = simple.is_data = True
        elif word.keyword != "do":
            raise UnreadableLine("a for has neither `in` nor `do`")

    def _case(self, simple: _Simple) -> None:
        if self._depth:
            raise UnreadableLine("a case stands inside something else")
        self._skip_blanks()
        self._word()
        self._skip_lines()
        if self._word().keyword != "in":
            raise UnreadableLine("a case has no `in`")
        while True:
            self._skip_lines()
            opened = self._peek() == "("
            self._at += opened
            self._skip_blanks()
            if self._word().keyword == "esac":
                if opened:
                    raise UnreadableLine("a pattern of a case is `esac`")
                break
            self._skip_blanks()
            while self._peek() == "|":
                self._at += 1
                self._skip_blanks()
                self._word()
                self._skip_blanks()
            if self._peek() != ")":
                raise UnreadableLine("a pattern of a case has no )")
            self._at += 1
            if self._commands_to(";;") == "esac":
                break
        simple.is_over = True

    def _redirect(self, simple: _Simple, operator: str) -> None:
        self._at += len(operator)
        self._skip_blanks()
        word = self._word()
        if self._peek() == "(":
            raise UnreadableLine("a ( after a redirection")
        if not simple.is_over:
            simple.is_begun = True
        if operator in (">&", "<&") and not _DESCRIPTOR.fullmatch(word.keyword):
            # bash expands such a name twice, so that even what is in single quotes is run.
            raise UnreadableLine(f"{operator} is followed by a file; write &> for that")
        if operator not in ("<<", "<<-"):
            return
        if self._depth:
            raise UnreadableLine("a here-document is inside something else")
        if not word.is_plain or not word.text or "\n" in word.text:
            raise UnreadableLine("the end of a here-document is not one plain word")
        self._bodies.append((word.text, operator == "<<-", not word.is_bare))

    def _newline(self) -> None:
        """Go to the next line, over here-documents that begin there."""
        self._at += 1
        bodies, self._bodies = self._bodies, []
        for ending, without_tabs, is_literal in bodies:
            lines: list[str] = []
            while (line := self._line()) != ending and not (without_tabs and line.lstrip("\t") == ending):
                if line.endswith("\\") and not is_literal:
                    raise UnreadableLine("a line of a here-document ends in a backslash")
                lines.append(line)
            if not is_literal:
                _Reader("\n".join(lines), self._found, depth=self._depth + 1).read_body()

    def _line(self) -> str:
        if self._at >= len(self._text):
            raise UnreadableLine("a here-document has no end")
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        line = self._text[self._at : end]
        self._at = end + 1
        return line

    def _skip_lines(self) -> None:
        self._skip_blanks()
        while self._peek() == "\n":
            self._newline()
            self._skip_blanks()

    def _skip_blanks(self) -> None:
        """Go to what comes next, over a comment."""
        while True:
            if self._peek() in (" ", "\t"):
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._continuation()
            else:
                break
        if self._peek() == "#":
            if self._depth:
                raise UnreadableLine("a comment is inside something else")
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end

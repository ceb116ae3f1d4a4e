"""Which lines define a name, in each language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.scope.occurrences import (
    LONGEST_LINE,
    MOST_MENTIONING,
    SUFFIXES,
    defines,
    is_option,
    is_phrase,
    is_symbol,
    occurrences,
)

DEFINING = [
    ("a.py", "def thing(x):"),
    ("a.py", "    async def thing(self):"),
    ("a.py", "class thing(Base):"),
    ("a.py", "thing = 3"),
    ("a.py", "thing: int = 3"),
    ("a.js", "export default async function thing() {"),
    ("a.ts", "export const thing = 1"),
    ("a.ts", "export interface thing {"),
    ("a.ts", "  private async thing<T>(a: T): Promise<T> {"),
    ("a.tsx", "type thing = string"),
    ("a.mjs", "exports.thing = 1"),
    ("a.js", "  thing = (a, b) => {"),
    ("a.go", "func thing(a int) {"),
    ("a.go", "func (c *Client) thing(a int) {"),
    ("a.go", "type thing struct {"),
    ("a.go", "\tthing interface {"),
    ("a.go", "\tthing state = iota"),
    ("a.rs", "pub(crate) async fn thing(&self) {"),
    ("a.rs", "pub struct thing<T> {"),
    ("a.rs", "impl<'a, T> Iterator for thing<'a, T> {"),
    ("a.rs", "impl thing {"),
    ("a.rs", "macro_rules! thing {"),
    ("a.rb", "  def self.thing(a)"),
    ("a.rb", "class Other::thing < Base"),
    ("a.rb", "  thing = 3"),
    ("A.java", "    public static List<String> thing(int a) {"),
    ("A.java", "public final class thing {"),
    ("a.c", "static int *thing(void)"),
    ("a.h", "#define thing 3"),
    ("a.cc", "void Other::thing(int a) {"),
    ("a.sh", "thing() {"),
    ("a.vim", "function! s:thing(a)"),
]
ONLY_USING = [
    ("a.py", "    return thing(x)"),
    ("a.py", "    thing = 3"),
    ("a.py", "thing == 3"),
    ("a.py", "def something():"),
    ("a.py", "import thing"),
    ("a.js", "  thing(1, 2);"),
    ("a.ts", "const other = thing"),
    ("a.ts", "const thing$ = 1"),
    ("a.go", "\tthing := 3"),
    ("a.go", "\treturn thing(a)"),
    ("a.rs", "impl thing for Other {"),
    ("a.rs", "let a = thing();"),
    ("a.rb", "thing == 3"),
    ("A.java", "        return thing(a);"),
    ("A.java", "        new thing()"),
    ("a.c", "    thing(a);"),
    ("README.md", "def thing():"),
    ("thing", "def thing():"),
]


@pytest.mark.parametrize(("path", "line"), DEFINING)
def test_a_line_that_defines(path: str, line: str) -> None:
    assert defines("thing", path, line)


@pytest.mark.parametrize(("path", "line"), ONLY_USING)
def test_a_line_that_only_uses(path: str, line: str) -> None:
    assert not defines("thing", path, line)


def test_each_file_is_told_once_in_the_order_of_the_lines() -> None:
    lines = [("b.py", "def one():"), ("a.py", "class two:"), ("b.py", "one = 1"), ("a.py", "def one():")]
    found = occurrences(["two", "one", "three"], lines)
    assert found.definitions == {"two": ("a.py",), "one": ("b.py", "a.py")}


def test_what_speaks_of_a_word_has_it_as_a_whole() -> None:
    lines = [
        ("a.py", "one(two)"),
        ("b.py", "one_two = bone"),
        ("c.py", 'raise Error("Got unexpected extra argument")'),
        ("d.py", 'add("--force")'),
        ("e.py", 'add("--force-all")'),
    ]
    found = occurrences(["one", "Got unexpected extra argument", "--force", "absent"], lines)
    assert found.mentions == {
        "one": ("a.py",),
        "Got unexpected extra argument": ("c.py",),
        "--force": ("d.py",),
    }


def test_what_many_files_speak_of_says_nothing_of_any() -> None:
    lines = [(f"{number}.py", "one()") for number in range(MOST_MENTIONING)]
    assert len(occurrences(["one"], lines).mentions["one"]) == MOST_MENTIONING
    assert occurrences(["one"], [*lines, ("more.py", "one()")]).mentions == {}


def test_what_is_an_option_or_a_phrase() -> None:
    assert all(map(is_option, ["--force", "--no-color", "--x9"]))
    assert not any(map(is_option, ["-f", "--", "--F", "--a b", "---a", "--a\n", "--" + "a" * 80]))
    assert all(map(is_phrase, ["Got unexpected extra argument", "a b c", "it's not, what it is"]))
    assert not any(map(is_phrase, ["two words", "a  ", "a b \n", "-e a b", "a (b) c d", "a b " + "c" * 130]))


def test_what_is_a_symbol() -> None:
    assert all(map(is_symbol, ["a", "_b9", "$el", "x" * 100]))
    assert not any(map(is_symbol, ["", "9a", "a-b", "a.b", "a\n", "é", "x" * 101]))


PIECES = st.sampled_from(
    ["impl", "thing", " ", "<", ">", "(", ")", "for", "=", ":", "async", "pub", "\t", "*", "=>", "a"]
)


@given(st.lists(PIECES, max_size=300).map("".join), st.sampled_from(SUFFIXES))
def test_any_line_is_told_from_its_beginning(line: str, suffix: str) -> None:
    assert defines("thing", f"a.{suffix}", line) == defines("thing", f"a.{suffix}", line[:LONGEST_LINE])

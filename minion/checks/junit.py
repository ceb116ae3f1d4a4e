"""Outcomes of tests as JUnit XML, with the names that pytest's own report (xunit1) gives them: baselines are compared by these."""

import re

Outcome = dict[str, str]
"""One line of a run: `id` (pytest's), `when`, `outcome`, `file`, `message`, `text`, and `touches`: `yes` if it ran what was changed, `no` if not, empty if nobody looked."""
_ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = str.maketrans({
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
})  # fmt: skip
_ELEMENTS = {"skipped": "skipped", "failed": "failure"}


HEAD, TAIL = '<testsuites><testsuite name="pytest">\n', "</testsuite></testsuites>\n"


def element(one: Outcome, *, controlled: bool) -> str:
    """The element of everything that passed, failed or was skipped; other outcomes say nothing yet.

    `controlled`: the test failed with a body that must fail, and says so by an attribute of our own.
    """
    if one["outcome"] not in {"passed", *_ELEMENTS}:
        return ""
    class_name, name = address(one["id"])
    named = {"classname": class_name, "name": name, "file": one["file"]}
    attributes = " ".join(f'{key}="{_escaped(value)}"' for key, value in named.items())
    attributes += ' control="failed"' if controlled else ""
    attributes += f' touches="{one["touches"]}"' if one.get("touches") in {"yes", "no"} else ""
    kind = _ELEMENTS.get(one["outcome"])
    if kind is None:
        return f"<testcase {attributes}/>\n"
    if kind == "failure" and one["when"] != "call":
        kind = "error"
    text = f'<{kind} message="{_escaped(one["message"])}">{_escaped(one["text"])}</{kind}>'
    return f"<testcase {attributes}>{text}</testcase>\n"


def address(identifier: str) -> tuple[str, str]:
    """The class's and the test's name: `a/test_b.py::C::test_d[x/y]` is `a.test_b.C` and `test_d[x/y]`."""
    path, bracket, parameters = identifier.partition("[")
    file, *names = path.split("::")
    parts = [re.sub(r"\.py$", "", file.replace("/", ".")), *names]
    parts[-1] += bracket + parameters
    return ".".join(parts[:-1]), parts[-1]


def _escaped(text: str) -> str:
    """For an attribute or an element; characters that no XML may hold are written out, as pytest does it."""
    legal = _ILLEGAL.sub(lambda found: f"#x{ord(found[0]):0{2 if ord(found[0]) <= 0xFF else 4}X}", text)
    return legal.translate(_ESCAPED)

"""Where a submodule is fetched from: what git would take, less what a hostile repository could do with it."""

import pytest

from overlord.domain.repositories.submodule_address import address, origin

FORGE = "https://github.com/acme/calc.git"
HERE = "http://127.0.0.1:8123/acme/calc.git"


@pytest.mark.parametrize(
    ("given", "parent", "found"),
    [
        ("https://example.org/lib", FORGE, "https://example.org/lib"),
        ("https://0x7f.example.org/lib", FORGE, "https://0x7f.example.org/lib"),
        ("https://example.org:8443/a/lib.git", FORGE, "https://example.org:8443/a/lib.git"),
        ("../lib.git", FORGE, "https://github.com/acme/lib.git"),
        ("../../other/lib", FORGE, "https://github.com/other/lib"),
        ("./lib", FORGE, "https://github.com/acme/calc.git/lib"),
        ("../lib/", "https://example.org/a/b/", "https://example.org/a/lib"),
        ("git@github.com:other/lib.git", FORGE, "https://github.com/other/lib.git"),
        ("ssh://git@github.com/other/lib.git", FORGE, "https://github.com/other/lib.git"),
    ],
)
def test_what_git_would_fetch_is_fetched(given: str, parent: str, found: str) -> None:
    assert address(given, parent, FORGE) == found


def test_a_forge_on_this_machine_is_reached_as_it_is() -> None:
    assert address("../lib.git", HERE, HERE) == "http://127.0.0.1:8123/acme/lib.git"
    assert address("http://127.0.0.1:8123/other/lib", HERE, HERE) == "http://127.0.0.1:8123/other/lib"


@pytest.mark.parametrize(
    "given",
    [
        "",
        "/etc/repository",
        "file:///etc/repository",
        "lib",
        "ext::sh -c whoami",
        "ext::sh",
        "-u./payload",
        "--upload-pack=payload",
        "http://example.org/lib",
        "git://example.org/lib",
        "ssh://git@example.org/lib",
        "git@example.org:lib",
        "git@github.com:../../lib",
        "https://user:secret@example.org/lib",
        "https://token@github.com/lib",
        "https://example.org/a/../../lib",
        "https://example.org/a/%2e%2e/lib",
        "https://example.org/-lib",
        "https://example.org/lib?x=1",
        "https://example.org/lib#x",
        "https://example.org/",
        "https://example.org",
        "https://-example.org/lib",
        "https://localhost/lib",
        "https://printer/lib",
        "https://metadata.google.internal/lib",
        "https://127.0.0.1/lib",
        "https://169.254.169.254/latest",
        "https://10.0.0.1/lib",
        "https://127.1/lib",
        "https://0177.0.0.1/lib",
        "https://0x7f.1/lib",
        "https://169.254.0xa9fe/lib",
        "https://printer.0x/lib",
        "https://localhost.localdomain/lib",
        "https://[::ffff:127.0.0.1]/lib",
        "https://[64:ff9b::7f00:1]/lib",
        "https://[2002:7f00:1::]/lib",
        "https://[::1]/lib",
        "https://[::1/lib",
        "https://example.org:port/lib",
        "http://127.0.0.1:9/lib",
        "../../../lib/../../..",
        "../../../../lib",
        "./a/../../b",
        "../\nlib",
        "..\\lib",
        "https://example.org/lib lib",
        "https://example.org/" + "x" * 3000,
    ],
)
def test_what_could_do_more_than_fetch_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"^its address "):
        address(given, FORGE, FORGE)


def test_a_submodule_elsewhere_names_its_own_neighbours_there() -> None:
    assert address("../b", "https://example.org/x/a", FORGE) == "https://example.org/x/b"


def test_only_the_same_scheme_host_and_port_is_the_same_place() -> None:
    assert origin(FORGE) == origin("https://github.com:443/other/lib")
    for other in (
        "http://github.com/a",
        "https://github.com:444/a",
        "https://github.com.evil.org/a",
        "https://GITHUB.org/a",
    ):
        assert origin(other) != origin(FORGE)

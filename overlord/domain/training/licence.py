"""Which licence a repository has, by the telling words of its file: a hint for people, and no advice of law."""

import re

LICENCE_FILES = (
    *("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENSE.rst", "LICENCE", "LICENCE.md", "LICENCE.txt"),
    *("COPYING", "COPYING.md", "COPYING.txt", "UNLICENSE", "UNLICENSE.txt", "LICENSE-MIT", "LICENSE-APACHE"),
    *("license", "license.md", "license.txt", "License", "License.txt"),
)
UNKNOWN = "unknown: ask"
_HEAD_CHARS = 600
_SPACES = re.compile(r"\W+")
_TITLES = (
    ("AGPL-3.0", "gnu affero general public license version 3"),
    ("LGPL-3.0", "gnu lesser general public license version 3"),
    ("LGPL-2.1", "gnu lesser general public license version 2 1"),
    ("GPL-3.0", "gnu general public license version 3"),
    ("GPL-2.0", "gnu general public license version 2"),
    ("Apache-2.0", "apache license version 2 0"),
    ("MPL-2.0", "mozilla public license version 2 0"),
    ("EPL-2.0", "eclipse public license v 2 0"),
    ("EUPL-1.2", "european union public licence v 1 2"),
    ("BSL-1.0", "boost software license version 1 0"),
    ("CC0-1.0", "cc0 1 0 universal"),
)
"""What stands at the beginning of a file: the texts of some name others further down."""
_TELLING = (
    (
        "MIT",
        (
            "permission is hereby granted free of charge to any person obtaining a copy",
            "the above copyright notice and this permission notice shall be included",
        ),
    ),
    (
        "ISC",
        (
            "permission to use copy modify and or distribute this software",
            "provided that the above copyright notice",
        ),
    ),
    (
        "0BSD",
        (
            "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted",
        ),
    ),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "endorse or promote products")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    (
        "Zlib",
        (
            "this software is provided as is without any express or implied warranty",
            "altered source versions must be plainly marked",
        ),
    ),
)
"""What all has to stand in a text; the first that fits."""


def licence_of(text: str) -> str:
    """The SPDX id of a licence's text; `unknown: ask` for one that is not recognised. Whether later versions count too, it does not say."""
    words = _SPACES.sub(" ", text.casefold()).strip()
    head = words[:_HEAD_CHARS]
    for name, title in _TITLES:
        if title in head:
            return name
    return next((name for name, telling in _TELLING if all(part in words for part in telling)), UNKNOWN)

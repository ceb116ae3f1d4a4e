"""`python -m overlord.entrypoints.probe`: asks the listener on this machine how the daemon is. A container's health check.

It is started twice a minute for as long as the daemon runs, so it loads nothing but the standard library.
"""

import http.client
import os
import sys
from collections.abc import Mapping

ANSWER_S = 4.0
EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 - what a listener may be told; it is asked for on loopback


def main(environment: Mapping[str, str]) -> int:
    """0 when the daemon says that it is well; prints what it said, or why nobody did."""
    host, _, port = environment.get("OVERLORD_LISTEN", "").rpartition(":")
    if not port.isdecimal():
        print("nobody to ask: set OVERLORD_LISTEN, as 127.0.0.1:8712")
        return 1
    name = host.strip("[]")
    where = http.client.HTTPConnection(
        "127.0.0.1" if name in EVERYWHERE else name, int(port), timeout=ANSWER_S
    )
    try:
        where.request("GET", "/healthz")
        answer = where.getresponse()
        print(answer.read(1000).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as error:
        print(f"no answer at {where.host}:{where.port}: {error}")
        return 1
    return 0 if answer.status == http.HTTPStatus.OK else 1


if __name__ == "__main__":
    sys.exit(main(os.environ))

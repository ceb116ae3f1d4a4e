"""The one way out of a network of sessions: joins each connection it is made to one fixed address, the session listener's.

Its text is run in a container (`network.py` starts it), whatever version of the Minion that has, so it uses the standard library
only. It reads nothing of what it passes on: the session checks the listener's certificate, and the listener the session's token.
Arguments: the port to listen on, the host and the port to connect to.
"""

import asyncio
import contextlib
import signal
import sys

CONNECT_S = 20.0
MOST = 4096
"""Connections at once; a session has a few."""
_CHUNK = 65536


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()


async def relay(port: int, host: str, target: int) -> None:
    """Serve until TERM."""
    ended, room = asyncio.Event(), asyncio.Semaphore(MOST)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with room:
            try:
                async with asyncio.timeout(CONNECT_S):
                    far_reader, far_writer = await asyncio.open_connection(host, target)
            except OSError:
                writer.transport.abort()
                return
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
            for each in (writer, far_writer):
                each.transport.abort()

    server = await asyncio.start_server(join, None, port)
    await ended.wait()
    server.close()  # whoever is joined finds the next relay by itself


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))

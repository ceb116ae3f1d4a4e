"""How the page's answers go over the wire."""

import asyncio
import socket

from starlette.responses import PlainTextResponse

from overlord.http_server import ConnectionLimits, LimitedServer


async def test_an_answer_of_two_packets_waits_for_no_acknowledgement() -> None:
    server = LimitedServer(
        PlainTextResponse("hello"), limits=ConnectionLimits(header_s=10.0), allowed=lambda: 10
    )
    listening = socket.create_server(("127.0.0.1", 0))
    server.listen(listening)
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    try:
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        [connection] = server.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    finally:
        writer.close()
        await server.stop_listening()
        for connection in server.connections:
            connection.transport.abort()

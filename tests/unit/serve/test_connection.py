"""Idle clients are disconnected; a client that waits for its answer is not."""

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from prong.serve import connection

HEAD = b"Host: prong\r\nConnection: close\r\n\r\n"


class Served:
    """A server with routes that are slow, endless, or wait for their client."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hung_up = asyncio.Event()
        self.stream_closed = asyncio.Event()
        routes = [
            Route("/slow", self.slow),
            Route("/endless", self.endless),
            Route("/waiting", self.waiting),
            Route("/echo", self.echo, methods=["POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            http=connection.ClientConnection,
            loop="asyncio",
            lifespan="off",
            log_config=None,
        )
        self.server = uvicorn.Server(config)

    async def slow(self, _: Request) -> Response:
        await asyncio.sleep(0.6)
        return PlainTextResponse("slow")

    async def endless(self, _: Request) -> Response:
        async def blocks() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 100_000
                    await asyncio.sleep(0)
            finally:
                self.stream_closed.set()

        return StreamingResponse(blocks())

    async def waiting(self, request: Request) -> Response:
        while not getattr(request.state, "hung_up", False):  # noqa: ASYNC110 -- a flag for threads
            await asyncio.sleep(0.01)
        self.hung_up.set()
        return PlainTextResponse("too late")

    async def echo(self, request: Request) -> Response:
        return Response(await request.body())

    async def client(self, request: bytes) -> tuple[StreamReader, StreamWriter]:
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(request)
        await writer.drain()
        return reader, writer


@asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[Served]:
    """Start a server, and require that it stops within five seconds."""
    served = Served(folder / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(served.path))
        running = asyncio.create_task(served.server.serve([listener]))
        while not served.server.started:  # noqa: ASYNC110 -- uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield served
        served.server.should_exit = True
        await asyncio.wait_for(running, 5)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENCE", 0.3)


@pytest.mark.parametrize(
    "request_",
    [b"", b"GET /sl", b"POST /echo HTTP/1.1\r\nContent-Length: 9\r\n" + HEAD + b"some"],
    ids=["nothing", "half-a-head", "half-a-body"],
)
def test_silent_client_is_disconnected(tmp_path: Path, brief: None, request_: bytes) -> None:
    async def talk() -> None:
        async with served(tmp_path) as server:
            reader, writer = await server.client(request_)
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()

    asyncio.run(talk())


def test_slow_answer_is_not_cut_off(tmp_path: Path, brief: None) -> None:
    async def talk() -> None:
        async with served(tmp_path) as server:
            reader, writer = await server.client(b"GET /slow HTTP/1.1\r\n" + HEAD)
            assert (await asyncio.wait_for(reader.read(), 5)).endswith(b"slow")
            writer.close()

    asyncio.run(talk())


def test_client_that_reads_nothing_is_disconnected(tmp_path: Path, brief: None) -> None:
    async def talk() -> None:
        async with served(tmp_path) as server:
            _, writer = await server.client(b"GET /endless HTTP/1.1\r\n" + HEAD)
            await asyncio.wait_for(server.stream_closed.wait(), 5)
            writer.close()

    asyncio.run(talk())


def test_half_closed_client_gets_its_answer(tmp_path: Path) -> None:
    async def talk() -> None:
        async with served(tmp_path) as server:
            for path, answer in (("slow", b"slow"), ("waiting", b"too late")):
                reader, writer = await server.client(f"GET /{path} HTTP/1.1\r\n".encode() + HEAD)
                writer.write_eof()
                assert (await asyncio.wait_for(reader.read(), 5)).endswith(answer)
                writer.close()

    asyncio.run(talk())


def test_endpoint_sees_that_its_client_hung_up(tmp_path: Path) -> None:
    async def talk() -> None:
        async with served(tmp_path) as server:
            _, writer = await server.client(b"GET /waiting HTTP/1.1\r\n" + HEAD)
            await asyncio.sleep(0.1)
            writer.close()
            await asyncio.wait_for(server.hung_up.wait(), 5)

    asyncio.run(talk())


def test_one_client_too_many_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_CLIENTS", 2)

    async def talk() -> None:
        async with served(tmp_path) as server:
            inside = [await server.client(b"") for _ in range(2)]
            reader, writer = await server.client(b"")
            assert await asyncio.wait_for(reader.read(), 5) == b""
            for _, other in [*inside, (reader, writer)]:
                other.close()

    asyncio.run(talk())


def test_shutdown_does_not_wait_for_idle_clients(tmp_path: Path) -> None:
    async def talk() -> None:
        async with served(tmp_path) as server:
            clients = [
                await server.client(b"GET /endless HTTP/1.1\r\n" + HEAD),
                await server.client(b"POST /echo HTTP/1.1\r\nContent-Length: 9\r\n" + HEAD),
                await server.client(b"GET /ech"),
            ]
            await asyncio.sleep(0.2)
        for _, writer in clients:
            writer.close()

    asyncio.run(talk())

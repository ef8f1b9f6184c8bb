"""Client limits that uvicorn does not have."""

from __future__ import annotations

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.h11_impl import H11Protocol

from prong.errors import UsageError
from prong.serve.responses import PROBLEM, json_line

SILENCE = 30
"""Seconds until a client that sends nothing, or reads nothing, is disconnected."""
_MAX_CLIENTS = 256


class ClientConnection(H11Protocol):
    """Connection that drops idle clients and sets `hung_up` on a request whose client left."""

    _timeout: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # `pause_writing` is called for every unread byte
        self._set_timeout(is_waiting=True)
        if len(self.connections) > _MAX_CLIENTS:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = self.cycle
        self._set_timeout(is_waiting=not cycle or cycle.more_body or cycle.response_complete)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_timeout(is_waiting=True)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._set_timeout(is_waiting=False)

    def eof_received(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] -- asyncio allows it
        """Keep the connection for the answer: the client may only have finished sending."""
        cycle = self.cycle
        if not cycle or cycle.more_body or cycle.response_complete:
            return False
        cycle.keep_alive = False
        self._hung_up()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._hung_up()

    def shutdown(self) -> None:
        """Wait for answers in progress, but not for a client that neither sends nor reads."""
        if self.flow.write_paused or (self.cycle and self.cycle.more_body):
            self.transport.abort()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: {PROBLEM}\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode() + json_line(UsageError(msg).problem()))
        self.transport.close()

    def _hung_up(self) -> None:
        if self.cycle:
            self.cycle.scope.setdefault("state", {})["hung_up"] = True

    def _set_timeout(self, *, is_waiting: bool) -> None:
        if self._timeout:
            self._timeout.cancel()
        abort = self.transport.abort
        self._timeout = self.loop.call_later(SILENCE, abort) if is_waiting else None

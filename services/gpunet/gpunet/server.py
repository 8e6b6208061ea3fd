"""The process: listens, gives slow clients up, and ends without losing a request."""

import asyncio
import signal
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from gpunet.app import create_app
from gpunet.logs import configure
from gpunet.memory import limit_arenas
from gpunet.service import Service
from gpunet.settings import Settings

# Over the 60 s for which load balancers keep idle connections: who closes first, loses no request.
_KEEP_ALIVE_S = 75


def serve(settings: Settings) -> int:
    """Serves until SIGTERM or SIGINT.

    Returns:
        The process's exit code: 1 when the model cannot be served.
    """
    configure(settings.log_level)
    limit_arenas()
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    server = await make_server(settings)
    await server.serve()
    return server.exit_code


async def make_server(settings: Settings) -> "DrainingServer":
    """Makes the server, in the event loop that will run it."""

    def fail() -> None:
        server.exit_code = 1
        server.should_exit = True

    app = await create_app(settings, on_failure=fail)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.listen_port,
        http=protocol(settings.header_timeout),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(settings.shutdown_timeout),
    )
    server = DrainingServer(config, app.state.service, settings.drain_delay)
    return server


class DrainingServer(uvicorn.Server):
    """Goes on serving for a while after SIGTERM, so that balancers notice before connections are refused.

    A second signal, or Ctrl-C, ends at once what may end: requests under way are still answered.
    """

    def __init__(self, config: uvicorn.Config, service: Service, delay_s: float) -> None:
        super().__init__(config)
        self.exit_code = 0
        self._service = service
        self._delay_s = delay_s

    def handle_exit(self, sig: int, frame: Any) -> None:
        # Without uvicorn's own, which raises the signal anew at the end: a clean end is exit code 0, not a traceback.
        is_first = not self._service.is_draining
        self._service.drain()
        if is_first and sig == signal.SIGTERM and self._delay_s:
            asyncio.get_running_loop().call_later(self._delay_s, self._end)
        else:
            self.force_exit |= self.should_exit and sig == signal.SIGINT
            self._end()

    def _end(self) -> None:
        self.should_exit = True


def protocol(header_timeout_s: float) -> type[asyncio.Protocol]:
    """Makes uvicorn's protocol with a time limit for a request's head: it has none of its own.

    Args:
        header_timeout_s: until the head of a request must have come, from its first byte on, and on a new connection
            from its beginning on.
    """

    class Impatient(H11Protocol):
        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            if not self._answers():
                self._wait()
            super().data_received(data)
            if self._answers():
                self._cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def _answers(self) -> bool:
            # Before the first request there is no cycle, whatever the annotation says.
            cycle = cast("RequestResponseCycle | None", self.cycle)
            return cycle is not None and not cycle.response_complete

        def _wait(self) -> None:
            if self._patience is None:
                self._patience = self.loop.call_later(header_timeout_s, self._give_up)

        def _give_up(self) -> None:
            self._patience = None
            if not self.transport.is_closing():
                self.transport.close()

        def _cancel(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return Impatient

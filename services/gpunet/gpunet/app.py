"""Wires the application together."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from gpunet.model.errors import ModelError
from gpunet.routes.answers import Envelope, install_errors
from gpunet.routes.classify import classify_routes
from gpunet.routes.health import health_routes
from gpunet.routes.page import page_routes
from gpunet.service import Service
from gpunet.settings import Settings

# Names are resolved in these threads, and an unfriendly name server lets each wait for many seconds.
_RESOLVER_THREADS = 64

log = logging.getLogger(__name__)


async def create_app(settings: Settings, *, on_failure: Callable[[], None]) -> FastAPI:
    """Makes the application. To be called in the event loop that will run it.

    Args:
        settings: all of them.
        on_failure: called when the model cannot be served; the reason is in the log.
    """
    service = Service(settings)

    async def start() -> None:
        try:
            await service.start()
        except ModelError as error:
            log.critical("%s: %s", type(error).__name__, error)
            on_failure()
        # Whatever else happens, a process that can never be ready shall not stay.
        except Exception:
            log.critical("the model cannot be served", exc_info=True)
            on_failure()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_RESOLVER_THREADS, "io"))
        starting = asyncio.create_task(start())
        yield
        starting.cancel()
        await service.close()

    app = FastAPI(
        title="GPUNet",
        description="An image in, labels of ImageNet out.",
        version=version("gpunet"),
        lifespan=lifespan,
        # Their pages load scripts from elsewhere; /openapi.json says it all.
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    for router in (page_routes(), classify_routes(service), health_routes(service, version("gpunet"))):
        app.include_router(router)
    install_errors(app)
    app.add_middleware(Envelope, service=service)
    return app

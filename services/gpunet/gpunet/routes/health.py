"""What probes, scrapers and operators ask."""

from fastapi import APIRouter, Response

from gpunet.errors import NotReady
from gpunet.routes.schemas import Health, Version, error_responses
from gpunet.service import Service, State

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def health_routes(service: Service, version: str) -> APIRouter:
    """Makes the routes; `version` is the service's own."""
    router = APIRouter(tags=["health"])
    unavailable = {503: {"model": Health, "description": "Not now; the body says why."}}

    def answer(response: Response, said: str, *, is_well: bool) -> Health:
        response.status_code = 200 if is_well else 503
        response.headers["Cache-Control"] = "no-store"
        return Health(status=said)

    @router.get("/livez", responses={**unavailable})
    async def livez(response: Response) -> Health:
        """Whether a restart would not help; says no when the device does not come back from a batch."""
        return answer(response, "stuck" if service.is_stuck else "alive", is_well=not service.is_stuck)

    @router.get("/startupz", responses={**unavailable})
    async def startupz(response: Response) -> Health:
        """Whether the model is loaded and warm."""
        return answer(response, service.state.value, is_well=service.state is not State.STARTING)

    @router.get("/readyz", responses={**unavailable})
    async def readyz(response: Response) -> Health:
        """Whether requests should come here: not before the model is warm, and not once the service is ending."""
        return answer(response, service.state.value, is_well=service.state is State.READY)

    @router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Prometheus metrics."""
        return Response(service.metrics.text(), media_type=_METRICS_TYPE)

    @router.get("/version", responses=error_responses(NotReady))
    async def version_of() -> Version:
        """The service's version, and the model that it serves."""
        if service.info is None:
            raise NotReady
        return Version(service=version, **vars(service.info))

    return router

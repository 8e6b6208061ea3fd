"""Whether the service does what its OpenAPI document says, asked by a machine that means no good."""

import asyncio
import threading
import time

import pytest
import schemathesis
from conftest import running, settings_for
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import positive_data_acceptance

EXAMPLES = 25
PHASES = (Phase.explicit, Phase.generate)

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def document():
    """The document of a service that runs in a thread of its own."""
    found, ended = [], threading.Event()

    async def serve():
        async with running(settings_for(fetch_timeout=0.2, log_level="ERROR")) as (client, _):
            found.append(str(client._base_url))
            while not ended.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        for _ in range(100):
            time.sleep(0.05)
            if found:
                break
        yield schemathesis.openapi.from_url(f"{found[0].rstrip('/')}/openapi.json")
    finally:
        ended.set()
        thread.join(5)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
def test_schemathesis_finds_nothing(document, mode):
    for operation in (found.ok() for found in document.get_all_operations()):

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
        @given(operation.as_strategy(generation_mode=mode))
        def ask(case):
            # No schema can say which texts are addresses of images and which bytes are images.
            case.call_and_validate(excluded_checks=[positive_data_acceptance])

        try:
            ask()
        # Routes without parameters or bodies have nothing to be wrong.
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE


def test_every_route_documents_its_errors(document):
    paths = document.raw_schema["paths"]
    for path in ("/predict", "/v1/classify"):
        statuses = set(paths[path]["post"]["responses"])
        assert statuses == {"200", "400", "403", "408", "413", "415", "422", "500", "502", "503", "504"}
    body = paths["/v1/classify"]["post"]["requestBody"]["content"]
    assert set(body) == {"application/json", "image/*", "application/octet-stream", "multipart/form-data"}

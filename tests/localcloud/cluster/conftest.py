"""A real control plane for the tests of what acts in one."""

from collections.abc import Iterator

import pytest
from lightkube import Client

from localcloud.cluster.control_plane import ControlPlane
from tests.localcloud.cluster.crds import install_published
from tools.engine.programs import PROGRAMS, cache_folder, installed


@pytest.fixture(scope="session")
def kube():
    """The program that holds all parts."""
    built = installed(PROGRAMS["kube"], cache_folder())
    if built is None:
        pytest.skip("kube was not built on this machine: eksai engine build --kubernetes")
    return built


@pytest.fixture(scope="session")
def control_plane(kube, tmp_path_factory) -> Iterator[ControlPlane]:
    """A running control plane that the tests of a process share: each works in namespaces of its own."""
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane"), kube)
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def published_crds(control_plane):
    """Installs the published CRDs whose files match a pattern; a test that wants them is skipped without them."""

    def install(pattern: str) -> None:
        with control_plane.client() as client:
            install_published(client, pattern)

    return install


@pytest.fixture
def client(control_plane) -> Iterator[Client]:
    """A client with all rights."""
    with control_plane.client() as client:
        yield client

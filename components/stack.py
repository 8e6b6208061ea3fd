"""What every layer may know of its stack before anything is made."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from components.pools import Pool
from components.release import ChartSource
from components.volume_claims import VolumeClaim
from components.web_apps import WEB_APPS


@dataclass(frozen=True)
class StackFacts:
    """A stack, as its settings say."""

    region: str
    """AWS region."""
    account_id: str
    """The account that everything is made in."""
    cluster_name: str
    """The cluster's name, which names and tags follow from."""
    cluster_version: str
    """Kubernetes version."""
    node_ranges: Sequence[str]
    """Address ranges of the VPC in which nodes, load balancers and endpoints are; pods too unless they have others."""
    pod_ranges: Sequence[str]
    """Address ranges of the VPC that only pods have."""
    tags: Mapping[str, str]
    """Tags of everything in AWS, for what the provider's default tags do not reach."""
    pools: Sequence[Pool]
    """All pools of nodes."""
    domain: str | None
    """The domain that applications are published below; None for none."""
    installs: Set[str]
    """Names of the charts that the stack installs."""
    applications: Sequence[str]
    """Names of the applications of `components.web_apps` that the stack has."""
    own_hosts: Mapping[str, str]
    """Hosts of applications that have a load balancer of their own, by the application's name."""
    volume_claims: Sequence[VolumeClaim]
    """Claims whose volumes the stack makes itself."""
    keeps_data: bool
    """Whether what holds data is protected from deletion, and stays when the rest of the stack goes."""
    charts: ChartSource
    """Where charts and their images come from."""

    def application_urls(self) -> dict[str, str]:
        """Where a browser finds each application."""
        own = {name: f"https://{host}" for name, host in self.own_hosts.items()}
        return {name: own.get(name) or WEB_APPS[name].url(self.domain) for name in self.applications}

"""What passes between the pods of the GPUNet service and others.

They fetch what strangers ask for: the service itself judges every address when it dials it, and this is what holds
should it err. So it is narrower than the policy of namespaces in which people run code of their own
(`components.network_isolation`), which opens the API server and HTTPS in the VPC.

Kubelet's probes and forwarded ports come from the pod's own node and pass in any case.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import Any

from components.network_isolation import NOT_INTERNET, POD_IDENTITY, Addresses, Pods, rule
from components.workloads.gpunet_pods import PORT

REACHED_BY = ("monitoring", "jupyterhub", "ml-pipelines", "ray-system")
"""Namespaces that reach the service: the one that scrapes it, and those in which people run code of their own."""

_DNS, _HTTP, _HTTPS = 53, 80, 443


def network_policy_spec(vpc_ranges: Sequence[str], *, is_published: bool, downloads: bool) -> dict[str, Any]:
    """The spec of the namespace's NetworkPolicy; nothing passes but what it names.

    Args:
        vpc_ranges: ranges of the VPC, but for one that only pods have; load balancers are there.
        is_published: whether there is a load balancer, which asks pods by their own addresses.
        downloads: whether pods get the model from S3 by an identity of their own. S3 has public addresses: in the VPC
            it is reached through a gateway.
    """
    clients: list[Pods | Addresses] = [Pods(namespace, (PORT,)) for namespace in REACHED_BY]
    if is_published:
        clients.append(Addresses(vpc_ranges, (PORT,)))
    agent = [rule("to", Addresses((POD_IDENTITY,), (_HTTP,)))] if downloads else []
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [rule("from", client) for client in clients],
        "egress": [
            {
                "to": Pods("kube-system", (_DNS,), {"k8s-app": "kube-dns"}).peers(),
                "ports": [{"protocol": protocol, "port": _DNS} for protocol in ("UDP", "TCP")],
            },
            *agent,
            {
                "to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": _no_internet(vpc_ranges)}}],
                "ports": [{"protocol": "TCP", "port": port} for port in (_HTTP, _HTTPS)],
            },
        ],
    }


def _no_internet(vpc_ranges: Sequence[str]) -> list[str]:
    """What is private to everybody, and what else the VPC has taken for itself."""
    private = [IPv4Network(known) for known in NOT_INTERNET]
    own = [cidr for cidr in vpc_ranges if not any(IPv4Network(cidr).subnet_of(known) for known in private)]
    return [*NOT_INTERNET, *own]

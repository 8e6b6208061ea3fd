"""How an Ingress is published by the AWS Load Balancer Controller."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi

from components.domain import Domain

INGRESS_CLASS = "alb"
"""The class of the AWS Load Balancer Controller."""

_PREFIX = "alb.ingress.kubernetes.io"
_TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09"
"""TLS 1.3 and 1.2 with forward secrecy, and key exchange that also withstands quantum computers where a browser can."""
_PLATFORM_IDLE_S = 300
"""Seconds that a connection to an application may be silent. The balancer's own sixty cut logs that are followed."""


@dataclass(frozen=True)
class LoadBalancer:
    """An Application Load Balancer that speaks HTTPS to whoever asks it.

    The controller puts all Ingresses of a group on one, and does nothing at all where two of them disagree about it.
    """

    group: str
    """Its name; Ingresses of the same group share it."""
    scheme: Literal["internet-facing", "internal"]
    """Where it can be reached from."""
    inbound_cidrs: Sequence[str]
    """Address ranges that reach it."""
    certificate_arn: pulumi.Input[str]
    """The certificate of its hosts."""
    idle_s: int
    """Seconds that a connection may be silent."""

    def annotations(self, health_path: str) -> dict[str, pulumi.Input[str]]:
        """The annotations of an Ingress on it.

        Args:
            health_path: what it asks each pod for; the answer of a pod that works is 200.
        """
        return {
            f"{_PREFIX}/group.name": self.group,
            f"{_PREFIX}/scheme": self.scheme,
            # Pods have addresses of the VPC: there is no way over node ports.
            f"{_PREFIX}/target-type": "ip",
            f"{_PREFIX}/inbound-cidrs": ",".join(self.inbound_cidrs),
            f"{_PREFIX}/listen-ports": '[{"HTTP": 80}, {"HTTPS": 443}]',
            f"{_PREFIX}/ssl-redirect": "443",
            f"{_PREFIX}/ssl-policy": _TLS_POLICY,
            f"{_PREFIX}/certificate-arn": self.certificate_arn,
            f"{_PREFIX}/load-balancer-attributes": (
                f"idle_timeout.timeout_seconds={self.idle_s},routing.http.drop_invalid_header_fields.enabled=true"
            ),
            f"{_PREFIX}/healthcheck-path": health_path,
        }


def platform_balancer(domain: Domain) -> LoadBalancer:
    """The one that all applications below the platform's domain share.

    Args:
        domain: the platform's domain.
    """
    return LoadBalancer(
        group="platform",
        scheme="internet-facing",
        inbound_cidrs=domain.inbound_cidrs,
        certificate_arn=domain.certificate_arn,
        idle_s=_PLATFORM_IDLE_S,
    )


def encrypted_to_the_pod() -> dict[str, pulumi.Input[str]]:
    """What is added for an application whose pods speak TLS; the load balancer takes any certificate of theirs."""
    return {f"{_PREFIX}/backend-protocol": "HTTPS", f"{_PREFIX}/healthcheck-protocol": "HTTPS"}


def draining(seconds: int) -> dict[str, pulumi.Input[str]]:
    """What is added for an application whose pods answer that long after they have left; the balancer's own is 300.

    Args:
        seconds: how long the load balancer waits for the answers of a pod that it sends nothing any more.
    """
    return {f"{_PREFIX}/target-group-attributes": f"deregistration_delay.timeout_seconds={seconds}"}

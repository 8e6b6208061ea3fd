"""How an application is published below the platform's domain: by the one load balancer that all share."""

import pulumi

from components.domain import Domain

INGRESS_CLASS = "alb"
"""The class of the AWS Load Balancer Controller."""

_PREFIX = "alb.ingress.kubernetes.io"
_GROUP = "platform"
_TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09"
"""TLS 1.3 and 1.2 with forward secrecy, and key exchange that also withstands quantum computers where a browser can."""
_IDLE_S = 300
"""Seconds that a connection may be silent. The load balancer's own sixty cut logs that are followed."""


def alb_annotations(domain: Domain, health_path: str) -> dict[str, pulumi.Input[str]]:
    """The annotations of an application's Ingress.

    But for the health check they are the same for every application: the controller puts all Ingresses of the group on
    one load balancer, and does nothing at all where two of them disagree about it.

    Args:
        domain: the platform's domain.
        health_path: what the load balancer asks each pod for; the answer of a pod that works is 200.
    """
    return {
        f"{_PREFIX}/group.name": _GROUP,
        f"{_PREFIX}/scheme": "internet-facing",
        # Pods have addresses of the VPC: there is no way over node ports.
        f"{_PREFIX}/target-type": "ip",
        f"{_PREFIX}/inbound-cidrs": ",".join(domain.inbound_cidrs),
        f"{_PREFIX}/listen-ports": '[{"HTTP": 80}, {"HTTPS": 443}]',
        f"{_PREFIX}/ssl-redirect": "443",
        f"{_PREFIX}/ssl-policy": _TLS_POLICY,
        f"{_PREFIX}/certificate-arn": domain.certificate_arn,
        f"{_PREFIX}/load-balancer-attributes": (
            f"idle_timeout.timeout_seconds={_IDLE_S},routing.http.drop_invalid_header_fields.enabled=true"
        ),
        f"{_PREFIX}/healthcheck-path": health_path,
    }


def encrypted_to_the_pod() -> dict[str, pulumi.Input[str]]:
    """What is added for an application whose pods speak TLS; the load balancer takes any certificate of theirs."""
    return {f"{_PREFIX}/backend-protocol": "HTTPS", f"{_PREFIX}/healthcheck-protocol": "HTTPS"}

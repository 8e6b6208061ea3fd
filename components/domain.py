"""The platform's domain as the layers hand it on."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class Domain:
    """A domain below which applications have their hosts."""

    name: str
    """Such as `ml.example.com`."""
    zone_id: str
    """The public Route 53 zone that its records are in."""
    certificate_arn: pulumi.Output[str]
    """The certificate for all hosts directly below it, once it is issued."""
    inbound_cidrs: Sequence[str]
    """Address ranges that reach the load balancer."""

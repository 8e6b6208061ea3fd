"""The platform's domain: the certificate for every host below it."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.domain import Domain

_TTL_S = 300
"""Seconds that resolvers keep the proof."""


class DomainSettings(TypedDict):
    """The domain as a stack has it: all of it, or nothing."""

    name: str | None
    """Such as `ml.example.com`; None for no domain."""
    zone_id: str | None
    """The public Route 53 zone that it lies in, made by somebody else."""
    inbound_cidrs: Sequence[str]
    """Address ranges that reach the load balancer."""


class DomainArgs(TypedDict):
    """What a domain needs."""

    name: str
    """Such as `ml.example.com`."""
    zone_id: str
    """The public Route 53 zone that it lies in."""
    inbound_cidrs: Sequence[str]
    """Address ranges that reach the load balancer."""


def make_domain(settings: DomainSettings, opts: pulumi.ResourceOptions) -> Domain | None:
    """Makes the domain that a stack asks for, None where it has none.

    Args:
        settings: the domain.
        opts: carries the AWS provider.
    """
    if settings["name"] is None or settings["zone_id"] is None:
        return None
    args = DomainArgs(name=settings["name"], zone_id=settings["zone_id"], inbound_cidrs=settings["inbound_cidrs"])
    return PlatformDomain("domain", args, opts).domain


class PlatformDomain(pulumi.ComponentResource):
    """A certificate for the domain and all hosts directly below it, which AWS renews as long as its proof stands."""

    domain: Domain
    """The domain, whose certificate is there once it is issued."""

    def __init__(self, name: str, args: DomainArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:PlatformDomain", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        certificate = aws.acm.Certificate(
            name,
            domain_name=f"*.{args['name']}",
            subject_alternative_names=[args["name"]],
            validation_method="DNS",
            # The load balancer holds the old one until it has the new one, and AWS deletes none that is held.
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(delete_before_replace=False)),
        )
        # One proof serves both names: for a wildcard ACM asks for the record of what the wildcard stands before.
        proof = certificate.domain_validation_options[0]
        record = aws.route53.Record(
            f"{name}-proof",
            zone_id=args["zone_id"],
            name=proof.resource_record_name,
            type=proof.resource_record_type,
            records=[proof.resource_record_value],
            ttl=_TTL_S,
            # A record that is there already belongs to another certificate of the account for this name. Taken over,
            # it would vanish with this stack, and the other certificate would no longer be renewed.
            allow_overwrite=False,
            opts=child,
        )
        validation = aws.acm.CertificateValidation(
            name, certificate_arn=certificate.arn, validation_record_fqdns=[record.fqdn], opts=child
        )
        self.domain = Domain(
            name=args["name"],
            zone_id=args["zone_id"],
            certificate_arn=validation.certificate_arn,
            inbound_cidrs=args["inbound_cidrs"],
        )
        self.register_outputs({})

"""Every type of resource that the local cloud knows. Another one is another declaration in its service's module."""

from collections.abc import Iterator

from localcloud import kubernetes, random
from localcloud.aws import (
    acm,
    cloudwatch,
    cognito,
    ec2,
    ecr,
    eks,
    eks_addons,
    eks_nodes,
    elasticache,
    endpoints,
    file_systems,
    gateways,
    iam,
    instances,
    kms,
    load_balancers,
    network_interfaces,
    rds,
    route53,
    running_instances,
    s3,
    secretsmanager,
    security_groups,
    sqs,
    volumes,
)
from localcloud.resource_type import Failure, Identity, ResourceType

__all__ = ["Failure", "Identity", "ResourceType", "all_types", "find"]

_MODULES = (
    *(ec2, gateways, security_groups, instances, running_instances, endpoints, eks, eks_nodes, eks_addons),
    *(iam, kms, s3, sqs, ecr, secretsmanager, cloudwatch, kubernetes, random),
    *(network_interfaces, load_balancers, volumes, file_systems, acm, cognito, route53, rds, elasticache),
)
_TYPES = {declared.token: declared for module in _MODULES for declared in module.TYPES}


def find(token: str) -> ResourceType | None:
    """Returns the declaration of a type, None for an unknown one; any Kubernetes kind is known."""
    return _TYPES.get(token) or kubernetes.object_type(token)


def all_types() -> Iterator[ResourceType]:
    """Yields every declaration; Kubernetes' own kinds are declared as they are asked for."""
    yield from _TYPES.values()

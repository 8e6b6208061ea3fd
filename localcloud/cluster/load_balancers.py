"""Stands in for the AWS Load Balancer Controller: gives Services and Ingresses balancers, and takes them down again."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from localcloud.authorization import mentions
from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.gateways import ASSOCIATION, ROUTE
from localcloud.aws.iam import policies_of
from localcloud.aws.load_balancers import LOAD_BALANCER, add_interfaces
from localcloud.catalog import find
from localcloud.cluster.balancers import (
    GROUP_FINALIZER,
    INGRESS_CONTROLLER,
    INGRESS_FINALIZER,
    SERVICE_CLASS,
    SERVICE_FINALIZER,
    BuildFailed,
    Front,
    ingress_front,
    is_served_service,
    service_front,
    stack_of,
    subnets_for,
)
from localcloud.cluster.events import warn
from localcloud.cluster.kinds import INGRESS, INGRESS_CLASS, INGRESS_CLASS_PARAMS, SERVICE
from localcloud.cluster.pods import can_run
from localcloud.cluster.releases import controller_role, values_of
from localcloud.cluster.view import Object, View, is_going
from localcloud.errors import AwsError
from localcloud.record import Record

CHART = "aws-load-balancer-controller"

_CLUSTER_TAG = "elbv2.k8s.aws/cluster"
_STACK_TAGS = {SERVICE: "service.k8s.aws/stack", INGRESS: "ingress.k8s.aws/stack"}
_RIGHTS = ("elasticloadbalancing:CreateLoadBalancer", "ec2:CreateSecurityGroup", "ec2:DescribeSubnets")


class _Asked(NamedTuple):
    """An object and the balancer that it asks for."""

    item: Object
    front: Front


def load_balancers(view: View) -> None:
    """Makes and removes balancers, while the controller's release is installed and has a node to run on."""
    release = view.release(CHART)
    if release is None or not can_run(view):
        return
    for kind, asked in ((SERVICE, [*_services(view, release)]), (INGRESS, [*_ingresses(view)])):
        _set_up(view, release, kind, asked)
        _take_down(view, kind, asked)


def _services(view: View, release: Object) -> Iterator[_Asked]:
    values = values_of(release)
    own_class = values.get("loadBalancerClass") or SERVICE_CLASS
    # The real webhook gives new Services the class; nothing here does, so the release's age stands for it.
    is_mutating = values.get("enableServiceMutatorWebhook", True)
    since = release["metadata"]["creationTimestamp"] if is_mutating else None
    for service in view.all(SERVICE):
        if is_served_service(service, own_class, since):
            yield _Asked(service, service_front(service, view.cluster.id))


def _ingresses(view: View) -> Iterator[_Asked]:
    for ingress in view.all(INGRESS):
        ingress_class = view.find(INGRESS_CLASS, ingress["spec"].get("ingressClassName") or "")
        if ingress_class and ingress_class["spec"]["controller"] == INGRESS_CONTROLLER and not is_going(ingress):
            name = (ingress_class["spec"].get("parameters") or {}).get("name", "")
            parameters = view.find(INGRESS_CLASS_PARAMS, name) or {}
            yield _Asked(ingress, ingress_front(ingress, parameters.get("spec") or {}, view.cluster.id))


def _set_up(view: View, release: Object, kind: Any, asked: list[_Asked]) -> None:
    for stack in dict.fromkeys(one.front.stack for one in asked):
        members = [one for one in asked if one.front.stack == stack]
        unheld = [one for one in members if one.front.finalizer not in _finalizers(one.item)]
        for one in unheld:
            view.hold(kind, one.item, one.front.finalizer)
        if unheld:
            # Nothing is made before the next look shows that it will also be taken down.
            continue
        try:
            balancer = _balancer(view, release, kind, members[0].front)
        except (BuildFailed, AwsError) as failure:
            step = "build" if isinstance(failure, BuildFailed) else "deploy"
            for one in members:
                reason = f"Failed{step.capitalize()}Model"
                warn(view, kind, one.item, reason, f"Failed {step} model due to {failure}", _source(kind))
            continue
        for one in members:
            _publish(view, kind, one.item, [{"hostname": balancer["dnsName"]}])


def _take_down(view: View, kind: Any, asked: list[_Asked]) -> None:
    wanted = {one.item["metadata"]["uid"]: one.front for one in asked}
    stacks = {one.front.stack for one in asked}
    for item in view.all(kind):
        front = wanted.get(item["metadata"]["uid"])
        for finalizer in filter(_is_own, _finalizers(item)):
            if front is not None and front.finalizer == finalizer:
                continue
            stack = stack_of(item, finalizer)
            try:
                if stack not in stacks:
                    _remove(view, kind, stack)
            except AwsError as error:
                warn(view, kind, item, "FailedDeployModel", f"Failed deploy model due to {error}", _source(kind))
                continue
            if front is None and not is_going(item):
                _publish(view, kind, item, None)
            view.let_go(kind, item, finalizer)


def _balancer(view: View, release: Object, kind: Any, front: Front) -> Record:
    """The balancer of a stack, made if need be; one of another name, for another scheme, goes.

    Raises:
        BuildFailed: what is asked for cannot be made.
        AwsError: AWS refuses it.
    """
    vpc_id = values_of(release).get("vpcId")
    if not vpc_id:
        raise BuildFailed(
            "failed to get VPC ID: the controller asks instance metadata, which pods do not reach with hop limit 1. "
            f"Set vpcId and region in the values of {CHART}"
        )
    _may_make_balancers(view, release)
    account, cluster = view.account, view.cluster.id
    candidates = [*account.find(SUBNET, vpcId=vpc_id)]
    subnets = subnets_for(front, candidates, cluster, lambda subnet_id: _is_public(view, subnet_id))
    for other in _made(view, LOAD_BALANCER, kind, front.stack):
        if other["name"] != front.name:
            account.delete(LOAD_BALANCER, other.id, view.identity)
    tags = {_CLUSTER_TAG: cluster, _STACK_TAGS[kind]: front.stack}
    groups = _made(view, SECURITY_GROUP, kind, front.stack) or [
        _create(
            view,
            SECURITY_GROUP,
            name=front.name,
            vpcId=vpc_id,
            description="[k8s] Managed SecurityGroup for LoadBalancer",
            tags=tags,
        )
    ]
    balancers = _made(view, LOAD_BALANCER, kind, front.stack) or [
        _create(
            view,
            LOAD_BALANCER,
            name=front.name,
            internal=front.is_internal,
            loadBalancerType=front.kind,
            subnets=[subnet.id for subnet in subnets],
            securityGroups=[groups[0].id],
            tags=tags,
        )
    ]
    add_interfaces(account, balancers[0], view.identity)
    return balancers[0]


def _may_make_balancers(view: View, release: Object) -> None:
    role = controller_role(view, release, CHART)
    if role is None:
        raise AwsError("NoCredentials", f"{CHART} has no role: make a Pod Identity association for its service account")
    policies = policies_of(view.account, role)
    for right in _RIGHTS:
        if not mentions(policies, right):
            raise AwsError("AccessDenied", f"role {role.id} is not authorized to perform {right}")


def _create(view: View, token: str, **inputs: Any) -> Record:
    declared = find(token)
    assert declared is not None, f"{token} is declared"
    _, failures = declared.check(inputs, inputs["name"], None, view.identity)
    if failures:
        raise AwsError("ValidationError", "; ".join(failure.reason for failure in failures))
    made_id, _ = view.account.create(token, inputs["name"], inputs, view.identity)
    made = view.account.get(token, made_id, view.identity)
    assert made is not None, "it was made a moment ago"
    return made


def _remove(view: View, kind: Any, stack: str) -> None:
    """Deletes the balancer of a stack, its interfaces along with it, and then its group.

    Raises:
        AwsError: something else holds on to them.
    """
    for token in (LOAD_BALANCER, SECURITY_GROUP):
        for record in _made(view, token, kind, stack):
            view.account.delete(token, record.id, view.identity)


def _made(view: View, token: str, kind: Any, stack: str) -> list[Record]:
    """What the controller has made for a stack, told by its tags."""
    wanted = {_CLUSTER_TAG: view.cluster.id, _STACK_TAGS[kind]: stack}
    return [record for record in view.account.find(token) if wanted.items() <= (record["tags"] or {}).items()]


def _publish(view: View, kind: Any, item: Object, addresses: list[Mapping[str, str]] | None) -> None:
    """Writes the addresses of an object into its status, None to take them out."""
    status = item.get("status") or {}
    if (status.get("loadBalancer") or {}).get("ingress") != addresses:
        view.patch(kind, item, {"status": {"loadBalancer": {"ingress": addresses}}}, status=True)


def _is_public(view: View, subnet_id: str) -> bool:
    associations = view.account.find(ASSOCIATION, subnetId=subnet_id)
    tables = [association["routeTableId"] for association in associations]
    return any(route["gatewayId"] for table in tables for route in view.account.find(ROUTE, routeTableId=table))


def _finalizers(item: Object) -> list[str]:
    return item["metadata"].get("finalizers") or []


def _is_own(finalizer: str) -> bool:
    return finalizer in (SERVICE_FINALIZER, INGRESS_FINALIZER) or finalizer.startswith(GROUP_FINALIZER)


def _source(kind: Any) -> str:
    return "service" if kind is SERVICE else "ingress"

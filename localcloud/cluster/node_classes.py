"""EC2NodeClass: what Karpenter finds in the account for the instances of a pool, and whether they could start."""

from collections.abc import Iterable, Mapping
from typing import Any

from localcloud.account import Account
from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.iam import INSTANCE_PROFILE
from localcloud.cluster.conditions import Condition, lacking, ready
from localcloud.cluster.view import Object
from localcloud.karpenter import NODE_CLASS, volume_refusal
from localcloud.record import Record
from localcloud.templates import Draws

_ARCHITECTURES = ("amd64", "arm64")


def as_record(node_class: Object, endpoint: str) -> Record:
    """Returns an EC2NodeClass of a cluster as the account would hold it, for rules that both depths share."""
    name = node_class["metadata"]["name"]
    return Record(NODE_CLASS, endpoint, name, name, {}, dict(node_class), seed="")


def found(account: Account, node_class: Object) -> dict[str, Any]:
    """Returns what an EC2NodeClass selects: subnets, groups, images and instance profile of its status."""
    spec = node_class["spec"]
    status: dict[str, Any] = {
        "subnets": [
            {"id": subnet.id, "zone": subnet["availabilityZone"]}
            for subnet in _selected(account, SUBNET, spec["subnetSelectorTerms"])
        ],
        "securityGroups": [
            {"id": group.id, "name": group["name"]}
            for group in _selected(account, SECURITY_GROUP, spec["securityGroupSelectorTerms"])
        ],
        "amis": [*_images(spec["amiSelectorTerms"])],
    }
    profile = next(account.find(INSTANCE_PROFILE, name=spec.get("instanceProfile", "")), None)
    return {**status, "instanceProfile": profile["name"] if profile else None}


def judged(account: Account, role: Record, node_class: Object, status: Mapping[str, Any]) -> list[Condition]:
    """Returns the conditions of an EC2NodeClass, `Ready` the last.

    Args:
        account: the account that it refers to.
        role: the controller's role, which starts instances.
        node_class: the EC2NodeClass.
        status: what it selects; see `found`.
    """
    spec = node_class["spec"]
    terms, groups = _words(spec["subnetSelectorTerms"]), _words(spec["securityGroupSelectorTerms"])
    conditions = [
        Condition("SubnetsReady")
        if status["subnets"]
        else lacking("SubnetsReady", "SubnetsNotFound", f"no subnet of the account has {terms}"),
        Condition("SecurityGroupsReady")
        if status["securityGroups"]
        else lacking("SecurityGroupsReady", "SecurityGroupsNotFound", f"no security group of the account has {groups}"),
        Condition("AMIsReady"),
        _profile_condition(spec, status),
        _keys_condition(account, role, node_class),
    ]
    return [*conditions, ready(conditions)]


def _profile_condition(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Condition:
    if status["instanceProfile"]:
        return Condition("InstanceProfileReady")
    if "role" in spec:
        message = f"the local cloud makes no profile for role {spec['role']}: name one by spec.instanceProfile"
    else:
        message = f"there is no instance profile {spec['instanceProfile']}"
    return lacking("InstanceProfileReady", "InstanceProfileNotFound", message)


def _keys_condition(account: Account, role: Record, node_class: Object) -> Condition:
    if reason := volume_refusal(account, role, as_record(node_class, "")):
        return lacking("ValidationSucceeded", "KeyNotUsable", f"no instance would start: {reason}")
    return Condition("ValidationSucceeded")


def _selected(account: Account, token: str, terms: Iterable[Mapping[str, Any]]) -> list[Record]:
    chosen = {record.id: record for term in terms for record in account.find(token) if _has(record, term)}
    return sorted(chosen.values(), key=lambda record: record.id)


def _has(record: Record, term: Mapping[str, Any]) -> bool:
    tags: Mapping[str, str] = record["tagsAll"] or {}
    wanted: Mapping[str, str] = term.get("tags") or {}
    tagged = all(key in tags and value in ("*", tags[key]) for key, value in wanted.items())
    return tagged and term.get("id") in (None, record.id) and term.get("name") in (None, record["name"])


def _images(terms: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    for term in terms:
        for architecture in _ARCHITECTURES:
            named = _words([term])
            yield {
                "id": term.get("id") or f"ami-{Draws(f'{named} {architecture}').field('hex17', '')}",
                "name": f"{named} for {architecture}",
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": [architecture]}],
            }


def _words(terms: Iterable[Mapping[str, Any]]) -> str:
    return " or ".join(", ".join(f"{key} {value}" for key, value in term.items()) for term in terms)

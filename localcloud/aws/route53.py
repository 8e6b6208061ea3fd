"""Route 53: records.

Zones are not made here: a zone is delegated by whoever has the domain above it, so a program names one that was there
beforehand. Nothing tells its name, and any id of the right form is taken for one whose name fits.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from localcloud.checks import at_most_one, between, matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, Failure, Identity, Properties, ResourceType, Scope
from localcloud.templates import Draws
from localcloud.values import UNKNOWN, contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

RECORD = "aws:route53/record:Record"

_TYPES = (
    *("A", "AAAA", "CAA", "CNAME", "DS", "HTTPS", "MX", "NAPTR", "NS", "PTR"),
    *("SOA", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT"),
)
_POLICIES = (
    *("cidrRoutingPolicy", "failoverRoutingPolicies", "geolocationRoutingPolicies", "geoproximityRoutingPolicy"),
    *("latencyRoutingPolicies", "multivalueAnswerRoutingPolicy", "weightedRoutingPolicies"),
)


def absolute(name: str) -> str:
    """A domain name as it is compared: in lower case, without the dot at its end."""
    return name.removesuffix(".").lower()


def _fqdn(properties: Properties, _: Draws) -> Any:
    name = properties["name"]
    return UNKNOWN if contains_unknown(name) else absolute(name)


def _lives_as_long_as_told(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "records" in inputs and "ttl" not in inputs:
        yield Failure("ttl", "InvalidInput: records need a ttl")
    if "aliases" in inputs and "ttl" in inputs:
        yield Failure("ttl", "InvalidInput: an alias has the ttl of its target")


def _is_told_from_others(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if any(policy in inputs for policy in _POLICIES) and "setIdentifier" not in inputs:
        yield Failure("setIdentifier", "InvalidInput: a record with a routing policy needs a set identifier")


def _leads_to_one(inputs: Properties, _: Identity) -> Iterator[Failure]:
    records = inputs.get("records")
    if inputs.get("type") == "CNAME" and isinstance(records, list) and len(records) > 1:
        yield Failure("records", f"InvalidChangeBatch: a CNAME leads to one name, got {len(records)}")


def _is_not_there_yet(account: "Account", record: "Record") -> None:
    fqdn, kind = record["fqdn"], record["type"]
    for other in account.find(RECORD, zoneId=record["zoneId"], fqdn=fqdn):
        if other.id == record.id:
            continue
        if "CNAME" in (kind, other["type"]) and kind != other["type"]:
            raise AwsError(
                "InvalidChangeBatch",
                f"RRSet of type {kind} with DNS name {fqdn}. is not permitted as it conflicts with other records "
                f"with the same DNS name in zone {record['zoneId']}",
            )
        same = kind == other["type"] and record["setIdentifier"] == other["setIdentifier"]
        if same and not record["allowOverwrite"]:
            raise AwsError(
                "InvalidChangeBatch",
                f"tried to create resource record set [name='{fqdn}.', type='{kind}'] but it already exists",
            )


TYPES = (
    ResourceType(
        RECORD,
        # The provider's id ends after the type. With overwriting allowed one record can be two resources, whose ids
        # would be one.
        id="{zoneId}_{name}_{type}_{hex8}",
        outputs={"fqdn": _fqdn},
        defaults={"allowOverwrite": False},
        required=("zoneId", "name", "type", "records|aliases"),
        replaces=("zoneId", "name"),
        unordered=("records",),
        checks=(
            matches("zoneId", r"(/hostedzone/)?Z[A-Z0-9]{1,31}", "the id of a hosted zone"),
            one_of("type", _TYPES),
            between("ttl", 0, 2147483647),
            at_most_one(*_POLICIES),
            _lives_as_long_as_told,
            _is_told_from_others,
            _leads_to_one,
        ),
        api=Api(
            "route53",
            "ResourceRecordSet",
            {
                "records": "ResourceRecords",
                "aliases": "AliasTarget",
                "aliases.name": "DNSName",
                "aliases.zoneId": "HostedZoneId",
                **dict.fromkeys(("zoneId", "allowOverwrite", *_POLICIES), ""),
            },
        ),
        admits=(_is_not_there_yet,),
        scope=Scope.ACCOUNT,
    ),
)

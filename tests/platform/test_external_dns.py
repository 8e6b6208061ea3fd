"""Which records external-dns keeps, and which it may."""

from pathlib import Path

import pulumi
import pytest

from components.domain import Domain
from components.platform.catalog import CHARTS
from components.platform.external_dns import values
from components.policy_document import from_file
from components.release import read_chart
from localcloud.authorization import Request, grants
from localcloud.policy_document import name_faults
from tests.world import run

ZONE, DOMAIN = "Z0123456789ABCDEFGHIJ", "ml.example.com"
OTHER = "Z0000000000000000000"
PLACES = {
    "partition": "aws",
    "region": "us-west-2",
    "dns_suffix": "amazonaws.com",
    "account_id": "111122223333",
    "cluster_name": "eksai-dev",
    "zone_id": ZONE,
    "domain": DOMAIN,
}
CHANGE = "route53:ChangeResourceRecordSets"


@pytest.fixture(scope="module")
def policy() -> str:
    path = Path(__file__).parents[2] / "components" / "platform" / "policies" / "external_dns.json"
    found = run(lambda: from_file(path, PLACES))
    return found.value(found.result)


def may(policy: str, action: str, zone: str = ZONE, name: str = "", kind: str = "A") -> bool:
    context = {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": name,
        "route53:ChangeResourceRecordSetsRecordTypes": kind,
    }
    resource = "*" if zone == "*" else f"arn:aws:route53:::hostedzone/{zone}"
    return grants([policy], Request(action, resource, context=context if name else {}))


@pytest.mark.parametrize("kind", ["A", "AAAA", "CNAME", "TXT"])
def test_it_writes_the_records_of_hosts_and_of_their_owner(policy: str, kind: str):
    assert may(policy, CHANGE, name=f"jupyter.{DOMAIN}", kind=kind)


@pytest.mark.parametrize(
    ("zone", "name", "kind"),
    [
        (ZONE, "example.com", "A"),
        (ZONE, DOMAIN, "A"),
        (ZONE, "www.example.com", "A"),
        (ZONE, "evil-ml.example.com", "A"),
        (ZONE, f"jupyter.{DOMAIN}", "MX"),
        (ZONE, f"sub.{DOMAIN}", "NS"),
        (OTHER, f"jupyter.{DOMAIN}", "A"),
    ],
)
def test_it_writes_nothing_else_in_a_zone_that_it_may_share_with_others(policy: str, zone: str, name: str, kind: str):
    assert not may(policy, CHANGE, zone, name, kind)


def test_it_reads_its_zone_and_finds_it(policy: str):
    assert may(policy, "route53:ListResourceRecordSets")
    assert not may(policy, "route53:ListResourceRecordSets", OTHER)
    assert may(policy, "route53:ListHostedZones", "*")
    assert list(name_faults(policy)) == []


def test_it_keeps_records_below_the_domain_in_the_one_zone_whatever_that_zones_name():
    found = run(lambda: values(Domain(DOMAIN, ZONE, pulumi.Output.from_input("arn"), ["203.0.113.0/24"])))
    assert found.result == {
        "domainFilters": [DOMAIN],
        "extraArgs": {"zone-id-filter": ZONE, "aws-zone-match-parent": True},
    }


def test_a_host_that_is_gone_has_no_record_and_nobody_elses_record_is_touched():
    chart = read_chart(CHARTS["external-dns"]).values
    assert chart["policy"] == "sync", "a record that stays leads to whoever gets the address next"
    assert (chart["registry"], chart["txtOwnerId"]) == ("txt", "${cluster_name}")
    assert chart["sources"] == ["ingress"]

"""What a stack may say of its domain."""

import inspect
from typing import Any

import pytest
from pydantic import ValidationError

from schema.base import Network
from schema.domain import RULES, Domain, a_load_balancer_has_subnets
from schema.platform import PlatformChart
from schema.problems import Problem, explain_all

GIVEN: dict[str, Any] = {
    "name": "ml.example.com",
    "zoneId": "Z0123456789ABCDEFGHIJ",
    "inboundCidrs": ["203.0.113.0/24"],
}
OWN = GIVEN | {"name": "ml.acme.dev", "inboundCidrs": ["8.8.8.0/24"]}
CHARTS = ("aws-load-balancer-controller", "external-dns")


def refusals(**changed: Any) -> list[Problem]:
    given = {key: value for key, value in {**GIVEN, **changed}.items() if value is not ...}
    try:
        Domain.model_validate(given)
    except ValidationError as error:
        return explain_all("eksai:domain", Domain, error.errors())
    return []


def told(domain: Domain, charts: tuple[str, ...] = CHARTS, *, local: bool = True) -> list[str]:
    """Keys of the problems that the rules between sections find."""
    given: dict[str, Any] = {
        "domain": domain,
        "platform": {chart: PlatformChart() for chart in charts},
        "network": Network.model_validate({"availabilityZones": ["us-west-2a", "us-west-2b"]}),
        "local": local,
    }
    wanted = [(rule, list(inspect.signature(rule).parameters)) for rule in RULES]
    return [problem.key for rule, names in wanted for problem in rule(**{name: given[name] for name in names})]


def test_a_stack_has_no_domain_unless_it_names_one():
    assert Domain().model_dump() == {"name": None, "zone_id": None, "inbound_cidrs": ()}
    assert refusals() == []


@pytest.mark.parametrize("missing", ["name", "zoneId", "inboundCidrs"])
def test_half_a_domain_is_refused(missing: str):
    (problem,) = refusals(**{missing: ...})
    assert problem.rule == "a domain is name, zoneId and inboundCidrs together"


@pytest.mark.parametrize(
    "name", ["ml.Example.com", "ml.example.com.", "localhost", "-a.example.com", "a_b.example.com", "*.example.com",
             "a..example.com", "ml.example.1", "a" * 51 + ".example.com", ""],
)  # fmt: skip
def test_a_name_that_no_certificate_is_made_for_is_refused(name: str):
    (problem,) = refusals(name=name)
    assert problem.key == "eksai:domain.name"


def test_the_longest_name_is_one_whose_wildcard_fits_a_certificate():
    name = "a" * 50 + ".example.com"
    assert len(f"*.{name}") == 64
    assert refusals(name=name) == []


@pytest.mark.parametrize("zone_id", ["/hostedzone/Z0123456789ABCDEFGHIJ", "z0123456789ABCDEFGHIJ", "Z1", "example.com"])
def test_what_is_no_zones_id_is_refused(zone_id: str):
    (problem,) = refusals(zoneId=zone_id)
    assert problem.key == "eksai:domain.zoneId"


@pytest.mark.parametrize(
    ("cidr", "rule"),
    [
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "private"),
        ("127.0.0.1/32", "private"),
        ("8.8.8.8", "with its prefix"),
        ("8.8.8.8/24", "with its prefix"),
        ("0.0.0.0/1", "no organisation"),
        ("2001:db8::/32", "with its prefix"),
    ],
)
def test_a_range_that_never_reaches_the_load_balancer_or_hides_everybody_is_refused(cidr: str, rule: str):
    (problem,) = refusals(inboundCidrs=[cidr])
    assert problem.key == "eksai:domain.inboundCidrs[0]"
    assert rule in problem.rule


def test_everybody_may_be_let_in_by_name():
    assert refusals(inboundCidrs=["0.0.0.0/0"]) == []


def test_a_range_is_listed_once():
    (problem,) = refusals(inboundCidrs=["203.0.113.0/24", "203.0.113.0/24"])
    assert "twice" in problem.rule


@pytest.mark.parametrize("missing", CHARTS)
def test_a_domain_needs_the_charts_that_serve_it(missing: str):
    domain = Domain.model_validate(GIVEN)
    assert told(domain) == []
    assert told(domain, tuple(chart for chart in CHARTS if chart != missing)) == ["eksai:domain"]


def test_a_chart_that_is_switched_off_serves_nothing():
    platform = {chart: PlatformChart(enabled=chart != "external-dns") for chart in CHARTS}
    (problem,) = RULES[0](Domain.model_validate(GIVEN), platform)  # pyright: ignore[reportArgumentType]
    assert problem.fix == "add external-dns: {} to eksai:platform"


def test_external_dns_needs_a_domain():
    assert told(Domain()) == ["eksai:platform.external-dns"]
    assert told(Domain(), CHARTS[:1]) == []


def test_what_is_reserved_for_documentation_stays_on_the_local_cloud():
    assert told(Domain.model_validate(GIVEN)) == []
    assert told(Domain.model_validate(GIVEN), local=False) == ["eksai:domain.name", "eksai:domain.inboundCidrs[0]"]
    assert told(Domain.model_validate(OWN), local=False) == []
    assert told(Domain.model_validate(OWN | {"name": "notexample.com"}), local=False) == []
    assert told(Domain(), CHARTS[:1], local=False) == []


def test_a_network_of_ones_own_has_public_subnets_for_the_load_balancer():
    zones = {"us-west-2a": "subnet-0a1b2c3d", "us-west-2b": "subnet-1a1b2c3d"}
    existing = {"vpcId": "vpc-0a1b2c3d", "privateSubnetIds": zones}
    domain = Domain.model_validate(GIVEN)

    def told_of(network: dict[str, object]) -> list[Problem]:
        return list(a_load_balancer_has_subnets(domain, Network.model_validate(network)))

    (problem,) = told_of({"availabilityZones": list(zones), "existing": existing})
    assert problem.key == "eksai:network.existing.publicSubnetIds"
    assert told_of({"availabilityZones": list(zones), "existing": {**existing, "publicSubnetIds": zones}}) == []
    assert told_of({"availabilityZones": list(zones)}) == []

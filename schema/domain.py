"""Settings of the domain."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from schema.base import Network
from schema.fields import DOCUMENTATION_NETWORKS, Section, matches, public_range, refuse
from schema.platform import PlatformChart, is_installed
from schema.problems import NAMESPACE, Problem

DOCUMENTATION_DOMAINS = ("example.com", "example.net", "example.org")
"""Domains reserved for documentation (RFC 2606)."""

EVERYBODY = "0.0.0.0/0"

_WIDEST_INBOUND = 8
"""Prefix of the widest range that anybody was ever given; what is wider stands for everybody in disguise."""

MOST_INBOUND = 30
"""Most ranges that reach a load balancer: the controller makes a rule of each for two ports, and a security group has
sixty (AWS's quota)."""

_NEEDED_CHARTS = ("aws-load-balancer-controller", "external-dns")

DomainName = Annotated[
    str,
    matches(
        # With the wildcard's two characters, AWS takes 64 as the first name of a certificate.
        r"(?=.{1,62}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
        "a domain has at least two labels of lower-case letters, digits and hyphens, 62 characters at most",
        "for example ml.example.com, without a dot at the end",
    ),
]
ZoneId = Annotated[
    str,
    matches(
        r"Z[A-Z0-9]{8,31}",
        "a hosted zone's id looks like Z0123456789ABCDEFGHIJ",
        "aws route53 list-hosted-zones prints them; leave /hostedzone/ out",
    ),
]


def check_inbound_cidr(value: str) -> str:
    """Checks a range that a public load balancer is reached from; everybody is a range too, but never the default."""
    if value == EVERYBODY:
        return value
    return public_range(
        value,
        widest=_WIDEST_INBOUND,
        too_wide=refuse(
            f"no organisation has more than a /{_WIDEST_INBOUND}", f"write {EVERYBODY} if you mean everybody"
        ),
        private=refuse(
            "a private or reserved range never reaches a public load balancer",
            "give the public addresses that your people go out with",
        ),
    )


InboundCidr = Annotated[str, AfterValidator(check_inbound_cidr)]


class Domain(Section):
    """The domain below which applications have their hosts; left out: they are forwarded to the own machine."""

    name: DomainName | None = None
    """Such as ml.example.com; each application has a host directly below it."""
    zone_id: ZoneId | None = None
    """The public Route 53 zone that the domain lies in, in this account."""
    inbound_cidrs: Annotated[tuple[InboundCidr, ...], Field(max_length=MOST_INBOUND)] = ()
    """Public IPv4 ranges that reach the applications; 0.0.0.0/0 for everybody."""

    @model_validator(mode="after")
    def _is_complete_or_absent(self) -> "Domain":
        given = [bool(self.name), bool(self.zone_id), bool(self.inbound_cidrs)]
        if any(given) and not all(given):
            raise refuse("a domain is name, zoneId and inboundCidrs together", "give all three, or none")
        if len(set(self.inbound_cidrs)) < len(self.inbound_cidrs):
            raise refuse("inboundCidrs lists an entry twice", "keep one of them")
        return self


def a_domain_has_what_serves_it(domain: Domain, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """With a domain there are a load balancer and records for its hosts."""
    for chart in _NEEDED_CHARTS:
        if domain.name is not None and not is_installed(chart, platform):
            yield Problem(
                f"{NAMESPACE}:domain",
                domain.name,
                f"without {chart} no host below it is reached",
                f"add {chart}: {{}} to {NAMESPACE}:platform",
            )


def a_load_balancer_has_subnets(domain: Domain, network: Network) -> Iterator[Problem]:
    """The load balancer that the Internet reaches lies in public subnets."""
    if domain.name is not None and network.existing is not None and not network.existing.public_subnet_ids:
        yield Problem(
            f"{NAMESPACE}:network.existing.publicSubnetIds",
            "{}",
            "below a domain applications are reached through a public load balancer, which lies in public subnets",
            f"name a public subnet in each zone, or leave {NAMESPACE}:domain out",
        )


def records_are_kept_for_a_domain_only(domain: Domain, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """external-dns may write to one zone, and without a domain there is none."""
    if domain.name is None and is_installed("external-dns", platform):
        yield Problem(
            f"{NAMESPACE}:platform.external-dns",
            "",
            "it writes the records of eksai:domain, and there is no domain",
            "set eksai:domain, or remove the chart",
        )


def documentation_domains_stay_local(domain: Domain, local: bool) -> Iterator[Problem]:
    """What documentation uses belongs to nobody."""
    if local or domain.name is None:
        return
    yield from documentation_host(f"{NAMESPACE}:domain.name", domain.name, "put in a domain of yours")
    yield from documentation_ranges(f"{NAMESPACE}:domain.inboundCidrs", domain.inbound_cidrs)


def documentation_host(key: str, name: str, fix: str) -> Iterator[Problem]:
    """What is wrong with a host or domain of documentation where others are to find it.

    Args:
        key: its key in the stack file.
        name: the host or domain.
        fix: the way out.
    """
    if any(f".{name}".endswith(f".{known}") for known in DOCUMENTATION_DOMAINS):
        yield Problem(key, name, "a documentation domain works on the local cloud only", fix)


def documentation_ranges(key: str, ranges: Sequence[str]) -> Iterator[Problem]:
    """What is wrong with ranges of documentation among those that reach a load balancer.

    Args:
        key: the key of their list in the stack file.
        ranges: the ranges.
    """
    for index, cidr in enumerate(ranges):
        if any(IPv4Network(cidr).subnet_of(known) for known in DOCUMENTATION_NETWORKS):
            rule = "a documentation range works on the local cloud only"
            yield Problem(f"{key}[{index}]", cidr, rule, "put in the public addresses that your people go out with")


RULES = (
    a_domain_has_what_serves_it,
    a_load_balancer_has_subnets,
    records_are_kept_for_a_domain_only,
    documentation_domains_stay_local,
)
"""Rules between the domain and other sections; each names the sections that it needs as its parameters."""

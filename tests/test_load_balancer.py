"""How Ingresses are published."""

import json

import pulumi

from components.domain import Domain
from components.load_balancer import platform_balancer
from tests.world import run

PREFIX = "alb.ingress.kubernetes.io/"
CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/1"


def annotations(health_path: str = "/") -> dict[str, str]:
    def build() -> dict[str, pulumi.Input[str]]:
        domain = Domain(
            "ml.example.com", "Z1", pulumi.Output.from_input(CERTIFICATE), ("198.51.100.0/24", "203.0.113.7/32")
        )
        return platform_balancer(domain).annotations(health_path)

    built = run(build)
    return {key.removeprefix(PREFIX): built.value(value) for key, value in built.result.items()}


def test_only_the_given_addresses_reach_it():
    assert annotations()["inbound-cidrs"] == "198.51.100.0/24,203.0.113.7/32"


def test_nobody_stays_on_plain_http():
    found = annotations()
    assert {"HTTPS": 443} in json.loads(found["listen-ports"])
    assert found["ssl-redirect"] == "443"
    assert found["certificate-arn"] == CERTIFICATE
    assert "TLS13-1-2" in found["ssl-policy"], "TLS 1.2 at least"


def test_pods_are_reached_by_their_own_addresses():
    assert annotations()["target-type"] == "ip"


def test_all_applications_say_the_same_but_for_their_health():
    """Ingresses of one group that disagree leave the controller without any of them."""
    one, other = annotations("/hub/health"), annotations("/")
    assert {key for key in one if one[key] != other[key]} == {"healthcheck-path"}
    assert one["group.name"] == "platform"

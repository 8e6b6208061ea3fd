"""What a stack may say of sign-in."""

import pytest

from components.web_apps import WEB_APPS
from schema.domain import Domain
from schema.platform import PlatformChart
from schema.sign_in import SignIn, published_applications_sign_people_in, the_clients_secrets_are_delivered

SECRETS = {"external-secrets": PlatformChart()}


def test_nobody_signs_in_unless_a_stack_wants_it_and_then_with_a_second_factor():
    assert SignIn().model_dump() == {"enabled": False, "mfa": "required", "deletion_protection": False}


@pytest.mark.parametrize("platform", [{}, {"external-secrets": PlatformChart(enabled=False)}], ids=["none", "off"])
def test_without_external_secrets_no_application_knows_its_clients_secret(platform: dict[str, PlatformChart]):
    (problem,) = the_clients_secrets_are_delivered(SignIn(enabled=True), platform)
    assert problem.key == "eksai:signIn.enabled"
    assert list(the_clients_secrets_are_delivered(SignIn(enabled=True), SECRETS)) == []
    assert list(the_clients_secrets_are_delivered(SignIn(), platform)) == []


DOMAIN = Domain.model_validate(
    {"name": "ml.example.com", "zoneId": "Z0123456789ABCDEFGHIJ", "inboundCidrs": ["203.0.113.0/24"]}
)
HUB = PlatformChart()


def open_to_all(domain: Domain, sign_in: SignIn, **platform: PlatformChart) -> list[str]:
    return [problem.key for problem in published_applications_sign_people_in(domain, sign_in, platform)]


def test_an_application_with_a_host_signs_people_in():
    assert open_to_all(DOMAIN, SignIn(), jupyterhub=HUB) == ["eksai:signIn.enabled"]
    assert open_to_all(DOMAIN, SignIn(enabled=True), jupyterhub=HUB) == []


def test_what_nobody_reaches_from_outside_may_go_without():
    assert open_to_all(Domain(), SignIn(), jupyterhub=HUB) == []
    inside = {app.name: HUB for app in WEB_APPS.values() if not app.is_published}
    assert inside
    assert open_to_all(DOMAIN, SignIn(), **inside) == [], "they never get a host"
    assert open_to_all(DOMAIN, SignIn(), jupyterhub=PlatformChart(enabled=False)) == []

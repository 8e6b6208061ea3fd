"""Settings of sign-in."""

from collections.abc import Iterator
from typing import Literal

from components.web_apps import WEB_APPS
from schema.domain import Domain
from schema.fields import Section
from schema.platform import PlatformChart, is_installed
from schema.problems import NAMESPACE, Problem


class SignIn(Section):
    """Sign-in to the applications, by accounts of a Cognito user pool."""

    enabled: bool = False
    """Whether there is a user pool."""
    mfa: Literal["required", "optional"] = "required"
    """Whether everybody needs a one-time password from an authenticator, or only who has set one up."""
    deletion_protection: bool = False
    """Whether AWS refuses to delete the user pool, and all accounts in it, until this is turned off."""


def the_clients_secrets_are_delivered(sign_in: SignIn, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Applications get their clients' secrets from Secrets Manager, which only External Secrets reads."""
    if sign_in.enabled and not is_installed("external-secrets", platform):
        yield Problem(
            f"{NAMESPACE}:signIn.enabled",
            "true",
            "no application gets the secret of its client without external-secrets",
            f"add external-secrets: {{}} to {NAMESPACE}:platform",
        )


def published_applications_sign_people_in(
    domain: Domain, sign_in: SignIn, platform: dict[str, PlatformChart]
) -> Iterator[Problem]:
    """Below a domain nobody gets into an application without an account."""
    if domain.name is None or sign_in.enabled:
        return
    for app in WEB_APPS.values():
        if app.is_published and is_installed(app.name, platform):
            yield Problem(
                f"{NAMESPACE}:signIn.enabled",
                "false",
                f"with a domain, {app.name} is reached from outside, and there are no accounts to sign in with",
                f"set {NAMESPACE}:signIn.enabled to true, or leave {NAMESPACE}:domain out",
            )


RULES = (the_clients_secrets_are_delivered, published_applications_sign_people_in)
"""Rules between sign-in and other sections; each names the sections that it needs as its parameters."""

"""Sign-in as the layers hand it on: one user pool, one client for each application."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

USERS = "ml-engineers"
"""The group of the user pool whose members may use the applications."""
ADMINS = "platform-admins"
"""The group whose members administer them too."""
GROUPS_CLAIM = "cognito:groups"
"""The claim of Cognito's tokens that has a person's groups; the user-info endpoint does not tell it."""

CLIENT_ID, CLIENT_SECRET = "client-id", "client-secret"
"""Keys of a client's secret, in Secrets Manager (JSON) and in Kubernetes."""


@dataclass(frozen=True)
class SignInClient:
    """An application's registration with the user pool."""

    client_id: pulumi.Output[str]
    """Its id, which is no secret."""
    secret_name: pulumi.Output[str]
    """Name of the secret in Secrets Manager with `CLIENT_ID` and `CLIENT_SECRET`, once it has a value."""


@dataclass(frozen=True)
class SignIn:
    """Where people sign in."""

    issuer: pulumi.Output[str]
    """OpenID Connect issuer."""
    authorize_url: pulumi.Output[str]
    """Where a browser is sent to."""
    token_url: pulumi.Output[str]
    """Where an application turns a code into tokens."""
    userinfo_url: pulumi.Output[str]
    """Where an application asks who somebody is."""
    clients: Mapping[str, SignInClient]
    """By the application's name in `components.web_apps`."""

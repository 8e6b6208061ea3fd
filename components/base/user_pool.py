"""Where people sign in: a Cognito user pool, and a client of it for each application."""

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.generation import generation
from components.partition import partition_of
from components.readiness import once
from components.sign_in import ADMINS, CLIENT_ID, CLIENT_SECRET, USERS, SignIn, SignInClient
from components.web_apps import WEB_APPS, WebApp

_RESERVED = ("amazon", "aws", "cognito")
"""What Cognito accepts in no prefix, not even within a word."""
_LONGEST_STEM = 40
"""Characters of the cluster's name in a prefix: 63 are allowed, and nobody reads more."""


class SignInSettings(TypedDict):
    """The plain part of `UserPoolArgs`."""

    enabled: bool
    """Whether there is one."""
    mfa: Literal["required", "optional"]
    """Whether everybody has a one-time password from an authenticator, or whoever has set one up."""
    deletion_protection: bool
    """Whether AWS refuses to delete it, with all accounts in it."""


class UserPoolArgs(SignInSettings):
    """What a user pool needs."""

    region: str
    """AWS region."""
    account_id: str
    """The account."""
    cluster_name: str
    """Names follow from it."""
    key_arn: pulumi.Input[str]
    """Key that the clients' secrets are encrypted with."""
    domain: str | None
    """The platform's domain; None: applications are forwarded to localhost."""
    applications: Sequence[str]
    """Names of the applications of `components.web_apps` that a stack has."""


class UserPool(pulumi.ComponentResource):
    """A user pool whose accounts administrators make, and a client with a secret for each application.

    An application gets people through the code flow only, at one address that is known beforehand. Its secret goes to
    Secrets Manager, where External Secrets finds it.
    """

    sign_in: SignIn
    """Where people sign in, once they can."""

    def __init__(self, name: str, args: UserPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:UserPool", name, {}, opts)
        self._child = pulumi.ResourceOptions(parent=self)
        pool = self._pool(name, args)
        page = aws.cognito.UserPoolDomain(
            name,
            domain=domain_prefix(args["cluster_name"], args["account_id"]),
            user_pool_id=pool.id,
            # The newer pages show an error until each client has a branding of its own.
            managed_login_version=1,
            opts=self._child,
        )
        for group, description in ((USERS, "May use the applications"), (ADMINS, "Administer the applications")):
            aws.cognito.UserGroup(
                f"{name}-{group}",
                name=group,
                description=description,
                user_pool_id=pool.id,
                # Whoever is in it would be in none, if it went and came back.
                opts=pulumi.ResourceOptions.merge(self._child, _protection(args)),
            )
        clients: dict[str, SignInClient] = {}
        for application in args["applications"]:
            app = WEB_APPS[application]
            callback_url = app.callback_url(args["domain"])
            if callback_url is not None:
                clients[app.name] = self._client(f"{name}-{app.name}", app, callback_url, pool.id, args)
        host = pulumi.Output.concat("https://", page.domain, ".", _suffix(args["region"]))
        self.sign_in = SignIn(
            issuer=pulumi.Output.concat("https://", pool.endpoint),
            authorize_url=pulumi.Output.concat(host, "/oauth2/authorize"),
            token_url=pulumi.Output.concat(host, "/oauth2/token"),
            userinfo_url=pulumi.Output.concat(host, "/oauth2/userInfo"),
            clients=clients,
        )
        self.register_outputs({})

    def _pool(self, name: str, args: UserPoolArgs) -> aws.cognito.UserPool:
        return aws.cognito.UserPool(
            name,
            name=args["cluster_name"],
            # With everything that this needs, up to 10000 people a month cost nothing. The tier above watches for
            # stolen passwords and bills everybody; a second factor makes a stolen password worthless.
            user_pool_tier="ESSENTIALS",
            username_attributes=["email"],
            username_configuration={"case_sensitive": False},
            auto_verified_attributes=["email"],
            # Applications know people by their address: a new one counts once its owner has confirmed it.
            user_attribute_update_settings={"attributes_require_verification_before_updates": ["email"]},
            admin_create_user_config={"allow_admin_create_user_only": True},
            password_policy={
                "minimum_length": 14,
                "require_lowercase": True,
                "require_uppercase": True,
                "require_numbers": True,
                "require_symbols": True,
                "temporary_password_validity_days": 3,
            },
            mfa_configuration="ON" if args["mfa"] == "required" else "OPTIONAL",
            software_token_mfa_configuration={"enabled": True},
            account_recovery_setting={"recovery_mechanisms": [{"name": "verified_email", "priority": 1}]},
            deletion_protection="ACTIVE" if args["deletion_protection"] else "INACTIVE",
            # AWS's protection stops a destroy halfway; this one stops it before anything is deleted.
            opts=pulumi.ResourceOptions.merge(self._child, _protection(args)),
        )

    def _client(
        self, name: str, app: WebApp, callback_url: str, pool_id: pulumi.Input[str], args: UserPoolArgs
    ) -> SignInClient:
        client = aws.cognito.UserPoolClient(
            name,
            name=app.name,
            user_pool_id=pool_id,
            generate_secret=True,
            allowed_oauth_flows_user_pool_client=True,
            allowed_oauth_flows=["code"],
            allowed_oauth_scopes=["openid", "email", "profile"],
            callback_urls=[callback_url],
            # Who signs out of an application ends the session of the login page too, and comes back to its start.
            logout_urls=[app.url(args["domain"])],
            supported_identity_providers=["COGNITO"],
            # Left empty, AWS would let people sign in past the login page. This one signs nobody in.
            explicit_auth_flows=["ALLOW_REFRESH_TOKEN_AUTH"],
            prevent_user_existence_errors="ENABLED",
            enable_token_revocation=True,
            # An hour, and a working day: then people sign in again, and whoever has left cannot.
            access_token_validity=1,
            id_token_validity=1,
            refresh_token_validity=10,
            token_validity_units={"access_token": "hours", "id_token": "hours", "refresh_token": "hours"},
            opts=self._child,
        )
        secret = aws.secretsmanager.Secret(
            name,
            name=f"{args['cluster_name']}/sign-in/{app.name}",
            description=f"Client of {app.name} in the user pool of {args['cluster_name']}",
            kms_key_id=args["key_arn"],
            # There is nothing to recover: it is worth nothing without its client, which goes with it. And a stack that
            # comes up again needs the name, which a deleted secret would keep for a week at least.
            recovery_window_in_days=0,
            opts=self._child,
        )
        version = aws.secretsmanager.SecretVersion(
            name,
            secret_id=secret.id,
            secret_string_wo=pulumi.Output.json_dumps({CLIENT_ID: client.id, CLIENT_SECRET: client.client_secret}),
            # What is only written is never compared; this number says when to write it anew.
            secret_string_wo_version=client.id.apply(generation),
            opts=self._child,
        )
        return SignInClient(client_id=client.id, secret_name=once(secret.name, version.id))


def _protection(args: UserPoolArgs) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(protect=args["deletion_protection"])


def domain_prefix(cluster_name: str, account_id: str) -> str:
    """The first label of the login page's host, which nobody else in the region may have, in any account.

    Args:
        cluster_name: the cluster.
        account_id: the account, which is only in the digest.
    """
    stem = re.sub(r"[^a-z0-9]+", "-", cluster_name.lower())[:_LONGEST_STEM].strip("-")
    if not stem or any(word in stem for word in _RESERVED):
        stem = "eksai"
    digest = hashlib.sha256(f"{account_id}/{cluster_name}".encode()).hexdigest()
    return f"{stem}-{digest[:10]}"


def _suffix(region: str) -> str:
    """What the login page's host ends with in a region; in GovCloud there are FIPS endpoints only."""
    service = "auth-fips" if partition_of(region) == "aws-us-gov" else "auth"
    return f"{service}.{region}.amazoncognito.com"

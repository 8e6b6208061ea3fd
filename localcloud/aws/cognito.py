"""Cognito: user pools, their login pages, groups and clients."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from localcloud.checks import at_most_one, between, matches, one_of
from localcloud.errors import AwsError
from localcloud.properties import value_at, values_at
from localcloud.resource_type import (
    Api,
    AutoName,
    Failure,
    Identity,
    OnDelete,
    Properties,
    Refers,
    ResourceType,
    Unique,
)
from localcloud.templates import Draws
from localcloud.values import contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

USER_POOL = "aws:cognito/userPool:UserPool"
USER_POOL_DOMAIN = "aws:cognito/userPoolDomain:UserPoolDomain"
USER_POOL_CLIENT = "aws:cognito/userPoolClient:UserPoolClient"
USER_GROUP = "aws:cognito/userGroup:UserGroup"

_RESERVED = ("aws", "amazon", "cognito")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_OWN_FACTORS = ("smsConfiguration", "emailMfaConfiguration")
_OAUTH = ("allowedOauthFlows", "allowedOauthScopes", "callbackUrls", "logoutUrls", "defaultRedirectUri")
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
# By token: what a number means without a unit, and the seconds that are allowed.
_VALIDITIES = {
    "accessToken": ("hours", 300, 86400),
    "idToken": ("hours", 300, 86400),
    "refreshToken": ("days", 3600, 315360000),
}


def _has_a_second_factor(inputs: Properties, _: Identity) -> Iterator[Failure]:
    mode = inputs.get("mfaConfiguration", "OFF")
    if contains_unknown(mode) or mode == "OFF":
        return
    if not (
        any(factor in inputs for factor in _OWN_FACTORS) or value_at(inputs, "softwareTokenMfaConfiguration.enabled")
    ):
        yield Failure(
            "mfaConfiguration", f"InvalidParameterException: {mode} needs a factor: SMS, e-mail or a software token"
        )


def _tier_has_it(inputs: Properties, _: Identity) -> Iterator[Failure]:
    tier = inputs.get("userPoolTier", "ESSENTIALS")
    wanted = {
        "userPoolAddOns.advancedSecurityMode": ("PLUS",),
        "passwordPolicy.passwordHistorySize": ("ESSENTIALS", "PLUS"),
        "emailMfaConfiguration": ("ESSENTIALS", "PLUS"),
    }
    for path, tiers in wanted.items():
        if value_at(inputs, path) not in (None, "OFF", 0) and isinstance(tier, str) and tier not in tiers:
            yield Failure(path, f"FeatureUnavailableInTierException: it needs {' or '.join(tiers)}, not {tier}")


def _recovers_in_one_way(inputs: Properties, _: Identity) -> Iterator[Failure]:
    names = values_at(inputs, "accountRecoverySetting.recoveryMechanisms.name")
    if "admin_only" in names and len(names) > 1:
        yield Failure("accountRecoverySetting", "InvalidParameterException: admin_only stands alone")


def _is_not_protected(_: "Account", pool: "Record") -> None:
    if pool["deletionProtection"] == "ACTIVE":
        raise AwsError(
            "InvalidParameterException",
            f"the user pool {pool.id} cannot be deleted because deletion protection is activated",
        )


def _has_no_reserved_word(inputs: Properties, _: Identity) -> Iterator[Failure]:
    domain = inputs.get("domain")
    if isinstance(domain, str) and "certificateArn" not in inputs:
        for word in _RESERVED:
            if word in domain:
                yield Failure("domain", f"InvalidParameterException: domain cannot contain reserved word: {word}")


def _is_the_pools_only_one(account: "Account", domain: "Record") -> None:
    """A pool may have a prefix of Cognito's and a domain of one's own."""
    for other in account.find(USER_POOL_DOMAIN, userPoolId=domain["userPoolId"]):
        if other.id != domain.id and bool(other["certificateArn"]) == bool(domain["certificateArn"]):
            raise AwsError("InvalidParameterException", f"{domain['userPoolId']} already has a domain: {other.id}")


def _has_newer_pages(account: "Account", domain: "Record") -> None:
    pool = next(account.find(USER_POOL, id=domain["userPoolId"]))
    if domain["managedLoginVersion"] == 2 and pool["userPoolTier"] == "LITE":
        raise AwsError("FeatureUnavailableInTierException", f"managed login is not in the tier of {pool.id}, LITE")


def _flows_are_complete(inputs: Properties, _: Identity) -> Iterator[Failure]:
    given = {key: inputs[key] for key in _OAUTH if inputs.get(key)}
    if contains_unknown([*given.values(), inputs.get("allowedOauthFlowsUserPoolClient")]):
        return
    error = "InvalidOAuthFlowException"
    if not inputs.get("allowedOauthFlowsUserPoolClient"):
        for key in given:
            yield Failure(key, f"{error}: it takes allowedOauthFlowsUserPoolClient")
        return
    flows, scopes = inputs.get("allowedOauthFlows") or [], inputs.get("allowedOauthScopes") or []
    if not flows or not scopes:
        yield Failure("allowedOauthFlows", f"{error}: a client that may use OAuth has flows and scopes")
    if "client_credentials" in flows and len(flows) > 1:
        yield Failure("allowedOauthFlows", f"{error}: client_credentials goes with no other flow")
    if {"code", "implicit"} & {*flows} and not inputs.get("callbackUrls"):
        yield Failure("callbackUrls", f"{error}: {flows[0]} needs a callback URL")
    if "client_credentials" in flows and not inputs.get("generateSecret"):
        yield Failure("generateSecret", f"{error}: client_credentials needs a secret")
    default = inputs.get("defaultRedirectUri")
    if default and default not in (inputs.get("callbackUrls") or ()):
        yield Failure("defaultRedirectUri", "InvalidParameterException: it is one of the callback URLs")


def _urls_are_safe(inputs: Properties, _: Identity) -> Iterator[Failure]:
    for path in ("callbackUrls", "logoutUrls"):
        for url in values_at(inputs, path):
            if not contains_unknown(url) and (fault := _url_fault(url)):
                yield Failure(path, f"InvalidParameterException: {url} {fault}")


def _url_fault(url: str) -> str | None:
    parts = urlsplit(url)
    if not parts.scheme:
        return "is not an absolute URI"
    if "#" in url:
        return "has a fragment"
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        return "must use HTTPS; HTTP is for localhost"
    return None


def _tokens_last_as_long_as_allowed(inputs: Properties, _: Identity) -> Iterator[Failure]:
    for token, (unit, shortest, longest) in _VALIDITIES.items():
        number = inputs.get(f"{token}Validity")
        unit = value_at(inputs, f"tokenValidityUnits.{token}") or unit
        if number is None or contains_unknown([number, unit]) or unit not in _SECONDS:
            continue
        seconds = number * _SECONDS[unit]
        if not shortest <= seconds <= longest:
            yield Failure(
                f"{token}Validity",
                f"InvalidParameterException: expected {shortest} to {longest} seconds, got {seconds}",
            )


def _flows_are_of_one_kind(inputs: Properties, _: Identity) -> Iterator[Failure]:
    flows = values_at(inputs, "explicitAuthFlows")
    if contains_unknown(flows):
        return
    newer = [flow for flow in flows if flow.startswith("ALLOW_")]
    if newer and len(newer) < len(flows):
        yield Failure("explicitAuthFlows", "InvalidParameterException: ALLOW_ flows and older ones exclude each other")
    if "ALLOW_REFRESH_TOKEN_AUTH" in flows and value_at(inputs, "refreshTokenRotation.feature") == "ENABLED":
        yield Failure("explicitAuthFlows", "InvalidParameterException: tokens that rotate are refreshed otherwise")


def _knows_its_providers(_: "Account", client: "Record") -> None:
    for provider in client["supportedIdentityProviders"] or ():
        # Others are resources of their own, which no program here makes.
        if provider != "COGNITO":
            raise AwsError(
                "InvalidParameterException",
                f"the provider {provider} does not exist for user pool {client['userPoolId']}",
            )


def _client_secret(properties: Properties, draws: Draws) -> Any:
    return draws.field("hex51", "client secret") if properties["generateSecret"] else ""


def _of_pool(error: str = "ResourceNotFoundException", on_delete: OnDelete = OnDelete.CASCADE) -> Refers:
    return Refers("userPoolId", USER_POOL, error, on_delete=on_delete, in_use="InvalidParameterException")


TYPES = (
    ResourceType(
        USER_POOL,
        id="{region}_{upper9}",
        outputs={
            "arn": "arn:{partition}:cognito-idp:{region}:{account}:userpool/{id}",
            "endpoint": "cognito-idp.{region}.{dns_suffix}/{id}",
            "estimatedNumberOfUsers": 0,
        },
        defaults={"deletionProtection": "INACTIVE", "mfaConfiguration": "OFF", "userPoolTier": "ESSENTIALS"},
        auto_name=AutoName(longest=128),
        replaces=("aliasAttributes", "usernameAttributes", "usernameConfiguration"),
        unordered=("aliasAttributes", "autoVerifiedAttributes", "usernameAttributes"),
        checks=(
            between("passwordPolicy.minimumLength", 6, 99),
            between("passwordPolicy.temporaryPasswordValidityDays", 0, 365),
            between("passwordPolicy.passwordHistorySize", 0, 24),
            at_most_one("aliasAttributes", "usernameAttributes"),
            _has_a_second_factor,
            _tier_has_it,
            _recovers_in_one_way,
        ),
        api=Api(
            "cognito-idp",
            "CreateUserPool",
            {
                "name": "PoolName",
                "schemas": "Schema",
                "tags": "UserPoolTags",
                # The API has these in other operations or at another depth.
                **dict.fromkeys(("passwordPolicy", "signInPolicy", "softwareTokenMfaConfiguration"), ""),
                **dict.fromkeys(("emailMfaConfiguration", "webAuthnConfiguration"), ""),
            },
        ),
        releases=(_is_not_protected,),
        tagged=True,
    ),
    ResourceType(
        USER_POOL_DOMAIN,
        id="{domain}",
        outputs={
            "awsAccountId": "{account}",
            "cloudfrontDistribution": "d{hex13}.cloudfront.net",
            "cloudfrontDistributionArn": "d{hex13}.cloudfront.net",
            "cloudfrontDistributionZoneId": "Z2FDTNDATAQYW2",
            "s3Bucket": "aws-cognito-prod-{region}-assets",
            "version": "{digits14}",
        },
        defaults={"managedLoginVersion": 1},
        required=("domain", "userPoolId"),
        replaces=("domain", "userPoolId"),
        checks=(one_of("managedLoginVersion", (1, 2)), _has_no_reserved_word),
        api=Api("cognito-idp", "CreateUserPoolDomain", {"certificateArn": ""}),
        refers=(_of_pool(on_delete=OnDelete.REFUSE),),
        unique=(
            Unique(
                ("domain",), "InvalidParameterException", "domain {domain} is already associated with another user pool"
            ),
        ),
        admits=(_is_the_pools_only_one, _has_newer_pages),
    ),
    ResourceType(
        USER_POOL_CLIENT,
        id="{hex26}",
        outputs={"clientSecret": _client_secret},
        defaults={
            "generateSecret": False,
            "allowedOauthFlowsUserPoolClient": False,
            "enableTokenRevocation": True,
            "preventUserExistenceErrors": "LEGACY",
            "authSessionValidity": 3,
            "refreshTokenValidity": 30,
            "explicitAuthFlows": ["ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_SRP_AUTH", "ALLOW_CUSTOM_AUTH"],
        },
        required=("userPoolId",),
        auto_name=AutoName(longest=128),
        replaces=("userPoolId", "generateSecret"),
        unordered=(
            *("allowedOauthFlows", "allowedOauthScopes", "callbackUrls", "explicitAuthFlows", "logoutUrls"),
            *("readAttributes", "supportedIdentityProviders", "writeAttributes"),
        ),
        checks=(_flows_are_complete, _urls_are_safe, _tokens_last_as_long_as_allowed, _flows_are_of_one_kind),
        api=Api("cognito-idp", "CreateUserPoolClient", {"name": "ClientName"}),
        refers=(_of_pool(),),
        admits=(_knows_its_providers,),
        secret_outputs=("clientSecret",),
    ),
    ResourceType(
        USER_GROUP,
        id="{userPoolId}/{name}",
        required=("userPoolId",),
        auto_name=AutoName(longest=128),
        replaces=("name", "userPoolId"),
        checks=(matches("name", r"[^\s]{1,128}", "a group's name: up to 128 characters without spaces"),),
        api=Api("cognito-idp", "CreateGroup", {"name": "GroupName"}),
        refers=(_of_pool(),),
        unique=(Unique(("userPoolId", "name"), "GroupExistsException", "a group with the name {name} already exists"),),
    ),
)

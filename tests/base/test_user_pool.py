"""Where people sign in, and what applications know of it."""

import json
from typing import Any

import pulumi
import pulumi_random as random
import pytest

from components.base.user_pool import UserPool, UserPoolArgs, domain_prefix
from components.generation import generation
from components.sign_in import ADMINS, CLIENT_ID, CLIENT_SECRET, USERS
from components.web_apps import WEB_APPS
from localcloud.api_model import unmapped
from localcloud.catalog import Identity, find
from localcloud.errors import AwsError
from localcloud.model_checks import model_faults
from localcloud.rehearsal import Stage
from localcloud.values import Secret
from tests.world import Built, run

POOL, PAGE, CLIENT, GROUP, SECRET, VERSION = (
    "aws:cognito/userPool:UserPool",
    "aws:cognito/userPoolDomain:UserPoolDomain",
    "aws:cognito/userPoolClient:UserPoolClient",
    "aws:cognito/userGroup:UserGroup",
    "aws:secretsmanager/secret:Secret",
    "aws:secretsmanager/secretVersion:SecretVersion",
)
ARGS = UserPoolArgs(
    enabled=True,
    mfa="required",
    deletion_protection=False,
    region="us-west-2",
    account_id="111122223333",
    cluster_name="eksai-dev",
    # A key of another account: what it allows is no matter of this component.
    key_arn="alias/somebody-elses",
    domain=None,
    applications=list(WEB_APPS),
)

HERE = Identity("111122223333", "us-west-2")


def built(**changed: Any) -> Built[UserPool]:
    args = UserPoolArgs(**{**ARGS, **changed})  # pyright: ignore[reportArgumentType]
    return run(lambda: UserPool("user-pool", args))


def test_only_administrators_make_accounts():
    assert built().only(POOL).inputs["adminCreateUserConfig"] == {"allowAdminCreateUserOnly": True}


def test_a_password_is_long_and_the_first_one_is_soon_worthless():
    policy = built().only(POOL).inputs["passwordPolicy"]
    assert policy["minimumLength"] >= 14
    assert all(policy[f"require{kind}"] for kind in ("Lowercase", "Uppercase", "Numbers", "Symbols"))
    assert policy["temporaryPasswordValidityDays"] <= 7


@pytest.mark.parametrize(("mfa", "mode"), [("required", "ON"), ("optional", "OPTIONAL")])
def test_the_second_factor_is_an_authenticator_and_never_a_text_message(mfa: str, mode: str):
    pool = built(mfa=mfa).only(POOL).inputs
    assert pool["mfaConfiguration"] == mode
    assert pool["softwareTokenMfaConfiguration"] == {"enabled": True}
    assert not {"smsConfiguration", "emailMfaConfiguration"} & pool.keys()


def test_people_are_known_by_an_address_that_they_have_confirmed():
    pool = built().only(POOL).inputs
    assert pool["usernameAttributes"] == pool["autoVerifiedAttributes"] == ["email"]
    assert pool["userAttributeUpdateSettings"] == {"attributesRequireVerificationBeforeUpdates": ["email"]}
    assert pool["accountRecoverySetting"] == {"recoveryMechanisms": [{"name": "verified_email", "priority": 1}]}


@pytest.mark.parametrize(("given", "told"), [(True, "ACTIVE"), (False, "INACTIVE")])
def test_deletion_protection_is_the_stacks_choice(given: bool, told: str):
    pool = built(deletion_protection=given).only(POOL)
    assert pool.inputs["deletionProtection"] == told
    assert pool.protect is given, "a destroy is refused before anything is deleted"
    groups = built(deletion_protection=given).all(GROUP)
    assert [group.protect for group in groups] == [given, given], "a group that goes takes along who is in it"


def test_there_are_a_group_of_users_and_one_of_administrators():
    assert [group.inputs["name"] for group in built().all(GROUP)] == [USERS, ADMINS]


def test_every_application_that_signs_people_in_has_a_client_and_no_other_has():
    found = built()
    assert list(found.result.sign_in.clients) == ["jupyterhub", "argo-workflows", "langfuse"]
    assert [client.inputs["name"] for client in found.all(CLIENT)] == ["jupyterhub", "argo-workflows", "langfuse"]


@pytest.mark.parametrize(
    ("domain", "url"),
    [(None, "http://localhost:8000"), ("ml.example.com", "https://jupyter.ml.example.com")],
)
def test_people_come_back_to_the_one_address_that_the_application_has(domain: str | None, url: str):
    client = built(domain=domain, applications=["jupyterhub"]).only(CLIENT).inputs
    assert client["callbackUrls"] == [f"{url}/hub/oauth_callback"]
    assert client["logoutUrls"] == [url]


def test_a_client_signs_people_in_by_the_code_flow_and_in_no_other_way():
    client = built(applications=["jupyterhub"]).only(CLIENT).inputs
    assert client["allowedOauthFlowsUserPoolClient"] is True
    assert client["allowedOauthFlows"] == ["code"]
    assert client["allowedOauthScopes"] == ["openid", "email", "profile"]
    assert client["explicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"], "an empty list stands for AWS's own"
    assert client["generateSecret"] is True
    assert client["preventUserExistenceErrors"] == "ENABLED"
    assert client["enableTokenRevocation"] is True


def test_who_has_signed_in_does_so_again_the_next_day():
    client = built(applications=["jupyterhub"]).only(CLIENT).inputs
    assert set(client["tokenValidityUnits"].values()) == {"hours"}
    assert client["refreshTokenValidity"] < 24
    assert client["accessTokenValidity"] == client["idTokenValidity"] == 1


def test_a_clients_secret_goes_to_secrets_manager_and_is_only_written():
    found = built(applications=["jupyterhub"])
    client, secret, version = found.only(CLIENT), found.only(SECRET), found.only(VERSION)
    assert secret.inputs["name"] == "eksai-dev/sign-in/jupyterhub"
    assert secret.inputs["kmsKeyId"] == ARGS["key_arn"]
    assert "secretString" not in version.inputs, "it would be read back at every refresh"
    written = version.inputs["secretStringWo"]
    assert isinstance(written, Secret)
    assert json.loads(written.value) == {
        CLIENT_ID: client.id,
        CLIENT_SECRET: client.outputs["clientSecret"].value,
    }


def test_the_secret_is_written_anew_when_the_client_is_another_one_and_only_then():
    version = built(applications=["jupyterhub"]).only(VERSION).inputs["secretStringWoVersion"]
    elsewhere = built(applications=["argo-workflows"]).only(VERSION).inputs["secretStringWoVersion"]
    client = built(applications=["jupyterhub"], domain="ml.example.com").only(CLIENT)
    assert version == generation(str(client.id))
    assert version != elsewhere


def test_the_number_of_a_client_fits_a_signed_integer():
    numbers = {generation(f"client-{index}") for index in range(500)}
    assert len(numbers) == 500
    assert all(0 <= number < 2**31 for number in numbers)


def test_whoever_names_the_secret_waits_for_its_value():
    def build() -> None:
        name = UserPool("user-pool", ARGS).sign_in.clients["jupyterhub"].secret_name
        random.RandomPassword("user", length=8, keepers={"secret": name})

    found = run(build)
    assert found.named("user").inputs["keepers"] == {"secret": "eksai-dev/sign-in/jupyterhub"}
    assert found.named("user-pool-jupyterhub", VERSION).urn in found.named("user").dependencies


def test_a_stack_that_was_destroyed_comes_up_again():
    found = built()
    stage, urns = Stage(found.resources), [resource.urn for resource in found.resources]
    for _ in range(2):
        stage.make(urns)
        stage.delete(urns[::-1])
    assert stage.left == []


def test_a_protected_pool_stays():
    found = built(deletion_protection=True)
    stage, urns = Stage(found.resources), [resource.urn for resource in found.resources]
    stage.make(urns)
    with pytest.raises(AwsError, match="deletion protection"):
        stage.delete(urns[::-1])


def test_awss_own_model_knows_and_allows_every_argument():
    for resource in built().resources:
        declared = find(resource.type)
        if declared is not None and declared.api is not None:
            assert not [*model_faults(declared, resource.inputs)], resource.name
            assert unmapped(declared.api, resource.inputs) == [], resource.name


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("us-west-2", "auth.us-west-2.amazoncognito.com"),
        ("us-gov-west-1", "auth-fips.us-gov-west-1.amazoncognito.com"),
    ],
)
def test_applications_find_the_login_page_and_the_issuer(region: str, host: str):
    found = built(region=region)
    sign_in, page = found.result.sign_in, found.only(PAGE).inputs["domain"]
    assert found.value(sign_in.authorize_url) == f"https://{page}.{host}/oauth2/authorize"
    assert found.value(sign_in.token_url) == f"https://{page}.{host}/oauth2/token"
    assert found.value(sign_in.userinfo_url) == f"https://{page}.{host}/oauth2/userInfo"
    assert found.value(sign_in.issuer) == f"https://{found.only(POOL).outputs['endpoint']}"


def test_whoever_sends_people_to_the_login_page_waits_for_it():
    def build() -> None:
        url: pulumi.Output[str] = UserPool("user-pool", ARGS).sign_in.token_url
        random.RandomPassword("user", length=8, keepers={"url": url})

    found = run(build)
    assert found.only(PAGE).urn in found.named("user").dependencies


@pytest.mark.parametrize(
    ("cluster", "stem"),
    [
        ("eksai-dev", "eksai-dev"),
        ("Team_A--Cluster_", "team-a-cluster"),
        ("aws-ml", "eksai"),
        ("laws", "eksai"),
        ("incognito-1", "eksai"),
        ("___", "eksai"),
        ("x" * 100, "x" * 40),
    ],
)
def test_every_clusters_name_makes_a_prefix_that_cognito_takes(cluster: str, stem: str):
    prefix = domain_prefix(cluster, "111122223333")
    declared = find(PAGE)
    assert declared is not None
    assert prefix.rpartition("-")[0] == stem
    _, failures = declared.check({"domain": prefix, "userPoolId": "us-west-2_x"}, "x", None, HERE)
    assert failures == []
    assert not [*model_faults(declared, {"domain": prefix, "userPoolId": "us-west-2_x"})]


def test_two_accounts_and_two_clusters_of_one_kind_of_name_have_prefixes_of_their_own():
    clusters, accounts = ("aws-a", "aws-b", "Dev", "dev"), ("111122223333", "444455556666")
    assert len({domain_prefix(cluster, account) for cluster in clusters for account in accounts}) == 8

import pytest

from localcloud.aws.acm import CERTIFICATE, VALIDATION
from localcloud.aws.cognito import USER_GROUP, USER_POOL, USER_POOL_CLIENT, USER_POOL_DOMAIN
from localcloud.aws.load_balancers import LOAD_BALANCER
from localcloud.aws.route53 import RECORD
from localcloud.catalog import Identity, find
from localcloud.model_checks import model_faults
from localcloud.values import UNKNOWN, Secret

ZONE = "Z0123456789ABCDEFGHIJ"
DOMAIN = "ml.example.com"
CALLBACK = "http://localhost:8000/hub/oauth_callback"
OAUTH = {
    "allowedOauthFlowsUserPoolClient": True,
    "allowedOauthFlows": ["code"],
    "allowedOauthScopes": ["openid"],
    "callbackUrls": [CALLBACK],
}


@pytest.fixture
def certificate(cloud):
    return cloud.make(CERTIFICATE, domainName=f"*.{DOMAIN}", subjectAlternativeNames=[DOMAIN], validationMethod="DNS")


@pytest.fixture
def pool(cloud):
    return cloud.make(USER_POOL, name="people")


def prove(cloud, certificate, **changed):
    proof = certificate["domainValidationOptions"][0]
    given = {"zoneId": ZONE, "name": proof["resourceRecordName"], "records": [proof["resourceRecordValue"]]}
    return cloud.make(RECORD, type=proof["resourceRecordType"], ttl=60, **{**given, **changed})


def test_a_wildcard_and_what_it_stands_before_are_proven_by_one_record(certificate):
    options = certificate["domainValidationOptions"]
    assert [option["domainName"] for option in options] == [f"*.{DOMAIN}", DOMAIN]
    assert len({(option["resourceRecordName"], option["resourceRecordValue"]) for option in options}) == 1
    assert options[0]["resourceRecordName"].endswith(f".{DOMAIN}.")


def test_names_that_are_not_one_have_records_of_their_own(cloud):
    made = cloud.make(
        CERTIFICATE, domainName=DOMAIN, subjectAlternativeNames=[f"*.sub.{DOMAIN}"], validationMethod="DNS"
    )
    assert len({option["resourceRecordName"] for option in made["domainValidationOptions"]}) == 2


def test_two_certificates_of_an_account_share_the_record_of_their_domain(cloud, certificate):
    other = cloud.make(CERTIFICATE, domainName=DOMAIN, validationMethod="DNS")
    assert other["arn"] != certificate["arn"]
    (proof,) = other["domainValidationOptions"]
    assert proof["resourceRecordName"] == certificate["domainValidationOptions"][0]["resourceRecordName"]


def test_what_proves_a_certificate_is_not_known_in_a_preview():
    inputs = {"domainName": DOMAIN, "validationMethod": "DNS"}
    _, outputs = find(CERTIFICATE).computed(inputs, Identity("111122223333", "us-west-2"), None)
    assert outputs["domainValidationOptions"] is UNKNOWN
    assert outputs["subjectAlternativeNames"] == [DOMAIN]


def test_a_certificate_is_issued_once_its_record_leads_where_it_should(cloud, certificate):
    with cloud.refused("PENDING_VALIDATION"):
        cloud.make(VALIDATION, certificateArn=certificate["arn"])
    record = prove(cloud, certificate)
    assert cloud.make(VALIDATION, certificateArn=certificate["arn"], validationRecordFqdns=[record["fqdn"]])


def test_a_record_that_leads_elsewhere_proves_nothing(cloud, certificate):
    prove(cloud, certificate, records=["somewhere.example.com."])
    with cloud.refused("PENDING_VALIDATION"):
        cloud.make(VALIDATION, certificateArn=certificate["arn"])


def test_a_validation_that_names_other_records_is_refused(cloud, certificate):
    prove(cloud, certificate)
    with cloud.refused("InvalidParameter"):
        cloud.make(VALIDATION, certificateArn=certificate["arn"], validationRecordFqdns=[f"_x.{DOMAIN}"])


def test_nobody_answers_e_mails_here(cloud):
    made = cloud.make(CERTIFICATE, domainName=DOMAIN)
    assert made["domainValidationOptions"] == []
    with cloud.refused("PENDING_VALIDATION"):
        cloud.make(VALIDATION, certificateArn=made["arn"])


def test_a_certificate_that_is_not_there_cannot_be_validated(cloud):
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(VALIDATION, certificateArn="arn:aws:acm:us-west-2:111122223333:certificate/gone")


def test_a_certificate_stays_as_long_as_a_load_balancer_holds_it(cloud, certificate):
    network = cloud.network()
    balancer = cloud.make(LOAD_BALANCER, subnets=network["ids"], certificates=[certificate["arn"]])
    with cloud.refused("ResourceInUseException"):
        cloud.delete(CERTIFICATE, certificate)
    cloud.delete(LOAD_BALANCER, balancer)
    cloud.delete(CERTIFICATE, certificate)


def test_a_certificate_goes_before_or_after_what_waited_for_it(cloud, certificate):
    prove(cloud, certificate)
    validation = cloud.make(VALIDATION, certificateArn=certificate["arn"])
    cloud.delete(CERTIFICATE, certificate)
    cloud.delete(VALIDATION, validation)


@pytest.mark.parametrize(
    ("token", "given", "what"),
    [
        (CERTIFICATE, {"domainName": "*." + "a" * 60 + ".com"}, "64 characters"),
        (CERTIFICATE, {"domainName": "a.*.example.com"}, "64 characters"),
        (CERTIFICATE, {"domainName": DOMAIN, "validationMethod": "PHONE"}, "DNS"),
        (CERTIFICATE, {}, "missing required argument domainName"),
        (RECORD, {"zoneId": "example.com", "name": "a", "type": "A", "records": ["1"], "ttl": 1}, "hosted zone"),
        (RECORD, {"zoneId": ZONE, "name": "a", "type": "A"}, "records or aliases"),
        (RECORD, {"zoneId": ZONE, "name": "a", "type": "A", "records": ["1"]}, "need a ttl"),
        (RECORD, {"zoneId": ZONE, "name": "a", "type": "A", "aliases": [{}], "ttl": 1}, "ttl of its target"),
        (RECORD, {"zoneId": ZONE, "name": "a", "type": "URL", "records": ["1"], "ttl": 1}, "CNAME"),
        (RECORD, {"zoneId": ZONE, "name": "a", "type": "CNAME", "records": ["a", "b"], "ttl": 1}, "one name"),
        (RECORD, {"zoneId": ZONE, "name": "a", "type": "A", "records": ["1"], "ttl": 1,
                  "weightedRoutingPolicies": [{"weight": 1}]}, "set identifier"),
        (USER_POOL, {"mfaConfiguration": "ON"}, "needs a factor"),
        (USER_POOL, {"mfaConfiguration": "OPTIONAL", "softwareTokenMfaConfiguration": {"enabled": False}}, "a factor"),
        (USER_POOL, {"passwordPolicy": {"minimumLength": 5}}, "6 to 99"),
        (USER_POOL, {"aliasAttributes": ["email"], "usernameAttributes": ["email"]}, "conflicts"),
        (USER_POOL, {"userPoolAddOns": {"advancedSecurityMode": "ENFORCED"}}, "PLUS"),
        (USER_POOL, {"userPoolTier": "LITE", "passwordPolicy": {"passwordHistorySize": 3}}, "ESSENTIALS"),
        (USER_POOL, {"accountRecoverySetting": {"recoveryMechanisms": [
            {"name": "admin_only", "priority": 1}, {"name": "verified_email", "priority": 2}]}}, "alone"),
        (USER_POOL_DOMAIN, {"domain": "my-aws-page", "userPoolId": "p"}, "reserved word: aws"),
        (USER_POOL_DOMAIN, {"domain": "incognito", "userPoolId": "p"}, "reserved word: cognito"),
        (USER_POOL_DOMAIN, {"domain": "page", "userPoolId": "p", "managedLoginVersion": 3}, "1, 2"),
        (USER_GROUP, {"name": "two words", "userPoolId": "p"}, "without spaces"),
    ],
)  # fmt: skip
def test_what_aws_would_refuse_shows_in_a_preview(cloud, token, given, what):
    assert what in cloud.failures(token, **given)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"allowedOauthFlowsUserPoolClient": False}, "allowedOauthFlowsUserPoolClient"),
        ({"allowedOauthScopes": []}, "flows and scopes"),
        ({"allowedOauthFlows": []}, "flows and scopes"),
        ({"callbackUrls": []}, "needs a callback URL"),
        ({"allowedOauthFlows": ["code", "client_credentials"]}, "no other flow"),
        ({"allowedOauthFlows": ["client_credentials"]}, "needs a secret"),
        ({"callbackUrls": ["http://jupyter.ml.example.com/callback"]}, "HTTPS"),
        ({"callbackUrls": ["http://localhost.example.com/callback"]}, "HTTPS"),
        ({"callbackUrls": ["https://a.example.com/#here"]}, "fragment"),
        ({"callbackUrls": ["/callback"]}, "absolute"),
        ({"defaultRedirectUri": "https://b.example.com"}, "one of the callback URLs"),
        ({"accessTokenValidity": 2, "tokenValidityUnits": {"accessToken": "minutes"}}, "300 to 86400"),
        ({"accessTokenValidity": 25}, "300 to 86400"),
        ({"refreshTokenValidity": 30, "tokenValidityUnits": {"refreshToken": "minutes"}}, "3600 to"),
        ({"explicitAuthFlows": ["ALLOW_USER_SRP_AUTH", "USER_PASSWORD_AUTH"]}, "exclude"),
        ({"explicitAuthFlows": ["ALLOW_REFRESH_TOKEN_AUTH"], "refreshTokenRotation": {"feature": "ENABLED"}}, "rotate"),
    ],
)
def test_a_client_that_cognito_would_refuse_shows_in_a_preview(cloud, changed, what):
    assert what in cloud.failures(USER_POOL_CLIENT, userPoolId="p", **{**OAUTH, **changed})


@pytest.mark.parametrize(
    "url", [CALLBACK, "http://127.0.0.1:8000/", "http://[::1]:8000/", "https://a.example.com/b", "app://signed-in"]
)
def test_people_may_come_back_by_https_and_to_their_own_machine(cloud, url):
    assert cloud.failures(USER_POOL_CLIENT, userPoolId="p", **{**OAUTH, "callbackUrls": [url]}) == ""


def test_what_is_not_known_yet_is_not_judged(cloud):
    unknown = dict.fromkeys(("allowedOauthFlows", "callbackUrls", "accessTokenValidity", "explicitAuthFlows"), UNKNOWN)
    assert cloud.failures(USER_POOL_CLIENT, userPoolId=UNKNOWN, allowedOauthFlowsUserPoolClient=True, **unknown) == ""
    assert cloud.failures(USER_POOL, mfaConfiguration=UNKNOWN, userPoolTier=UNKNOWN) == ""
    assert cloud.failures(RECORD, **dict.fromkeys(("zoneId", "name", "type", "records", "ttl"), UNKNOWN)) == ""


def test_a_record_is_made_once_unless_overwriting_is_allowed(cloud, certificate):
    prove(cloud, certificate)
    with cloud.refused("InvalidChangeBatch"):
        prove(cloud, certificate)
    with cloud.refused("InvalidChangeBatch"):
        prove(cloud, certificate, name=certificate["domainValidationOptions"][0]["resourceRecordName"].upper())
    assert prove(cloud, certificate, allowOverwrite=True)


def test_a_zone_has_one_record_of_a_name_and_another_zone_its_own(cloud, certificate):
    prove(cloud, certificate)
    assert prove(cloud, certificate, zoneId="ZANOTHERZONE")


def test_beside_a_cname_there_is_nothing_of_its_name(cloud):
    cloud.make(RECORD, zoneId=ZONE, name="a.example.com", type="CNAME", records=["b.example.com"], ttl=60)
    with cloud.refused("InvalidChangeBatch"):
        cloud.make(RECORD, zoneId=ZONE, name="a.example.com", type="TXT", records=["text"], ttl=60)


def test_a_record_is_changed_in_place(cloud):
    inputs = {"zoneId": ZONE, "name": "a.example.com.", "type": "A", "records": ["192.0.2.1"], "ttl": 60}
    record = cloud.make(RECORD, **inputs)
    assert record["fqdn"] == "a.example.com"
    changed = cloud.account.update(RECORD, record["id"], {**inputs, "records": ["192.0.2.2"]}, cloud.identity)
    assert changed["records"] == ["192.0.2.2"]


def test_a_pool_stays_as_long_as_it_has_a_login_page(cloud, pool):
    page = cloud.make(USER_POOL_DOMAIN, domain="people-1", userPoolId=pool["id"])
    with cloud.refused("InvalidParameterException"):
        cloud.delete(USER_POOL, pool)
    cloud.delete(USER_POOL_DOMAIN, page)
    cloud.delete(USER_POOL, pool)


def test_a_protected_pool_stays_until_the_protection_is_turned_off(cloud):
    pool = cloud.make(USER_POOL, name="people", deletionProtection="ACTIVE")
    with cloud.refused("InvalidParameterException"):
        cloud.delete(USER_POOL, pool)
    cloud.account.update(USER_POOL, pool["id"], {"name": "people"}, cloud.identity)
    cloud.delete(USER_POOL, pool)


def test_clients_and_groups_go_with_their_pool(cloud, pool):
    cloud.make(USER_GROUP, name="admins", userPoolId=pool["id"])
    cloud.make(USER_POOL_CLIENT, userPoolId=pool["id"], **OAUTH)
    cloud.delete(USER_POOL, pool)
    assert cloud.account.records() == []


def test_a_login_pages_name_is_its_pools_alone(cloud, pool):
    cloud.make(USER_POOL_DOMAIN, domain="people-1", userPoolId=pool["id"])
    other = cloud.make(USER_POOL, name="others")
    with cloud.refused("InvalidParameterException"):
        cloud.make(USER_POOL_DOMAIN, domain="people-1", userPoolId=other["id"])


def test_a_pool_has_one_login_page(cloud, pool):
    cloud.make(USER_POOL_DOMAIN, domain="people-1", userPoolId=pool["id"])
    with cloud.refused("InvalidParameterException"):
        cloud.make(USER_POOL_DOMAIN, domain="people-2", userPoolId=pool["id"])


def test_the_newer_login_page_is_not_in_the_cheapest_tier(cloud):
    pool = cloud.make(USER_POOL, name="people", userPoolTier="LITE")
    with cloud.refused("FeatureUnavailableInTierException"):
        cloud.make(USER_POOL_DOMAIN, domain="people-1", userPoolId=pool["id"], managedLoginVersion=2)


def test_a_pool_has_one_group_of_a_name(cloud, pool):
    cloud.make(USER_GROUP, name="admins", userPoolId=pool["id"])
    with cloud.refused("GroupExistsException"):
        cloud.make(USER_GROUP, name="admins", userPoolId=pool["id"])


@pytest.mark.parametrize("token", [USER_POOL_DOMAIN, USER_POOL_CLIENT, USER_GROUP])
def test_what_belongs_to_a_pool_needs_one_that_exists(cloud, token):
    given = {"domain": "people-1"} if token == USER_POOL_DOMAIN else {"name": "x"}
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(token, userPoolId="us-west-2_GONE", **given)


def test_a_client_knows_no_provider_that_its_pool_has_not(cloud, pool):
    with cloud.refused("InvalidParameterException"):
        cloud.make(USER_POOL_CLIENT, userPoolId=pool["id"], **OAUTH, supportedIdentityProviders=["Okta"])


def test_a_clients_secret_is_secret_and_stays_the_same(cloud, pool):
    inputs = {"userPoolId": pool["id"], "name": "hub", "generateSecret": True}
    client = cloud.make(USER_POOL_CLIENT, **inputs)
    assert isinstance(client["clientSecret"], Secret)
    again = cloud.account.update(USER_POOL_CLIENT, client["id"], {**inputs, "name": "jupyter"}, cloud.identity)
    assert again["clientSecret"] == client["clientSecret"]
    assert client["clientSecret"].value not in cloud.file.read_text(encoding="utf-8")
    assert cloud.make(USER_POOL_CLIENT, userPoolId=pool["id"])["clientSecret"] == Secret("")


def test_a_pools_outputs_are_those_of_the_provider(pool):
    assert pool["endpoint"] == f"cognito-idp.us-west-2.amazonaws.com/{pool['id']}"
    assert pool["arn"] == f"arn:aws:cognito-idp:us-west-2:111122223333:userpool/{pool['id']}"


@pytest.mark.parametrize(
    ("token", "inputs", "where"),
    [
        (USER_POOL_DOMAIN, {"domain": "Upper", "userPoolId": "us-west-2_x"}, "domain"),
        (USER_POOL_DOMAIN, {"domain": "-x", "userPoolId": "us-west-2_x"}, "domain"),
        (USER_POOL, {"name": "a/b"}, "name"),
        (USER_POOL, {"name": "a", "mfaConfiguration": "SOMETIMES"}, "mfaConfiguration"),
        (USER_POOL_CLIENT, {"name": "a", "userPoolId": "us-west-2_x", "explicitAuthFlows": ["ALLOW_ALL"]}, "explicit"),
        (USER_POOL_CLIENT, {"name": "a", "userPoolId": "us-west-2_x", "preventUserExistenceErrors": "ON"}, "prevent"),
        (RECORD, {"name": "a", "type": "A", "weightedRoutingPolicies": [], "setIdentifier": "x" * 129}, "setIdent"),
        (CERTIFICATE, {"domainName": DOMAIN, "keyAlgorithm": "DSA"}, "keyAlgorithm"),
    ],
)
def test_awss_own_model_is_held(token, inputs, where):
    found = [*model_faults(find(token), inputs)]
    assert found
    assert found[0].property.startswith(where)

"""What Argo Workflows needs beside its chart."""

import json
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest

from components.domain import Domain
from components.platform.argo_workflows import (
    SERVER_ACCOUNT,
    SIGN_IN_SECRET,
    ArgoWorkflows,
    ArgoWorkflowsArgs,
    grants,
)
from components.platform.catalog import CHARTS, comes_after
from components.release import read_chart
from components.sign_in import ADMINS, GROUPS_CLAIM, USERS, SignIn, SignInClient
from components.workflows import ARTIFACTS, NAMESPACE, WORKFLOW_ACCOUNT
from localcloud.world import Registration
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/1"
CHART = read_chart(CHARTS["argo-workflows"])
ROLES, CLUSTER_ROLES = (
    "kubernetes:rbac.authorization.k8s.io/v1:Role",
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
)
WRITE_VERBS = {"create", "update", "patch", "delete", "deletecollection", "*"}


def argo(*, sign_in: bool = False, domain: bool = False, region: str = "us-west-2") -> Built[ArgoWorkflows]:
    def build() -> ArgoWorkflows:
        known = pulumi.Output.from_input
        args = ArgoWorkflowsArgs(
            keep_days=45,
            cluster_name="eksai-dev",
            region=region,
            key_arn=KEY,
            domain=Domain("ml.example.com", "Z1", known("arn:certificate"), ("198.51.100.0/24",)) if domain else None,
            sign_in=SignIn(
                known("https://issuer.example.com/pool"),
                known("https://login.example.com/authorize"),
                known("https://login.example.com/token"),
                known("https://login.example.com/userinfo"),
                {"argo-workflows": SignInClient(known("client"), known("eksai-dev/argo-workflows"))},
            )
            if sign_in
            else None,
            keep=True,
            after=[],
        )
        return ArgoWorkflows("argo-workflows", args)

    return run(build)


def settled(built: Built[Any], value: Any) -> Any:
    """A value with what its Outputs came to."""
    match value:
        case pulumi.Output():
            return built.value(value)
        case dict():
            return {key: settled(built, item) for key, item in value.items()}
        case list():
            return [settled(built, item) for item in value]
        case _:
            return value


def values(**variant: Any) -> dict[str, Any]:
    built = argo(**variant)
    return settled(built, built.result.values)


def policy(built: Built[ArgoWorkflows], role: str) -> list[dict[str, Any]]:
    (text,) = [
        resource.inputs["policy"]
        for resource in built.all("aws:iam/rolePolicy:RolePolicy")
        if resource.name == f"argo-workflows-{role}-artifacts"
    ]
    return json.loads(text)["Statement"]


def allowed(statements: list[dict[str, Any]], resource: str) -> set[str]:
    actions = [s["Action"] for s in statements if s["Effect"] == "Allow" and s["Resource"] == resource]
    return {action for some in actions for action in ([some] if isinstance(some, str) else some)}


def test_artifacts_end_after_the_days_of_the_settings():
    lifecycle = argo().only("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration")
    assert {"days": 45} in [rule.get("expiration") for rule in lifecycle.inputs["rules"]]


def test_workflows_read_and_write_below_their_prefix_and_delete_nothing():
    built = argo()
    arn = built.only("aws:s3/bucket:Bucket").outputs["arn"]
    statements = policy(built, "workflows")
    assert allowed(statements, f"{arn}/{ARTIFACTS}/*") == {
        "s3:GetObject",
        "s3:PutObject",
        "s3:AbortMultipartUpload",
        "s3:ListMultipartUploadParts",
    }
    assert allowed(statements, arn) == {"s3:ListBucket"}
    assert CHART.values["artifactRepository"]["s3"]["keyFormat"].startswith(f"{ARTIFACTS}/"), (
        "keys are below the prefix"
    )


def test_the_server_only_reads():
    built = argo()
    arn = built.only("aws:s3/bucket:Bucket").outputs["arn"]
    statements = policy(built, "server")
    assert allowed(statements, f"{arn}/{ARTIFACTS}/*") == {"s3:GetObject"}
    assert allowed(statements, KEY) == {"kms:Decrypt"}


@pytest.mark.parametrize(
    ("region", "service"),
    [("us-west-2", "s3.us-west-2.amazonaws.com"), ("cn-north-1", "s3.cn-north-1.amazonaws.com.cn")],
)
def test_the_key_is_used_through_s3_only(region: str, service: str):
    for role in ("workflows", "server"):
        (statement,) = [s for s in policy(argo(region=region), role) if s["Resource"] == KEY]
        assert statement["Condition"] == {"StringEquals": {"kms:ViaService": service}}
    assert values(region=region)["artifactRepository"]["s3"]["endpoint"] == service


def test_identities_are_those_of_the_service_accounts_that_the_chart_makes():
    found = {
        (one.inputs["namespace"], one.inputs["serviceAccount"])
        for one in argo().all("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    }
    assert found == {(NAMESPACE, WORKFLOW_ACCOUNT), (CHART.namespace, SERVER_ACCOUNT)}
    assert CHART.values["workflow"]["serviceAccount"] == {"create": True, "name": WORKFLOW_ACCOUNT}


def test_workflows_are_at_home_in_one_namespace():
    chart = CHART.values
    assert chart["workflow"]["namespace"] == NAMESPACE, "else the release's namespace gets their rights too"
    assert chart["controller"]["workflowNamespaces"] == [NAMESPACE]
    assert chart["controller"]["extraArgs"] == ["--namespaced", "--managed-namespace", NAMESPACE]


def test_without_sign_in_people_bring_a_token_of_the_cluster():
    server = values()["server"]
    assert server["authModes"] == ["client"]
    assert "sso" not in server
    assert values()["extraObjects"] == []
    made = argo()
    assert not made.all("eksai:index:DeliveredSecret")
    assert not made.all("kubernetes:core/v1:ServiceAccount")


def test_with_sign_in_there_is_no_other_way_in():
    assert values(sign_in=True)["server"]["authModes"] == ["sso"]


def test_the_server_finds_its_client_where_it_is_delivered():
    built = argo(sign_in=True)
    secret = built.only("kubernetes:external-secrets.io/v1:ExternalSecret").inputs
    assert (secret["metadata"]["name"], secret["metadata"]["namespace"]) == (SIGN_IN_SECRET, CHART.namespace)
    keys = {item["secretKey"] for item in secret["spec"]["data"]}
    sso = values(sign_in=True)["server"]["sso"]
    for reference in ("clientId", "clientSecret"):
        assert sso[reference]["name"] == SIGN_IN_SECRET
        assert sso[reference]["key"] in keys


def test_the_release_comes_after_what_delivers_its_client_and_does_without_where_there_is_none():
    both = {name: read_chart(CHARTS[name]) for name in ("argo-workflows", "external-secrets")}
    assert "external-secrets" in comes_after(CHART, both)
    assert "external-secrets" not in comes_after(CHART, {"argo-workflows": CHART})
    assert "external-secrets" not in CHART.needs, "without sign-in nothing is delivered"


def test_sign_in_asks_cognito_for_what_it_knows():
    sso = values(sign_in=True)["server"]["sso"]
    assert sso["scopes"] == ["email"], "openid is added by the server; Cognito refuses a scope that it does not know"
    assert sso["customGroupClaimName"] == GROUPS_CLAIM
    assert sso["rbac"] == {"enabled": True}, "else whoever signs in has the server's own rights"


@pytest.mark.parametrize(
    ("domain", "callback"),
    [
        (True, "https://argo.ml.example.com/oauth2/callback"),
        (False, "http://localhost:2746/oauth2/callback"),
    ],
)
def test_people_come_back_to_where_they_came_from(domain: bool, callback: str):
    assert values(sign_in=True, domain=domain)["server"]["sso"]["redirectUrl"] == callback


def accounts(built: Built[ArgoWorkflows]) -> dict[str, Registration]:
    return {made.inputs["metadata"]["name"]: made for made in built.all("kubernetes:core/v1:ServiceAccount")}


def test_each_group_has_an_account_and_administrators_get_theirs_also_if_they_are_users():
    found = accounts(argo(sign_in=True))
    notes = {name: made.inputs["metadata"]["annotations"] for name, made in found.items()}
    assert notes[USERS]["workflows.argoproj.io/rbac-rule"] == f"'{USERS}' in groups"
    assert notes[ADMINS]["workflows.argoproj.io/rbac-rule"] == f"'{ADMINS}' in groups"
    precedence = {name: int(note["workflows.argoproj.io/rbac-rule-precedence"]) for name, note in notes.items()}
    assert precedence[ADMINS] > precedence[USERS], "the highest wins"


def test_no_step_of_a_workflow_can_run_as_somebody_who_signed_in():
    found = accounts(argo(sign_in=True))
    assert {made.inputs["metadata"]["namespace"] for made in found.values()} == {CHART.namespace}
    assert CHART.namespace != NAMESPACE


def test_the_server_has_a_token_for_each_account_that_never_enters_the_programs_state():
    built = argo(sign_in=True)
    assert not built.all("kubernetes:core/v1:Secret"), "Kubernetes writes the token into it, and the provider reads it"
    for secret in settled(built, built.result.values["extraObjects"]):
        account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
        assert account in accounts(built)
        assert secret["metadata"]["name"] == f"{account}.service-account-token", "the server looks for that name"
        assert secret["metadata"]["namespace"] == CHART.namespace
        assert "data" not in secret
        assert "stringData" not in secret


def test_published_it_speaks_tls_up_to_the_pod():
    server = values(domain=True)["server"]
    assert server["secure"] is True
    notes = server["ingress"]["annotations"]
    assert notes["alb.ingress.kubernetes.io/backend-protocol"] == "HTTPS"
    assert notes["alb.ingress.kubernetes.io/healthcheck-protocol"] == "HTTPS"
    assert server["ingress"]["hosts"] == ["argo.ml.example.com"]


def test_without_a_domain_nothing_is_published_and_a_browser_is_content():
    server = values()["server"]
    assert server["ingress"] == {"enabled": False}
    assert server["secure"] is False, "localhost has no certificate that a browser takes"


def rights(service_account: str) -> Iterator[tuple[str | None, str, str]]:
    """What an account may do: namespace, resource, verb."""
    for grant in grants().values():
        if grant["service_account"] == service_account:
            for rule in grant["rules"]:
                for resource in rule["resources"]:
                    yield from ((grant["namespace"], resource, verb) for verb in rule["verbs"])


def test_nothing_reaches_the_whole_cluster_but_a_little_reading():
    everywhere = {
        (resource, verb)
        for account in {grant["service_account"] for grant in grants().values()}
        for namespace, resource, verb in rights(account)
        if namespace is None
    }
    assert {resource for resource, _ in everywhere} == {"workflows", "workflowtemplates", "serviceaccounts"}
    assert not {verb for _, verb in everywhere} & WRITE_VERBS
    assert CHART.values["controller"]["rbac"] == CHART.values["server"]["rbac"] == {"create": False}


def test_secrets_are_read_by_name_and_by_the_server_only():
    readers = [
        (grant, rule) for grant in grants().values() for rule in grant["rules"] if "secrets" in rule["resources"]
    ]
    assert {grant["service_account"] for grant, _ in readers} == {SERVER_ACCOUNT}
    assert {grant["namespace"] for grant, _ in readers} == {CHART.namespace}
    names = {name for _, rule in readers for name in rule.get("resourceNames", ())}
    tokens = {secret["metadata"]["name"] for secret in values(sign_in=True)["extraObjects"]}
    assert names == {"sso", SIGN_IN_SECRET, *tokens}
    assert all("resourceNames" in rule or list(rule["verbs"]) == ["create"] for _, rule in readers)


def test_no_right_is_a_wildcard():
    assert "*" not in {
        item for grant in grants().values() for rule in grant["rules"] for part in rule.values() for item in part
    }


def test_people_work_in_the_namespace_of_workflows_and_nowhere_else():
    for group in (USERS, ADMINS):
        assert {namespace for namespace, _, _ in rights(group)} == {NAMESPACE}
    assert {(NAMESPACE, "workflows", "create"), (NAMESPACE, "pods/log", "get")} <= set(rights(USERS))
    assert not {verb for _, resource, verb in rights(USERS) if resource.startswith("pods")} & WRITE_VERBS
    assert set(rights(USERS)) < set(rights(ADMINS)), "administrators may do more, and nothing less"


@pytest.mark.parametrize("sign_in", [True, False])
def test_every_role_is_given_to_an_account_of_the_servers_namespace(sign_in: bool):
    built = argo(sign_in=sign_in)
    roles = {made.inputs["metadata"]["name"] for made in [*built.all(ROLES), *built.all(CLUSTER_ROLES)]}
    bindings = [*built.all(f"{ROLES}Binding"), *built.all(f"{CLUSTER_ROLES}Binding")]
    assert {made.inputs["roleRef"]["name"] for made in bindings} == roles
    assert len(roles) == (len(grants()) if sign_in else len(grants()) - 4), "without sign-in its roles are of no use"
    assert {made.inputs["subjects"][0]["namespace"] for made in bindings} == {CHART.namespace}


def test_a_role_is_registered_as_it_is_written():
    made = argo(sign_in=True).named("argo-workflows-sign-in-secrets", ROLES)
    assert made.inputs["rules"] == grants()["sign-in-secrets"]["rules"]
    assert made.inputs["metadata"]["namespace"] == CHART.namespace


def test_a_workflow_that_says_nothing_passes_pod_security_restricted():
    """The pod as the controller puts it together: its defaults, and the step between the executor's containers."""
    chart = CHART.values
    pod = chart["controller"]["workflowDefaults"]["spec"]["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] > 0
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (chart["executor"], chart["mainContainer"]):
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
    assert chart["executor"]["securityContext"]["runAsUser"] == pod["runAsUser"], "they share files"


def test_a_steps_own_requests_may_be_larger_than_any_default():
    assert "limits" not in CHART.values["mainContainer"]["resources"], "a request above a default limit is refused"

"""The world in which plans and unit tests run."""

import gc
import json
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
import pulumi_random as random
import pytest

from localcloud.values import UNKNOWN, Secret
from localcloud.world import InvalidResourceError, UnsupportedRequestError, World
from tests.world import Built, run

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "eks_cluster.json").read_text())
CLUSTER, ADDON = "aws:eks/cluster:Cluster", "aws:eks/addon:Addon"
VPC, LOG_GROUP = "aws:ec2/vpc:Vpc", "aws:cloudwatch/logGroup:LogGroup"
PREFIX = "urn:pulumi:dev::eksai::"


class Own(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Own", name, {}, opts)


def names(urns: Any) -> list[str]:
    return sorted(urn.rpartition("::")[2] for urn in urns)


def without_admin(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    if args.type_ != CLUSTER:
        return None
    access = {**args.props["accessConfig"], "bootstrapClusterCreatorAdminPermissions": False}
    return pulumi.ResourceTransformResult({**args.props, "accessConfig": access}, args.opts)


def make_cluster(opts: pulumi.ResourceOptions | None = None, **arguments: Any) -> eks.Cluster:
    return eks.Cluster(
        "cluster",
        **{
            "name": "eksai-dev",
            "version": "1.35",
            "authentication_mode": eks.AuthenticationMode.API,
            "vpc_id": "vpc-1",
            "private_subnet_ids": ["subnet-1", "subnet-2"],
            "public_subnet_ids": ["subnet-3", "subnet-4"],
            "bootstrap_self_managed_addons": False,
            "create_oidc_provider": False,
            "skip_default_node_group": True,
            "skip_default_security_groups": True,
            "use_default_vpc_cni": True,
            "coredns_addon_options": {"enabled": False},
            "kube_proxy_addon_options": {"enabled": False},
            **arguments,
        },
        opts=opts,
    )


def with_consumers() -> eks.Cluster:
    cluster = make_cluster()
    aws.eks.Addon("by-reference", cluster_name=cluster.eks_cluster.name, addon_name="coredns")
    after = pulumi.ResourceOptions(depends_on=[cluster])
    aws.eks.Addon("by-depends-on", cluster_name="eksai-dev", addon_name="kube-proxy", opts=after)
    kubernetes.Provider("kubernetes", kubeconfig=cluster.kubeconfig_json)
    return cluster


# What is recorded


def test_a_registration_says_what_the_program_asked_for() -> None:
    def build() -> None:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(protect=True))
        zone = "us-west-2a"
        aws.ec2.Subnet("a", vpc_id=vpc.id, cidr_block="10.0.1.0/24", availability_zone=zone)

    built = run(build)
    vpc, subnet = built.only(VPC), built.named("a")
    assert vpc.protect
    assert not subnet.protect
    assert subnet.inputs == {"vpcId": vpc.id, "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-west-2a"}
    assert subnet.dependencies == [vpc.urn]
    assert subnet.property_dependencies == {"vpcId": [vpc.urn]}
    assert subnet.parent == f"{PREFIX}pulumi:pulumi:Stack::eksai-dev"


def test_a_urn_holds_the_types_of_all_parents() -> None:
    def build() -> None:
        outer = Own("outer")
        inner = Own("inner", pulumi.ResourceOptions(parent=outer))
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(parent=inner))

    assert run(build).only(VPC).urn == f"{PREFIX}eksai:index:Own$eksai:index:Own${VPC}::net"


def test_a_component_ends_with_its_outputs() -> None:
    def build() -> None:
        Own("own").register_outputs({"answer": 42})

    assert run(build).named("own").outputs == {"answer": 42}


def test_aliases_are_urns() -> None:
    def build() -> None:
        renamed = pulumi.ResourceOptions(aliases=[pulumi.Alias(name="old")])
        aws.ec2.Vpc("new", cidr_block="10.0.0.0/16", opts=renamed)

    assert run(build).only(VPC).aliases == [f"{PREFIX}{VPC}::old"]


def test_a_physical_name_is_made_up_where_none_is_given() -> None:
    made_up = run(lambda: aws.cloudwatch.LogGroup("logs")).only(LOG_GROUP).inputs["name"]

    assert made_up.startswith("logs-"), "as the real provider does"
    assert run(lambda: aws.cloudwatch.LogGroup("logs")).only(LOG_GROUP).inputs["name"] == made_up, (
        "the same program must give the same plan"
    )


def test_a_resource_given_as_input_is_seen_as_its_id() -> None:
    def build() -> None:
        statement = {"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
        trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        role = aws.iam.Role("role", assume_role_policy=trust)
        aws.iam.RolePolicyAttachment("attached", role=role, policy_arn="arn:aws:iam::aws:policy/ReadOnlyAccess")

    built = run(build)
    assert built.named("attached").inputs["role"] == built.named("role").id


def test_secrets_stay_secret_in_inputs_and_exports() -> None:
    def build() -> None:
        password = random.RandomPassword("password", length=20)
        aws.cloudwatch.LogGroup("logs", tags={"a": pulumi.Output.secret("hidden")})
        pulumi.export("password", password.result)

    built = run(build)
    assert built.named("logs").inputs["tags"] == {"a": Secret("hidden")}
    assert isinstance(built.world.exports["password"], Secret)


def test_an_output_named_secret_by_the_program_is_secret() -> None:
    def build() -> None:
        hidden = pulumi.ResourceOptions(additional_secret_outputs=["arn"])
        pulumi.export("arn", aws.cloudwatch.LogGroup("logs", opts=hidden).arn)

    assert isinstance(run(build).world.exports["arn"], Secret)


def test_the_explicit_provider_says_where_a_resource_is() -> None:
    def build() -> pulumi.Output[str]:
        provider = aws.Provider("cn", region="cn-north-1", allowed_account_ids=["444455556666"])
        logs = aws.cloudwatch.LogGroup("logs", name="x", opts=pulumi.ResourceOptions(provider=provider))
        return logs.arn

    built = run(build)
    assert built.only(LOG_GROUP).provider == built.named("cn").urn
    assert built.value(built.result) == "arn:aws-cn:logs:cn-north-1:444455556666:log-group:x"


def test_requests_come_in_the_same_order_in_every_run() -> None:
    def build() -> None:
        for number in range(20):
            provider = aws.Provider(f"p{number}", region="us-west-2")
            aws.cloudwatch.LogGroup(f"l{number}", opts=pulumi.ResourceOptions(provider=provider))

    first = [resource.urn for resource in run(build).resources]
    assert [resource.urn for resource in run(build).resources] == first


def test_log_messages_are_kept() -> None:
    assert run(lambda: pulumi.log.warn("soon out of support")).world.messages == [("warning", "soon out of support")]


# A preview


def test_a_preview_knows_inputs_and_what_follows_from_them_but_no_ids() -> None:
    def build() -> pulumi.Output[str]:
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        aws.ec2.Subnet("a", vpc_id=vpc.id, cidr_block="10.0.1.0/24", availability_zone="us-west-2a")
        pulumi.export("id", vpc.id)
        pulumi.export("cidr", vpc.cidr_block)

    built = run(build, preview=True)
    assert built.only(VPC).id is UNKNOWN
    assert built.named("a").inputs["vpcId"] is UNKNOWN
    assert built.world.exports == {"id": UNKNOWN, "cidr": "10.0.0.0/16"}


def test_an_apply_on_an_unknown_is_not_called_in_a_preview() -> None:
    def build() -> None:
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16").id.apply(lambda _: pytest.fail("called with an unknown"))

    run(build, preview=True)


# eks.Cluster


def test_eks_cluster_registers_its_children() -> None:
    built = run(make_cluster)

    recorded = {(child["type"], child["name"]) for child in GOLDEN["base"]["children"]}
    assert {(r.type, r.name) for r in built.resources} == recorded | {("eks:index:Cluster", "cluster")}
    assert built.named("cluster").inputs == {}, "as the real component: policies see no arguments on it"
    assert built.only(CLUSTER).urn == f"{PREFIX}eks:index:Cluster${CLUSTER}::cluster-eksCluster"


def test_consumers_depend_on_what_they_depend_on_under_the_real_engine() -> None:
    built = run(with_consumers)
    expected = GOLDEN["consumers"]

    assert names(built.named("by-reference").dependencies) == expected["byReference"]
    assert names(built.named("by-depends-on").dependencies) == expected["byDependsOn"]
    assert names(built.named("kubernetes").dependencies) == expected["kubernetesProvider"]


def test_outputs_of_eks_cluster_can_be_read_as_resources() -> None:
    def build() -> pulumi.Output[list[Any]]:
        cluster = make_cluster()
        core = cluster.core
        return pulumi.Output.all(cluster.eks_cluster.name, core.cluster.arn, core.cluster_iam_role.arn, core.endpoint)

    built = run(build)
    cluster = built.only(CLUSTER).outputs
    role = built.named("cluster-eksRole-role").outputs
    assert built.value(built.result) == ["eksai-dev", cluster["arn"], role["arn"], cluster["endpoint"]]


def test_a_first_preview_of_eks_cluster_knows_the_cluster_name_only() -> None:
    def build() -> None:
        cluster = make_cluster()
        for key in ("kubeconfig_json", "cluster_security_group_id", "oidc_issuer", "oidc_provider_arn"):
            pulumi.export(key, getattr(cluster, key))
        pulumi.export("name", cluster.eks_cluster.name)
        pulumi.export("core", cluster.core.vpc_id)

    assert run(build, preview=True).world.exports == {
        "kubeconfig_json": UNKNOWN,
        "cluster_security_group_id": UNKNOWN,
        "oidc_issuer": UNKNOWN,
        "oidc_provider_arn": "",
        "name": "eksai-dev",
        "core": UNKNOWN,
    }


def test_a_transform_reaches_the_children_as_in_the_engine() -> None:
    seen: list[str] = []

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        seen.append(f"{args.type_} {args.name}")
        return without_admin(args)

    built = run(lambda: make_cluster(pulumi.ResourceOptions(transforms=[transform])))

    assert built.only(CLUSTER).inputs["accessConfig"] == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    }
    assert sorted(seen) == sorted(GOLDEN["base"]["transformCalls"]), "called twice for the component, once a child"


def test_a_transform_of_the_parent_reaches_eks_cluster_too() -> None:
    def build() -> None:
        parent = Own("own", pulumi.ResourceOptions(transforms=[without_admin]))
        make_cluster(pulumi.ResourceOptions(parent=parent))

    access = run(build).only(CLUSTER).inputs["accessConfig"]
    assert access["bootstrapClusterCreatorAdminPermissions"] is False


def test_a_transform_of_the_stack_reaches_everything() -> None:
    def build() -> None:
        pulumi.runtime.register_resource_transform(without_admin)
        make_cluster()

    access = run(build).only(CLUSTER).inputs["accessConfig"]
    assert access["bootstrapClusterCreatorAdminPermissions"] is False


def test_inside_a_component_the_children_use_its_provider() -> None:
    def build() -> None:
        provider = aws.Provider("aws", region="us-west-2")
        parent = Own("own", pulumi.ResourceOptions(providers=[provider]))
        make_cluster(pulumi.ResourceOptions(parent=parent))

    built = run(build)
    assert built.named("cluster").parent == built.named("own").urn
    assert built.only(CLUSTER).provider == built.named("aws").urn
    assert built.named("cluster-eks-k8s").provider == ""


def test_get_kubeconfig_answers_the_output() -> None:
    def build() -> pulumi.Output[list[Any]]:
        cluster = make_cluster()
        return pulumi.Output.all(cluster.get_kubeconfig(), cluster.kubeconfig_json)

    built = run(build)
    answered, output = built.value(built.result)
    assert answered == output


# Functions


def test_aws_answers_who_calls_and_where() -> None:
    def build() -> tuple[str, str, str]:
        provider = aws.Provider("aws", region="us-gov-west-1", allowed_account_ids=["444455556666"])
        options = pulumi.InvokeOptions(provider=provider)
        return (
            aws.get_partition(opts=options).partition,
            aws.get_region(opts=options).region,
            aws.get_caller_identity(opts=options).account_id,
        )

    built = run(build)
    assert built.result == ("aws-us-gov", "us-gov-west-1", "444455556666")
    assert built.world.invokes[0].token == "aws:index/getPartition:getPartition"


# What is refused


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: aws.ec2.get_vpc(default=True), r"aws:ec2/getVpc:getVpc .* World"),
        (lambda: aws.ec2.Vpc.get("net", "vpc-1"), r"aws:ec2/vpc:Vpc 'net' is read"),
        (lambda: aws.rds.Cluster("db", engine="aurora-mysql"), r"aws:rds/cluster:Cluster 'db' .* does not know"),
        (
            lambda: pulumi.ComponentResource("other:index:Thing", "thing", remote=True),
            r"other:index:Thing 'thing' is a component of another package",
        ),
        (lambda: make_cluster(storage_classes="gp3"), r"storageClasses is not modelled"),
    ],
)
def test_what_has_no_answer_is_refused_by_name(build: Any, named: str) -> None:
    with pytest.raises(Exception, match=named):
        run(build)


def test_what_the_provider_would_refuse_is_refused() -> None:
    with pytest.raises(InvalidResourceError, match=r"aws:ec2/vpc:Vpc 'net' is refused: cidrBlock"):
        run(lambda: aws.ec2.Vpc("net"))


def test_two_resources_of_one_name_are_refused() -> None:
    def build() -> None:
        for _ in range(2):
            aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")

    with pytest.raises(ValueError, match=f"Two resources have the URN {PREFIX}{VPC}::net"):
        run(build)


def test_a_transform_that_changes_options_is_refused() -> None:
    def protect(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        return pulumi.ResourceTransformResult(args.props, pulumi.ResourceOptions(protect=True))

    with pytest.raises(UnsupportedRequestError, match="changes options"):
        run(lambda: make_cluster(pulumi.ResourceOptions(transforms=[protect])))


# Failure and isolation


class MistakeError(Exception):
    pass


def fail(*_: Any) -> Any:
    raise MistakeError("on purpose")


@pytest.mark.parametrize(
    "build",
    [
        fail,
        lambda: (aws.ec2.Vpc("net", cidr_block="10.0.0.0/16"), fail()),
        lambda: aws.ec2.Vpc("net", cidr_block="10.0.0.0/16").id.apply(fail),
        lambda: aws.cloudwatch.LogGroup("l", name=aws.ec2.Vpc("net", cidr_block="10.0.0.0/16").id.apply(fail)),
        lambda: pulumi.export("x", aws.ec2.Vpc("net", cidr_block="10.0.0.0/16").id.apply(fail)),
    ],
    ids=["before any resource", "after one", "in an apply", "in an input", "in an export"],
)
def test_what_the_program_raises_is_raised_and_nothing_else_is_said(
    build: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MistakeError, match="on purpose"):
        run(build)
    gc.collect()
    assert capfd.readouterr() == ("", ""), "futures that nobody asks stay quiet"


def test_a_failed_world_does_not_disturb_the_next() -> None:
    with pytest.raises(MistakeError):
        run(lambda: aws.ec2.Vpc("net", cidr_block="10.0.0.0/16").id.apply(fail))

    assert run(lambda: aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")).only(VPC).name == "net"


def test_worlds_see_neither_configuration_nor_resources_of_each_other() -> None:
    def build() -> str | None:
        aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
        return pulumi.Config().get("colour")

    first, second = run(build, colour="red"), run(build)
    assert (first.result, second.result) == ("red", None)
    assert len(second.resources) == 1


def test_a_secret_of_the_configuration_is_secret() -> None:
    def build() -> None:
        pulumi.export("token", pulumi.Config().require_secret("token"))

    world = World("eksai", "dev", {"eksai:token": "hidden"}, secret_keys=["eksai:token"])
    world.run(build)
    assert world.exports == {"token": Secret("hidden")}


def test_a_world_runs_once() -> None:
    built: Built[None] = run(lambda: None)
    with pytest.raises(RuntimeError, match="has run"):
        built.world.run(lambda: None)


# The tests' own look-ups


def test_a_failed_look_up_lists_what_there_is() -> None:
    built = run(lambda: aws.ec2.Vpc("net", cidr_block="10.0.0.0/16"))

    assert built.all(LOG_GROUP) == []
    with pytest.raises(AssertionError, match=f"(?s)found 0.*{VPC} net"):
        built.only(LOG_GROUP)
    with pytest.raises(AssertionError, match="named 'other'"):
        built.named("other")

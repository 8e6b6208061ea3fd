"""The EKS control plane, who may use it, and the provider through which Kubernetes objects are made."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.compute.kubeconfig import kubeconfig
from components.partition import partition_of
from components.readiness import once

CONTROL_PLANE_ZONES = 2
"""Zones of the control plane's interfaces; EKS asks for two at least."""


class ClusterSettings(TypedDict):
    """The plain part of `ClusterArgs`."""

    name: str
    """The cluster's name; it never changes."""
    version: str
    """Kubernetes version."""
    admins: Sequence[str]
    """ARNs of the roles with cluster-admin rights; the deployer's is one of them."""
    public_access_cidrs: Sequence[str]
    """Public IPv4 ranges that reach the API endpoint; none makes it private only."""
    log_types: Sequence[str]
    """Control-plane logs that go to CloudWatch."""
    log_retention_days: int
    """Days that they are kept."""
    deletion_protection: bool
    """Whether AWS refuses to delete the cluster."""
    support_type: str
    """What happens when the version's standard support ends: `STANDARD`, AWS upgrades; `EXTENDED`, AWS charges."""


class ClusterArgs(ClusterSettings):
    """What a cluster needs."""

    region: str
    """AWS region."""
    deployer_role_arn: str | None
    """Role that deploys, None for the caller's own; Kubernetes objects are made under it too."""
    vpc_id: pulumi.Input[str]
    """The VPC."""
    private_subnet_ids: Sequence[pulumi.Input[str]]
    """Private subnets, one a zone; the control plane's interfaces lie in the first two."""
    routed_private_subnet_ids: Sequence[pulumi.Output[str]]
    """The same once their way out exists: Kubernetes objects wait for it, the control plane does not."""
    key_arn: pulumi.Input[str]
    """Key for secrets and logs."""


class Cluster(pulumi.ComponentResource):
    """An EKS cluster without nodes, with access entries instead of a creator who is admin by accident."""

    endpoint: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """The group that EKS makes and that every node carries: nodes in two groups would not reach each other's DNS."""
    kubeconfig: pulumi.Output[str]
    provider: kubernetes.Provider

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Cluster", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        # Made beforehand: left to EKS, the group would have no key and no end.
        logs = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name=f"/aws/eks/{args['name']}/cluster",
            retention_in_days=args["log_retention_days"],
            kms_key_id=args["key_arn"],
            opts=child,
        )
        cluster = eks.Cluster(
            name,
            name=args["name"],
            version=args["version"],
            authentication_mode=eks.AuthenticationMode.API,
            vpc_id=args["vpc_id"],
            # EKS: the control plane stays in the zones that it was made in. Two are enough for it, for ever.
            private_subnet_ids=list(args["private_subnet_ids"])[:CONTROL_PLANE_ZONES],
            endpoint_private_access=True,
            # Where it is public this stays unset (AWS: on): set, every `up` would poll the endpoint for minutes.
            endpoint_public_access=None if args["public_access_cidrs"] else False,
            public_access_cidrs=list(args["public_access_cidrs"]) or None,
            encryption_config_key_arn=args["key_arn"],
            enabled_cluster_log_types=list(args["log_types"]),
            deletion_protection=args["deletion_protection"],
            upgrade_policy={"support_type": args["support_type"]},
            bootstrap_self_managed_addons=False,
            skip_default_node_group=True,
            skip_default_security_groups=True,
            create_oidc_provider=False,
            # Misnamed upstream: it means that the component makes no vpc-cni add-on. All add-ons are ours.
            use_default_vpc_cni=True,
            kube_proxy_addon_options={"enabled": False},
            coredns_addon_options={"enabled": False},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[logs],
                transforms=[without_creator_admin],
                # AWS would refuse at the cluster, when everything in it is gone already; the engine refuses at once.
                protect=args["deletion_protection"],
            ),
        )
        admins = [self._admin(f"{name}-{_path_of(role)}", role, args, cluster) for role in args["admins"]]
        self.endpoint = cluster.eks_cluster.endpoint
        self.security_group_id = cluster.cluster_security_group_id
        made = pulumi.Output.all(
            endpoint=cluster.eks_cluster.endpoint,
            certificate_authority=cluster.eks_cluster.certificate_authority.data,
        ).apply(
            lambda known: kubeconfig(
                name=args["name"],
                region=args["region"],
                endpoint=known["endpoint"],
                certificate_authority=known["certificate_authority"],
                role_arn=args["deployer_role_arn"],
            )
        )
        self.kubeconfig = pulumi.Output.secret(once(made, *args["routed_private_subnet_ids"]))
        self.provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            # Known before the cluster is: otherwise any change of the kubeconfig would replace every object in it.
            cluster_identifier=f"{args['region']}/{args['name']}",
            # Rights outlive every object, so that objects can still be deleted.
            opts=pulumi.ResourceOptions(parent=self, depends_on=admins),
        )
        self.register_outputs({"endpoint": self.endpoint})

    def _admin(
        self, name: str, role_arn: str, args: ClusterArgs, cluster: eks.Cluster
    ) -> aws.eks.AccessPolicyAssociation:
        """Gives a role cluster-admin rights."""
        after_cluster = pulumi.ResourceOptions(parent=self, depends_on=[cluster])
        entry = aws.eks.AccessEntry(name, cluster_name=args["name"], principal_arn=role_arn, opts=after_cluster)
        policy = "cluster-access-policy/AmazonEKSClusterAdminPolicy"
        return aws.eks.AccessPolicyAssociation(
            name,
            cluster_name=args["name"],
            principal_arn=entry.principal_arn,
            policy_arn=f"arn:{partition_of(args['region'])}:eks::aws:{policy}",
            access_scope={"type": "cluster"},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[entry]),
        )


def _path_of(role_arn: str) -> str:
    """A role's path and name as part of a logical name: two roles of one name in different paths are two."""
    return role_arn.partition(":role/")[2].replace("/", "-")


def without_creator_admin(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """Takes the creator's hidden admin rights away.

    `eks.Cluster` hard-codes them on and ignores later changes, so this holds from the first `up` on. They would
    also collide with the entry that names the same role openly.
    """
    if args.type_ != "aws:eks/cluster:Cluster":
        return None
    config = cast(Mapping[str, Any], args.props["accessConfig"])
    access = {**config, "bootstrapClusterCreatorAdminPermissions": False}
    return pulumi.ResourceTransformResult({**args.props, "accessConfig": access}, args.opts)

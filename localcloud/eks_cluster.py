"""What the component `eks:index:Cluster` of pulumi-eks registers, as pure data.

The real component runs in a provider of its own, which neither depth of the local cloud has. Both register in
its place what `expand` describes (how is in `localcloud.expansion`): depth 1 in `localcloud.world`, depth 2 in
the `Construct` of `localcloud.provider`. `tests/golden/eks_cluster.json` holds what the real one (4.4.0)
registered under the real engine.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from localcloud.eks_arguments import PASSED_ON, TOKEN, VPC_CONFIG, UnsupportedArgumentError, refuse_unmodelled
from localcloud.expansion import (
    ArnRegion,
    Child,
    Expansion,
    FromChild,
    Registered,
    Whole,
    WithoutScheme,
    compact_json,
    resolve,
    urns,
)
from localcloud.values import UNKNOWN, contains_unknown

__all__ = [
    "TOKEN",
    "Child",
    "Expansion",
    "FromChild",
    "Registered",
    "UnsupportedArgumentError",
    "expand",
    "resolve",
    "urns",
]

KUBERNETES_PROVIDER = "4.19.0"
"""Version of the Kubernetes provider that pulumi-eks 4.4.0 pins for itself (its package.json)."""


def expand(
    name: str, inputs: Mapping[str, Any], dependencies: Mapping[str, Sequence[str]], partition: str = "aws"
) -> Expansion:
    """Describes what the component registers for a control plane without nodes, groups and OIDC provider.

    Args:
        name: logical name of the component; every child's name starts with it.
        inputs: the component's arguments in camelCase, as the program sends them; may hold `UNKNOWN`.
        dependencies: for each argument, the URNs of the resources that its value comes from.
        partition: AWS partition of the provider's region, which the component asks for.

    Raises:
        UnsupportedArgumentError: naming every argument with which the real component registers something else
            than what was captured from it.
    """
    refuse_unmodelled(name, inputs, dependencies)

    def came_from(*arguments: str) -> tuple[str, ...]:
        return _unique(urn for argument in arguments for urn in dependencies.get(argument, ()))

    service_role, cluster, provider = f"{name}-eksRole", f"{name}-eksCluster", f"{name}-eks-k8s"
    role = f"{service_role}-role"
    policy = f"arn:{partition}:iam::aws:policy/AmazonEKSClusterPolicy"
    attachment = f"{service_role}-{_short_hash(policy)}"

    subnets = _joined(inputs.get("publicSubnetIds", []), inputs.get("privateSubnetIds", []))
    encryption = _encryption(inputs.get("encryptionConfigKeyArn"))
    kubeconfig = _kubeconfig(cluster)

    cluster_inputs = _without_none(
        {
            **{argument: inputs.get(argument) for argument in PASSED_ON},
            # The component writes True here; the design's transform makes it False.
            "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
            "encryptionConfig": encryption,
            "roleArn": FromChild(role, "arn"),
            "tags": {"Name": cluster},
            "vpcConfig": _without_none(
                {"subnetIds": subnets, **{argument: inputs.get(argument) for argument in VPC_CONFIG}}
            ),
        }
    )
    cluster_origins = {
        **{argument: came_from(argument) for argument in PASSED_ON},
        "encryptionConfig": came_from("encryptionConfigKeyArn"),
        "roleArn": (role,),
        "vpcConfig": came_from("publicSubnetIds", "privateSubnetIds", *VPC_CONFIG),
    }
    cluster_origins = {key: origins for key, origins in cluster_origins.items() if origins}
    all_origins = (origin for origins in cluster_origins.values() for origin in origins)

    children = (
        Child(
            type="eks:index:ServiceRole",
            name=service_role,
            parent_name=None,
            custom=False,
            outputs={"directRole": FromChild(role), "resolvedRole": Whole(FromChild(role))},
        ),
        Child(
            type="aws:iam/role:Role",
            name=role,
            parent_name=service_role,
            inputs={
                "assumeRolePolicy": compact_json(_TRUST),
                "description": "Allows EKS to manage clusters on your behalf.",
            },
        ),
        Child(
            type="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            name=attachment,
            parent_name=service_role,
            inputs={"policyArn": policy, "role": FromChild(role)},
            dependencies=(role,),
            property_dependencies={"role": (role,)},
        ),
        Child(
            type="aws:eks/cluster:Cluster",
            name=cluster,
            parent_name=None,
            inputs=cluster_inputs,
            dependencies=_unique((attachment, *all_origins)),
            property_dependencies=cluster_origins,
            ignore_changes=(
                "accessConfig.bootstrapClusterCreatorAdminPermissions",
                "bootstrapSelfManagedAddons",
            ),
        ),
        Child(
            type="pulumi:providers:kubernetes",
            name=provider,
            parent_name=None,
            inputs={"kubeconfig": Whole(kubeconfig, as_json=True)},
            dependencies=(cluster,),
            property_dependencies={"kubeconfig": (cluster,)},
            version=KUBERNETES_PROVIDER,
        ),
        *_access(name, cluster, inputs.get("accessEntries", {})),
    )

    group_id = FromChild(cluster, "vpcConfig.clusterSecurityGroupId")
    issuer = FromChild(cluster, "identities.0.oidcs.0.issuer")
    core = _without_none(
        {
            "accessEntries": list(inputs.get("accessEntries", {}).values()),
            "autoModeNodeRoleName": "",
            "cluster": FromChild(cluster),
            "clusterIamRole": FromChild(role),
            "encryptionConfig": encryption,
            "endpoint": FromChild(cluster, "endpoint"),
            "instanceRoles": [],
            "kubeconfig": kubeconfig,
            "nodeGroupOptions": _without_none({"version": inputs.get("version")}),
            "privateSubnetIds": inputs.get("privateSubnetIds"),
            "provider": FromChild(provider),
            "publicSubnetIds": inputs.get("publicSubnetIds"),
            "storageClasses": {},
            "subnetIds": subnets,
            "vpcId": inputs["vpcId"],
        }
    )
    core_origins = came_from("encryptionConfigKeyArn", "publicSubnetIds", "privateSubnetIds", "version", "vpcId")
    from_cluster = {
        "clusterSecurityGroupId": group_id,
        "eksCluster": FromChild(cluster),
        "kubeconfig": Whole(kubeconfig),
        "kubeconfigJson": Whole(kubeconfig, as_json=True),
        "nodeSecurityGroupId": group_id,
        "oidcIssuer": WithoutScheme(issuer),
        "oidcProviderUrl": issuer,
    }
    return Expansion(
        children=children,
        output_values={**_EMPTY_OUTPUTS, **from_cluster, "core": Whole(core)},
        output_dependencies={
            **dict.fromkeys(_EMPTY_OUTPUTS, ()),
            **dict.fromkeys(from_cluster, (cluster,)),
            "core": (provider, cluster, role, *core_origins),
        },
    )


# Known from the first preview on, since nothing stands behind them in the captured choice.
_EMPTY_OUTPUTS: Mapping[str, Any] = {
    "autoModeNodeRoleName": "",
    "clusterIngressRuleId": "",
    "defaultNodeGroupAsgName": "",
    "fargateProfileId": "",
    "fargateProfileStatus": "",
    "instanceRoles": [],
    "oidcProviderArn": "",
}

_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Effect": "Allow",
            "Principal": {"Service": ["eks.amazonaws.com"]},
        }
    ],
}


def _access(name: str, cluster: str, entries: Mapping[str, Mapping[str, Any]]) -> Iterable[Child]:
    """Access entries, each followed by the policies associated with it."""
    common = {"clusterName": FromChild(cluster, "name")}
    origins = {"clusterName": (cluster,)}
    for entry_key, entry in entries.items():
        entry_name = f"{name}-{entry_key}"
        yield Child(
            type="aws:eks/accessEntry:AccessEntry",
            name=entry_name,
            parent_name=None,
            inputs={**common, **{key: value for key, value in entry.items() if key != "accessPolicies"}},
            dependencies=(cluster,),
            property_dependencies=origins,
        )
        for policy_key, policy in entry.get("accessPolicies", {}).items():
            yield Child(
                type="aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                name=f"{entry_name}-{policy_key}",
                parent_name=entry_name,
                inputs={**common, "principalArn": entry["principalArn"], **policy},
                dependencies=(entry_name, cluster),
                property_dependencies=origins,
            )


def _kubeconfig(cluster: str) -> dict[str, Any]:
    """What `aws eks get-token` needs; it holds no token, so the real component does not make it a secret."""
    get_token = ["eks", "get-token", "--cluster-name", FromChild(cluster, "name"), "--output", "json"]
    return {
        "apiVersion": "v1",
        "clusters": [
            {
                "cluster": {
                    "server": FromChild(cluster, "endpoint"),
                    "certificate-authority-data": FromChild(cluster, "certificateAuthority.data"),
                },
                "name": "kubernetes",
            }
        ],
        "contexts": [{"context": {"cluster": "kubernetes", "user": "aws"}, "name": "aws"}],
        "current-context": "aws",
        "kind": "Config",
        "users": [
            {
                "name": "aws",
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1beta1",
                        "command": "aws",
                        "args": ["--region", ArnRegion(FromChild(cluster, "arn")), *get_token],
                        "env": [
                            {
                                "name": "KUBERNETES_EXEC_INFO",
                                "value": '{"apiVersion": "client.authentication.k8s.io/v1beta1"}',
                            }
                        ],
                    }
                },
            }
        ],
    }


def _encryption(key_arn: Any) -> Any:
    if key_arn is None or key_arn is UNKNOWN:
        return key_arn
    return {"provider": {"keyArn": key_arn}, "resources": ["secrets"]}


def _joined(public: Any, private: Any) -> Any:
    """Public subnets, then private ones; one unknown id makes the whole list unknown."""
    return UNKNOWN if contains_unknown([public, private]) else [*public, *private]


def _short_hash(policy_arn: str) -> str:
    """The suffix of an attachment's name: the real component takes 8 hexadecimal digits of the ARN's SHA-1.

    For AmazonEKSClusterPolicy that is 4b490823, as captured in partition aws. A name, not a safeguard.
    """
    return hashlib.sha1(policy_arn.encode(), usedforsecurity=False).hexdigest()[:8]


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))

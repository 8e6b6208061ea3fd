"""The training pipeline: what runs it, and what its pods may do."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.partition import dns_suffix_of, partition_of
from components.pod_identity import PodIdentity
from components.policy_document import document
from components.pools import Pool
from components.workflows import ARTIFACTS, NAMESPACE, WORKFLOW_ACCOUNT
from components.workloads.ml_pipeline_template import (
    MODELS,
    NAME,
    REGISTER_ACCOUNT,
    RUNS,
    STEP_ACCOUNT,
    MlPipelineSettings,
    workflow_spec,
)

DATASETS = "datasets"
"""Prefix of data sets in the model bucket."""


class MlPipelineArgs(MlPipelineSettings):
    """What the training pipeline needs."""

    cluster_name: str
    """The cluster's name."""
    region: str
    """AWS region."""
    all_pools: Mapping[str, Pool]
    """All pools of the stack, by name."""
    image: pulumi.Input[str]
    """The pipeline's image. It may be pushed later: until then runs wait at their first step."""
    key_arn: pulumi.Input[str]
    """Key that both buckets are encrypted with."""
    model_bucket: pulumi.Input[str]
    """The bucket of data sets and models."""
    runs_bucket: pulumi.Input[str]
    """The bucket that steps leave things for each other in, and Argo their logs and artifacts."""


class MlPipeline(pulumi.ComponentResource):
    """A WorkflowTemplate, the service accounts of its steps, and their rights in Kubernetes and in AWS."""

    def __init__(self, name: str, args: MlPipelineArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:MlPipeline", name, {}, opts)
        before = [
            *_make_accounts(name, args, pulumi.ResourceOptions(parent=self)),
            *_make_rights(name, pulumi.ResourceOptions(parent=self)),
        ]
        kubernetes.apiextensions.CustomResource(
            name,
            api_version="argoproj.io/v1alpha1",
            kind="WorkflowTemplate",
            metadata={"name": NAME, "namespace": NAMESPACE},
            spec=workflow_spec(
                args,
                {
                    "pools": args["all_pools"],
                    "image": args["image"],
                    "model_bucket": args["model_bucket"],
                    "runs_bucket": args["runs_bucket"],
                },
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=before),
        )
        self.register_outputs({})


def _make_accounts(name: str, args: MlPipelineArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    made: list[pulumi.Resource] = []
    for account, statements in {STEP_ACCOUNT: _step_rights(args), REGISTER_ACCOUNT: _register_rights(args)}.items():
        made.append(
            kubernetes.core.v1.ServiceAccount(
                f"{name}-{account}", metadata={"name": account, "namespace": NAMESPACE}, opts=opts
            )
        )
        made.append(
            PodIdentity(
                f"{name}-{account}",
                {
                    "cluster_name": args["cluster_name"],
                    "namespace": NAMESPACE,
                    "service_account": account,
                    "policies": {"storage": document(*statements, _encryption_right(args))},
                },
                opts,
            )
        )
    return made


def _step_rights(args: MlPipelineArgs) -> list[dict[str, Any]]:
    """Reads data sets; reads and writes what runs leave; saves logs."""
    runs, models = _bucket_arn(args, args["runs_bucket"]), _bucket_arn(args, args["model_bucket"])
    others = [_bucket_arn(args, bucket) for bucket in args["dataset_buckets"]]
    datasets = [_under(models, DATASETS), *(pulumi.Output.concat(bucket, "/*") for bucket in others)]
    return [
        _allow(["s3:GetObject"], datasets),
        _allow(["s3:GetObject", "s3:PutObject"], [_under(runs, RUNS)]),
        _may_save_logs(runs),
        _may_list(runs, models, *others),
    ]


def _register_rights(args: MlPipelineArgs) -> list[dict[str, Any]]:
    """Reads what runs leave; reads and writes models; saves logs."""
    runs, models = _bucket_arn(args, args["runs_bucket"]), _bucket_arn(args, args["model_bucket"])
    return [
        _allow(["s3:GetObject"], [_under(runs, RUNS)]),
        _allow(["s3:GetObject", "s3:PutObject"], [_under(models, MODELS)]),
        _may_save_logs(runs),
        _may_list(runs, models),
    ]


def _bucket_arn(args: MlPipelineArgs, bucket: pulumi.Input[str]) -> pulumi.Output[str]:
    return pulumi.Output.concat(f"arn:{partition_of(args['region'])}:s3:::", bucket)


def _allow(actions: Sequence[str], resources: Sequence[pulumi.Input[str]]) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}


def _under(bucket_arn: pulumi.Input[str], prefix: str) -> pulumi.Output[str]:
    return pulumi.Output.concat(bucket_arn, f"/{prefix}/*")


def _may_save_logs(runs: pulumi.Input[str]) -> dict[str, Any]:
    # Argo's container in a pod has no rights but the pod's, and a step whose logs it cannot save has failed.
    return _allow(["s3:PutObject"], [_under(runs, ARTIFACTS)])


def _may_list(*buckets: pulumi.Input[str]) -> dict[str, Any]:
    # Else S3 answers that a key which is not there may not be read: the first try of `train` would fail for want of a
    # checkpoint. Of whole buckets, as reading one key is listing below no prefix.
    return _allow(["s3:ListBucket"], buckets)


def _encryption_right(args: MlPipelineArgs) -> dict[str, Any]:
    service = f"s3.{args['region']}.{dns_suffix_of(args['region'])}"
    return _allow(["kms:Decrypt", "kms:GenerateDataKey"], [args["key_arn"]]) | {
        "Condition": {"StringEquals": {"kms:ViaService": service}}
    }


_RIGHTS: Mapping[str, tuple[Sequence[str], kubernetes.rbac.v1.PolicyRuleArgsDict]] = {
    # What Argo's container in every pod needs to tell how the step went.
    "steps": (
        (STEP_ACCOUNT, REGISTER_ACCOUNT),
        {"api_groups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
    ),
    # What `apply` does, and looking how the job goes. Kubernetes deletes it after its workflow.
    "ray-jobs": (
        (WORKFLOW_ACCOUNT,),
        {"api_groups": ["ray.io"], "resources": ["rayjobs"], "verbs": ["create", "get", "patch"]},
    ),
}
"""Rights in the namespace: whose they are, and what they are."""


def _make_rights(name: str, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    made: list[pulumi.Resource] = []
    for right, (accounts, rule) in _RIGHTS.items():
        role = f"ml-pipeline-{right}"
        made.append(
            kubernetes.rbac.v1.Role(
                f"{name}-{right}", metadata={"name": role, "namespace": NAMESPACE}, rules=[rule], opts=opts
            )
        )
        made.append(
            kubernetes.rbac.v1.RoleBinding(
                f"{name}-{right}",
                metadata={"name": role, "namespace": NAMESPACE},
                role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
                subjects=[{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE} for account in accounts],
                opts=opts,
            )
        )
    return made

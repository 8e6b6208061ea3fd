"""The program: settings, base, compute, platform, workloads, exports. It wires; the rest is where its name says."""

from typing import cast

import pulumi

import settings
from components.aws_provider import AwsSettings, make_aws_provider
from components.base.layer import BaseSettings, make_base
from components.compute.layer import CHART_FILES, ComputeInputs, ComputeSettings, make_compute
from components.permissions_boundary import bound_roles
from components.platform.layer import PlatformInputs, PlatformSettings, chart_files, make_platform
from components.workloads.layer import WorkloadInputs, WorkloadSettings, make_workloads

config = settings.load()
stack = config.facts()
base_settings = cast(BaseSettings, config.part(*BaseSettings.__annotations__))
compute_settings = cast(ComputeSettings, config.part(*ComputeSettings.__annotations__))
platform_settings = cast(PlatformSettings, config.part(*PlatformSettings.__annotations__))
workload_settings = cast(WorkloadSettings, config.part(*WorkloadSettings.__annotations__))
stack.charts.check([*CHART_FILES, *chart_files(platform_settings["platform"])])

if config.aws.permissions_boundary_arn:
    pulumi.runtime.register_resource_transform(bound_roles(config.aws.permissions_boundary_arn))
provider = make_aws_provider(cast(AwsSettings, config.part("aws")["aws"]), stack.tags)
base = make_base(base_settings, stack, pulumi.ResourceOptions(providers=[provider]))
compute = make_compute(
    compute_settings,
    ComputeInputs(
        vpc_id=base.vpc_id,
        zones=config.network.availability_zones,
        private_subnet_ids=base.subnets.private,
        routed_private_subnet_ids=base.subnets.routed_private,
        routed_pod_subnet_ids=base.subnets.routed_pods,
        efa_security_group_id=base.efa_security_group_id,
        key_arn=base.key_arn,
        model_bucket_arn=base.model_bucket_arn,
    ),
    stack,
    deployer_role_arn=config.aws.role_arn,
    aws_provider=provider,
)
providers = [provider, compute.kubernetes]
platform = make_platform(
    platform_settings,
    PlatformInputs(
        cluster_ready=compute.ready,
        vpc_id=base.vpc_id,
        key_arn=base.key_arn,
        storage=base.storage,
        domain=base.domain,
        sign_in=base.sign_in,
        addons=compute.addons,
    ),
    stack,
    providers,
)
workloads = make_workloads(
    workload_settings,
    WorkloadInputs(
        cluster_ready=compute.ready,
        pools=compute.pools,
        namespaces=platform.namespaces,
        installed=platform.installed,
        volumes=base.storage.volumes,
        key_arn=base.key_arn,
        model_bucket=base.model_bucket,
        artifact_bucket=platform.artifact_bucket,
        repository_urls=base.repository_urls,
        domain=base.domain,
    ),
    stack,
    providers,
)

exports = {"cluster_name": stack.cluster_name, "region": stack.region, "vpc_id": base.vpc_id, "key_arn": base.key_arn}
exports |= {"kubeconfig": compute.kubeconfig, "model_bucket": base.model_bucket, "repositories": base.repository_urls}
exports |= {"cluster_endpoint": compute.cluster_endpoint, "applications": stack.application_urls(), **vars(workloads)}
for name, value in exports.items():
    pulumi.export(name, value)

"""The program: settings, base, compute, exports. It only wires; everything else is where its name says."""

from typing import cast

import pulumi
import pulumi_aws as aws

import settings
from components.base.layer import BaseSettings, make_base
from components.compute.layer import CHART_FILES, ComputeInputs, ComputeSettings, make_compute
from components.permissions_boundary import bound_roles
from components.platform.layer import PlatformInputs, PlatformSettings, chart_files, make_platform
from components.release import ChartSource

config = settings.load()
cluster_name = str(config.cluster.name)
region, account_id = config.aws.region, config.aws.account_id
tags = {"eksai:cluster": cluster_name, **config.aws.tags}
charts = ChartSource(config.charts.mirror, config.charts.image_registry)
platform_settings = cast(PlatformSettings, config.part("platform"))
charts.check([*CHART_FILES, *chart_files(platform_settings["platform"])])

if config.aws.permissions_boundary_arn:
    pulumi.runtime.register_resource_transform(bound_roles(config.aws.permissions_boundary_arn))

provider = aws.Provider(
    "aws",
    region=region,
    allowed_account_ids=[account_id],
    assume_roles=[{"role_arn": config.aws.role_arn}] if config.aws.role_arn else None,
    default_tags={"tags": tags},
)

base_settings = cast(BaseSettings, config.part("network", "encryption", "model_bucket", "repositories", "storage"))
in_aws = pulumi.ResourceOptions(providers=[provider])
base = make_base(base_settings, region=region, account_id=account_id, cluster_name=cluster_name, opts=in_aws)

compute = make_compute(
    cast(ComputeSettings, config.part("cluster", "addons", "system_nodes", "node_pools")),
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
    region=region,
    account_id=account_id,
    deployer_role_arn=config.aws.role_arn,
    charts=charts,
    tags=tags,
    aws_provider=provider,
)

make_platform(
    platform_settings,
    PlatformInputs(cluster_name, compute.ready, base.vpc_id, base.key_arn, base.storage, compute.addons),
    region=region,
    account_id=account_id,
    cluster_version=config.cluster.version,
    pools=config.pools(),
    charts=charts,
    providers=[provider, compute.kubernetes],
)

pulumi.export("cluster_name", cluster_name)
pulumi.export("region", region)
pulumi.export("cluster_endpoint", compute.cluster_endpoint)
pulumi.export("kubeconfig", compute.kubeconfig)
pulumi.export("vpc_id", base.vpc_id)
pulumi.export("key_arn", base.key_arn)
pulumi.export("model_bucket", base.model_bucket)
pulumi.export("repositories", base.repository_urls)

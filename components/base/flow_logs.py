"""The record of every connection in a VPC, accepted or not."""

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.policy_document import document, trust


class FlowLogsSettings(TypedDict):
    """The plain part of `FlowLogsArgs`."""

    enabled: bool
    """Whether connections are recorded."""
    retention_days: int
    """Days that the record is kept."""


class FlowLogsArgs(FlowLogsSettings):
    """What a flow log needs."""

    vpc_id: pulumi.Input[str]
    """The VPC."""
    cluster_name: str
    """Names the log group."""
    key_arn: pulumi.Input[str]
    """Key that the record is encrypted with."""


class FlowLogs(pulumi.ComponentResource):
    """A flow log of all traffic, in an encrypted log group that only its own role writes to."""

    def __init__(self, name: str, args: FlowLogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:FlowLogs", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        group = aws.cloudwatch.LogGroup(
            name,
            name=f"/aws/vpc/{args['cluster_name']}/flow-logs",
            retention_in_days=args["retention_days"],
            kms_key_id=args["key_arn"],
            opts=child,
        )
        role = aws.iam.Role(
            name,
            assume_role_policy=trust("vpc-flow-logs.amazonaws.com"),
            description=f"Flow logs of {args['cluster_name']}",
            opts=child,
        )
        write = aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=document(
                {
                    "Sid": "WriteOwnGroup",
                    "Effect": "Allow",
                    "Action": ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                    "Resource": pulumi.Output.concat(group.arn, ":*"),
                }
            ),
            opts=child,
        )
        aws.ec2.FlowLog(
            name,
            vpc_id=args["vpc_id"],
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[write]),
        )
        self.register_outputs({})

"""The queue by which EC2 tells Karpenter that an instance will go, and the rules that fill it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.policy_document import deny_plain_http, document

EVENTS: Mapping[str, tuple[str, str]] = {
    "health": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Source and detail type of each event that Karpenter 1.14 acts on."""

RETENTION_S = 300
"""Seconds that a message is kept: a warning older than its two minutes' notice helps nobody."""


class InterruptionQueueArgs(TypedDict):
    """What the queue needs."""

    cluster_name: str
    """The cluster's name."""
    key_arn: pulumi.Input[str]
    """Key that messages are encrypted with."""


class InterruptionQueue(pulumi.ComponentResource):
    """An encrypted queue that takes messages from its own event rules only."""

    queue_name: pulumi.Output[str]
    queue_arn: pulumi.Output[str]

    def __init__(self, name: str, args: InterruptionQueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:InterruptionQueue", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        queue = aws.sqs.Queue(
            name, message_retention_seconds=RETENTION_S, kms_master_key_id=args["key_arn"], opts=child
        )
        rules = {
            event: aws.cloudwatch.EventRule(
                f"{name}-{event}",
                description=f"{detail} for Karpenter of {args['cluster_name']}",
                event_pattern=pulumi.Output.json_dumps({"source": [source], "detail-type": [detail]}),
                opts=child,
            )
            for event, (source, detail) in EVENTS.items()
        }
        policy = aws.sqs.QueuePolicy(
            name,
            queue_url=queue.url,
            policy=_queue_policy(queue.arn, [rule.arn for rule in rules.values()]),
            opts=child,
        )
        for event, rule in rules.items():
            aws.cloudwatch.EventTarget(
                f"{name}-{event}",
                rule=rule.name,
                arn=queue.arn,
                # Before the queue lets the rule in, its events would be lost without a trace.
                opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
            )
        self.queue_name = queue.name
        self.queue_arn = queue.arn
        self.register_outputs({"queue_arn": self.queue_arn})


def _queue_policy(queue_arn: pulumi.Output[str], rule_arns: Sequence[pulumi.Output[str]]) -> pulumi.Output[str]:
    from_rules: dict[str, Any] = {
        "Sid": "EventsOfOwnRules",
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue_arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": list(rule_arns)}},
    }
    return document(from_rules, deny_plain_http("sqs", [queue_arn]))

"""CloudWatch: EventBridge rules with their targets, and log groups."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from localcloud.authorization import Request, allows
from localcloud.aws.kms import DATA_KEYS, encrypts_with, service_refusal
from localcloud.aws.sqs import QUEUE, QUEUE_POLICY
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import (
    Api,
    AutoName,
    Failure,
    Identity,
    OnDelete,
    Properties,
    Refers,
    ResourceType,
    Unique,
)

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

RULE = "aws:cloudwatch/eventRule:EventRule"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"

_EVENTS = "events.amazonaws.com"
_LOG_KEY_ACTIONS = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:GenerateDataKey", "kms:DescribeKey")

# Days of retention that CloudWatch Logs accepts; 0 keeps for ever.
_RETENTIONS = (
    *(0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)


def _listens_or_ticks(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "eventPattern" not in inputs and "scheduleExpression" not in inputs:
        yield Failure("eventPattern", "missing required argument eventPattern or scheduleExpression")


def _key_lets_logs_use_it(account: "Account", group: "Record") -> None:
    _, partition, _, region, *_ = group["arn"].split(":")
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    context = {"kms:EncryptionContext:aws:logs:arn": group["arn"]}
    reason = service_refusal(account, group["kmsKeyId"], f"logs.{region}.{suffix}", _LOG_KEY_ACTIONS, context)
    if reason:
        raise AwsError(
            "InvalidParameterException",
            f"the specified KMS key does not exist or is not allowed to be used with Arn '{group['arn']}': {reason}",
        )


def _a_cluster_logs_into_it(account: "Account", group: "Record") -> bool:
    return any(
        group["name"] == f"/aws/eks/{cluster.id}/cluster" and cluster["enabledClusterLogTypes"]
        for cluster in account.find("aws:eks/cluster:Cluster")
        if cluster.scope == group.scope
    )


def _events_arrive(account: "Account", target: "Record") -> None:
    """AWS takes any target, and loses the events that it may not deliver. Here that is refused."""
    rule = next(account.find(RULE, name=target["rule"]), None)
    queue = next(account.find(QUEUE, arn=target["arn"]), None)
    if rule is None or queue is None:
        return
    context = {"aws:SourceArn": rule["arn"], "aws:SourceAccount": rule["arn"].split(":")[4]}
    asked = Request("sqs:SendMessage", queue["arn"], service=_EVENTS, context=context)
    policies = [queue["policy"], *(item["policy"] for item in account.find(QUEUE_POLICY, queueUrl=queue.id))]
    if not any(allows(policy, asked) for policy in policies if policy):
        raise AwsError(
            "AccessDenied",
            f"no event of rule {rule.id} would arrive: no policy of queue {queue['name']} allows {_EVENTS} "
            f"sqs:SendMessage for {rule['arn']}; make the target after the queue's policy",
        )
    if reason := service_refusal(account, queue["kmsMasterKeyId"], _EVENTS, DATA_KEYS, context):
        raise AwsError("KMS.AccessDeniedException", f"no event of rule {rule.id} would arrive: {reason}")


TYPES = (
    ResourceType(
        RULE,
        id="{name}",
        outputs={"arn": "arn:{partition}:events:{region}:{account}:rule/{name}"},
        defaults={"eventBusName": "default", "forceDestroy": False, "state": "ENABLED"},
        auto_name=AutoName(),
        replaces=("name", "eventBusName"),
        checks=(
            _listens_or_ticks,
            matches("name", r"[.\-_A-Za-z0-9]{1,64}", "a rule name: 1 to 64 letters, digits and .-_"),
            one_of("state", ("ENABLED", "DISABLED", "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS")),
        ),
        api=Api("events", "PutRule", {"forceDestroy": ""}),
        unique=(Unique(("eventBusName", "name"), "ResourceAlreadyExistsException", "rule {name} already exists"),),
        tagged=True,
    ),
    ResourceType(
        "aws:cloudwatch/eventTarget:EventTarget",
        id="{rule}-{targetId}",
        defaults={"eventBusName": "default"},
        required=("rule", "arn"),
        auto_name=AutoName(path="targetId"),
        replaces=("rule", "targetId", "eventBusName"),
        checks=(matches("arn", r"arn:{partition}:[a-z0-9-]+:.*", "an ARN of this partition"),),
        refers=(
            Refers("rule", RULE, "ResourceNotFoundException", in_use="ValidationException"),
            Refers(
                "arn",
                QUEUE,
                "ResourceNotFoundException",
                by=("arn",),
                on_delete=OnDelete.IGNORE,
                external=r"arn:[a-z-]+:(?!sqs:).*",
            ),
        ),
        api=Api("events", "Target", {"targetId": "Id", "rule": "", "eventBusName": "", "forceDestroy": ""}),
        admits=(_events_arrive,),
    ),
    ResourceType(
        LOG_GROUP,
        id="{name}",
        outputs={"arn": "arn:{partition}:logs:{region}:{account}:log-group:{name}"},
        defaults={"retentionInDays": 0, "skipDestroy": False, "logGroupClass": "STANDARD"},
        auto_name=AutoName(longest=512),
        replaces=("name", "logGroupClass"),
        checks=(
            matches("name", r"[.\-_/#A-Za-z0-9]{1,512}", "a log group name: 1 to 512 letters, digits and .-_/#"),
            one_of("retentionInDays", _RETENTIONS),
        ),
        refers=(encrypts_with("kmsKeyId", "InvalidParameterException"),),
        unique=(Unique(("name",), "ResourceAlreadyExistsException", "the log group {name} already exists"),),
        admits=(_key_lets_logs_use_it,),
        api=Api(
            "logs",
            "CreateLogGroup",
            {"name": "logGroupName", **dict.fromkeys(("retentionInDays", "skipDestroy"), "")},
        ),
        # A control plane that logs makes its group again: without key, without end.
        remade=_a_cluster_logs_into_it,
        tagged=True,
    ),
)

"""SQS: queues and their policies."""

from localcloud.aws.kms import encrypts_with
from localcloud.checks import at_most_one, between, matches
from localcloud.resource_type import AutoName, OnDelete, PolicyKind, Refers, ResourceType, Unique

QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"

TYPES = (
    ResourceType(
        QUEUE,
        id="https://sqs.{region}.{dns_suffix}/{account}/{name}",
        outputs={"arn": "arn:{partition}:sqs:{region}:{account}:{name}", "url": "{id}"},
        defaults={
            "delaySeconds": 0,
            "maxMessageSize": 262144,
            "messageRetentionSeconds": 345600,
            "receiveWaitTimeSeconds": 0,
            "visibilityTimeoutSeconds": 30,
            "fifoQueue": False,
        },
        auto_name=AutoName(longest=80),
        replaces=("name", "fifoQueue"),
        checks=(
            matches("name", r"[a-zA-Z0-9_-]{1,80}(\.fifo)?", "a queue name: 1 to 80 letters, digits, _ and -"),
            between("messageRetentionSeconds", 60, 1209600),
            between("visibilityTimeoutSeconds", 0, 43200),
            between("kmsDataKeyReusePeriodSeconds", 60, 86400),
            at_most_one("sqsManagedSseEnabled", "kmsMasterKeyId"),
        ),
        policies={"policy": PolicyKind.QUEUE},
        refers=(encrypts_with("kmsMasterKeyId", "KMS.NotFoundException"),),
        unique=(Unique(("name",), "QueueAlreadyExists", "a queue named {name} already exists"),),
        tagged=True,
    ),
    ResourceType(
        QUEUE_POLICY,
        id="{queueUrl}",
        required=("queueUrl", "policy"),
        replaces=("queueUrl",),
        policies={"policy": PolicyKind.QUEUE},
        refers=(Refers("queueUrl", QUEUE, "QueueDoesNotExist", on_delete=OnDelete.CASCADE),),
    ),
)

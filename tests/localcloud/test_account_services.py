import json

import pytest

from localcloud.values import Secret

ROLE, POLICY = "aws:iam/role:Role", "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT, PROFILE = "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/instanceProfile:InstanceProfile"
KEY, ALIAS, BUCKET = "aws:kms/key:Key", "aws:kms/alias:Alias", "aws:s3/bucket:Bucket"
OBJECT, BUCKET_POLICY = "aws:s3/bucketObjectv2:BucketObjectv2", "aws:s3/bucketPolicy:BucketPolicy"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
QUEUE, QUEUE_POLICY = "aws:sqs/queue:Queue", "aws:sqs/queuePolicy:QueuePolicy"
RULE, TARGET = "aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget"
LOGS = "aws:cloudwatch/logGroup:LogGroup"
READ = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}]}
OWN = {"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
FROM_EVENTS = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Resource": "*"}
TAKE_EVENTS = {"Statement": [{**FROM_EVENTS, "Action": "sqs:SendMessage"}]}
TRUST = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}


def key_for(cloud, principal, **condition):
    statement = {"Effect": "Allow", "Principal": principal, "Action": "kms:*", "Resource": "*"}
    if condition:
        statement["Condition"] = {"StringEquals": {"kms:ViaService": condition["via"]}}
    return cloud.make(KEY, policy=json.dumps({"Statement": [statement]}))


def test_role_names_are_the_accounts_own(cloud):
    cloud.role("x", "ec2.amazonaws.com")
    role = cloud.make(ROLE, name="node", assumeRolePolicy=json.dumps(TRUST))
    cloud.identity = type(cloud.identity)("111122223333", "us-east-1")
    with cloud.refused("EntityAlreadyExists"):
        cloud.make(ROLE, name="node", assumeRolePolicy=json.dumps(TRUST))
    assert role["arn"] == "arn:aws:iam::111122223333:role/node"


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        (POLICY, {"policy": json.dumps(OWN)}),
        (ATTACHMENT, {"policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
        (PROFILE, {}),
    ],
)
def test_what_is_on_a_role_needs_it_and_holds_it(cloud, token, inputs):
    with cloud.refused("NoSuchEntity"):
        cloud.make(token, role="nobody", **inputs)
    role = cloud.role("node", "ec2.amazonaws.com")
    made = cloud.make(token, role=role["name"], **inputs)
    with cloud.refused("DeleteConflict"):
        cloud.delete(ROLE, role)
    cloud.delete(token, made)
    cloud.delete(ROLE, role)


def test_a_policy_of_the_account_must_exist_to_be_attached(cloud):
    role = cloud.role("node", "ec2.amazonaws.com")
    with cloud.refused("NoSuchEntity"):
        cloud.make(ATTACHMENT, role=role["name"], policyArn="arn:aws:iam::111122223333:policy/mine")
    policy = cloud.make("aws:iam/policy:Policy", name="mine", policy=json.dumps(OWN))
    cloud.make(ATTACHMENT, role=role["name"], policyArn=policy["arn"])
    with cloud.refused("DeleteConflict"):
        cloud.delete("aws:iam/policy:Policy", policy)


def test_an_alias_is_unique_and_goes_with_its_key(cloud):
    key = cloud.make(KEY)
    alias = cloud.make(ALIAS, name="alias/eksai", targetKeyId=key["keyId"])
    assert alias["targetKeyArn"] == key["arn"]
    with cloud.refused("AlreadyExistsException"):
        cloud.make(ALIAS, name="alias/eksai", targetKeyId=key["keyId"])
    with cloud.refused("NotAuthorizedException"):
        cloud.make(ALIAS, name="alias/aws/s3", targetKeyId=key["keyId"])
    cloud.delete(KEY, key)
    assert cloud.account.records() == []


def test_a_key_stays_while_something_is_encrypted_with_it(cloud):
    key, bucket = cloud.make(KEY), cloud.make(BUCKET)
    rule = {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": key["arn"]}}
    cloud.make(ENCRYPTION, bucket=bucket["bucket"], rules=[rule])
    with cloud.refused("KeyInUse"):
        cloud.delete(KEY, key)


def test_logs_are_encrypted_only_with_a_key_that_lets_them(cloud):
    with cloud.refused("InvalidParameterException"):
        cloud.make(LOGS, name="/aws/eks/x", kmsKeyId="arn:aws:kms:us-west-2:111122223333:key/none")
    root_only = key_for(cloud, {"AWS": "arn:aws:iam::111122223333:root"})
    with cloud.refused("InvalidParameterException"):
        cloud.make(LOGS, name="/aws/eks/x", kmsKeyId=root_only["arn"])
    elsewhere = key_for(cloud, {"Service": "logs.us-east-1.amazonaws.com"})
    with cloud.refused("InvalidParameterException"):
        cloud.make(LOGS, name="/aws/eks/x", kmsKeyId=elsewhere["arn"])
    open_to_logs = key_for(cloud, {"Service": ["logs.us-west-2.amazonaws.com"]})
    cloud.make(LOGS, name="/aws/eks/x", kmsKeyId=open_to_logs["arn"])
    with cloud.refused("ResourceAlreadyExistsException"):
        cloud.make(LOGS, name="/aws/eks/x")


def test_a_bucket_is_unique_and_goes_only_when_empty(cloud):
    bucket = cloud.make(BUCKET, bucket="models")
    with cloud.refused("BucketAlreadyOwnedByYou"):
        cloud.make(BUCKET, bucket="models")
    cloud.make(BUCKET_POLICY, bucket="models", policy=json.dumps(READ))
    model = cloud.make(OBJECT, bucket="models", key="gpunet/weights.pt")
    with cloud.refused("BucketNotEmpty"):
        cloud.delete(BUCKET, bucket)
    cloud.delete(OBJECT, model)
    cloud.delete(BUCKET, bucket)
    assert cloud.account.records() == [], "its configuration went with it"


def test_a_bucket_may_be_told_to_go_with_its_objects(cloud):
    bucket = cloud.make(BUCKET, bucket="scratch", forceDestroy=True)
    cloud.make(OBJECT, bucket="scratch", key="x")
    cloud.delete(BUCKET, bucket)
    assert cloud.account.records() == []


def test_a_bucket_has_one_configuration_of_a_kind(cloud):
    cloud.make(BUCKET, bucket="models")
    cloud.make(BUCKET_POLICY, bucket="models", policy=json.dumps(READ))
    with cloud.refused("AlreadyExists"):
        cloud.make(BUCKET_POLICY, bucket="models", policy=json.dumps(READ))
    with cloud.refused("NoSuchBucket"):
        cloud.make(BUCKET_POLICY, bucket="other", policy=json.dumps(READ))


def test_a_queue_policy_needs_its_queue(cloud):
    with cloud.refused("QueueDoesNotExist"):
        cloud.make(QUEUE_POLICY, queueUrl="https://sqs.us-west-2.amazonaws.com/1/x", policy=json.dumps(READ))
    queue = cloud.make(QUEUE, name="events")
    assert queue["url"] == "https://sqs.us-west-2.amazonaws.com/111122223333/events"
    cloud.make(QUEUE_POLICY, queueUrl=queue["url"], policy=json.dumps(READ))


def test_a_rule_keeps_its_targets_until_they_are_removed(cloud):
    queue = cloud.make(QUEUE, name="events", policy=json.dumps(TAKE_EVENTS))
    rule = cloud.make(RULE, name="spot", eventPattern="{}")
    with cloud.refused("ResourceAlreadyExistsException"):
        cloud.make(RULE, name="spot", eventPattern="{}")
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(TARGET, rule="other", arn=queue["arn"])
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(TARGET, rule="spot", arn="arn:aws:sqs:us-west-2:111122223333:none")
    target = cloud.make(TARGET, rule="spot", arn=queue["arn"])
    with cloud.refused("ValidationException"):
        cloud.delete(RULE, rule)
    cloud.delete(TARGET, target)
    cloud.delete(RULE, rule)


def test_a_target_needs_a_queue_that_takes_events(cloud):
    queue = cloud.make(QUEUE, name="events")
    rule = cloud.make(RULE, name="spot", eventPattern="{}")
    with cloud.refused("AccessDenied"):
        cloud.make(TARGET, rule="spot", arn=queue["arn"])
    elsewhere = {**FROM_EVENTS, "Action": "sqs:*", "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:events:x"}}}
    policy = cloud.make(QUEUE_POLICY, queueUrl=queue["url"], policy=json.dumps({"Statement": [elsewhere]}))
    with cloud.refused("AccessDenied"):
        cloud.make(TARGET, rule="spot", arn=queue["arn"])
    cloud.delete(QUEUE_POLICY, policy)
    own = {**elsewhere, "Condition": {"ArnEquals": {"aws:SourceArn": [rule["arn"]]}}}
    cloud.make(QUEUE_POLICY, queueUrl=queue["url"], policy=json.dumps({"Statement": [own]}))
    cloud.make(TARGET, rule="spot", arn=queue["arn"])


def test_events_reach_an_encrypted_queue_only_with_a_key_that_lets_them(cloud):
    closed = cloud.key()
    cloud.make(RULE, name="spot", eventPattern="{}")
    queue = cloud.make(QUEUE, name="a", kmsMasterKeyId=closed["arn"], policy=json.dumps(TAKE_EVENTS))
    with cloud.refused("KMS.AccessDeniedException"):
        cloud.make(TARGET, rule="spot", arn=queue["arn"])
    from_here = {"StringEquals": {"aws:SourceAccount": "111122223333"}}
    use = {**FROM_EVENTS, "Action": ["kms:Decrypt", "kms:GenerateDataKey"], "Condition": from_here}
    queue = cloud.make(QUEUE, name="b", kmsMasterKeyId=cloud.key(use)["arn"], policy=json.dumps(TAKE_EVENTS))
    cloud.make(TARGET, rule="spot", arn=queue["arn"])


def test_logs_use_a_key_only_for_their_own_groups(cloud):
    def key_for_group(arn):
        context = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": arn}}
        logs = {"Effect": "Allow", "Principal": {"Service": "logs.us-west-2.amazonaws.com"}, "Resource": "*"}
        return cloud.key({**logs, "Action": "kms:*", "Condition": context})

    here = "arn:aws:logs:us-west-2:111122223333:log-group:"
    of_other_groups = key_for_group(f"{here}/aws/vpc/*")
    with cloud.refused("InvalidParameterException"):
        cloud.make(LOGS, name="/aws/eks/x", kmsKeyId=of_other_groups["arn"])
    cloud.make(LOGS, name="/aws/eks/x", kmsKeyId=key_for_group(f"{here}*")["arn"])


def test_a_disabled_key_serves_nobody_and_a_deleted_one_is_gone(cloud):
    logs = {"Effect": "Allow", "Principal": {"Service": "logs.us-west-2.amazonaws.com"}, "Resource": "*"}
    disabled = cloud.key({**logs, "Action": "kms:*"}, isEnabled=False)
    deleted = cloud.key({**logs, "Action": "kms:*"})
    cloud.delete(KEY, deleted)
    for key in (disabled, deleted):
        with cloud.refused("InvalidParameterException"):
            cloud.make(LOGS, name="/aws/eks/x", kmsKeyId=key["arn"])


def test_a_deleted_key_waits_for_its_end_and_its_alias_is_free(cloud):
    key = cloud.make(KEY)
    cloud.make(ALIAS, name="alias/eksai", targetKeyId=key["keyId"])
    cloud.delete(KEY, key)
    assert [item.id for item in cloud.account.lingering(KEY)] == [key["id"]]
    assert [item.id for item in type(cloud.account)(cloud.file).lingering(KEY)] == [key["id"]], "the file keeps it"
    cloud.make(ALIAS, name="alias/eksai", targetKeyId=cloud.make(KEY)["keyId"])


SECRET, VERSION = "aws:secretsmanager/secret:Secret", "aws:secretsmanager/secretVersion:SecretVersion"


def test_a_secrets_name_stays_taken_until_its_recovery_window_ends(cloud):
    cloud.delete(SECRET, cloud.make(SECRET, name="hub", recoveryWindowInDays=0))
    cloud.delete(SECRET, cloud.make(SECRET, name="hub"))
    with cloud.refused("InvalidRequestException"):
        cloud.make(SECRET, name="hub")


def test_a_secret_has_versions_that_go_with_it_and_are_kept_by_nobody_else(cloud):
    secret = cloud.make(SECRET, name="hub")
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(VERSION, secretId="other", secretStringWo=Secret("hunter2"), secretStringWoVersion=1)
    version = cloud.make(VERSION, secretId=secret["id"], secretStringWo=Secret("hunter2"), secretStringWoVersion=1)
    assert version["secretStringWo"] is None, "what is only written is not read back"
    assert version["id"] == f"{secret['id']}|{version['versionId']}"
    assert "hunter2" not in cloud.file.read_text()
    cloud.delete(SECRET, secret)
    assert cloud.account.records() == []


def test_a_secrets_key_must_be_usable_by_whoever_writes_it(cloud):
    other = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::444455556666:root"}, "Action": "kms:*"}
    key = cloud.make(KEY, policy=json.dumps({"Statement": [{**other, "Resource": "*"}]}))
    secret = cloud.make(SECRET, name="hub", kmsKeyId=key["arn"])
    with cloud.refused("AccessDeniedException"):
        cloud.make(VERSION, secretId=secret["id"], secretString="x")
    secret = cloud.make(SECRET, name="other", kmsKeyId=cloud.key()["arn"])
    cloud.make(VERSION, secretId=secret["id"], secretString="x")


def test_inline_policies_of_a_role_share_ten_kilobytes(cloud):
    role = cloud.role("node", "ec2.amazonaws.com")
    text = json.dumps({"Statement": [{**OWN["Statement"][0], "Resource": "arn:aws:s3:::" + "x" * 6000}]})
    cloud.make(POLICY, "one", role=role["name"], policy=text)
    with cloud.refused("LimitExceeded"):
        cloud.make(POLICY, "two", role=role["name"], policy=text)


REPOSITORY, LIFECYCLE = "aws:ecr/repository:Repository", "aws:ecr/lifecyclePolicy:LifecyclePolicy"


def test_a_repository_is_unique_and_takes_its_lifecycle_policy_along(cloud):
    encryption = [{"encryptionType": "KMS", "kmsKey": cloud.key()["arn"]}]
    made = cloud.make(REPOSITORY, name="eksai/gpunet", encryptionConfigurations=encryption)
    assert made["repositoryUrl"] == "111122223333.dkr.ecr.us-west-2.amazonaws.com/eksai/gpunet"
    with cloud.refused("RepositoryAlreadyExistsException"):
        cloud.make(REPOSITORY, name="eksai/gpunet")
    cloud.make(LIFECYCLE, repository="eksai/gpunet", policy=lifecycle(tagStatus="untagged"))
    cloud.delete(REPOSITORY, made)
    assert not list(cloud.account.find(LIFECYCLE))


@pytest.mark.parametrize(
    "selection", [{"tagStatus": "tagged"}, {"tagStatus": "any", "countUnit": "days"}, {"tagStatus": "old"}]
)
def test_a_wrong_lifecycle_rule_is_refused(cloud, selection):
    assert "InvalidParameterException" in cloud.failures(LIFECYCLE, repository="x", policy=lifecycle(**selection))


def lifecycle(**selection):
    selection = {"countType": "imageCountMoreThan", "countNumber": 5, **selection}
    return json.dumps({"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]})

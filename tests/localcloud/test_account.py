import json
import threading

import pytest

from localcloud.account import Account
from localcloud.errors import AwsError
from localcloud.record import SECRET_MARK, restored
from localcloud.values import UNKNOWN, Secret

VPC, SUBNET, QUEUE = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:sqs/queue:Queue"


def test_what_was_made_is_still_there_for_the_next_process(cloud):
    vpc = cloud.make(VPC, cidrBlock="10.0.0.0/16")
    later = Account(cloud.file)
    record = later.get(VPC, vpc["id"], cloud.identity)
    assert record is not None
    assert {**record.outputs, "id": record.id} == vpc


def test_a_killed_process_leaves_no_half_written_file(cloud):
    cloud.make(VPC, cidrBlock="10.0.0.0/16")
    before = cloud.file.read_text()
    # What a process leaves that is killed while it writes.
    cloud.file.with_suffix(".tmp").write_text('{"account": "1111', encoding="utf-8")
    assert len(Account(cloud.file).records()) == len(json.loads(before)["resources"])


def test_an_account_keeps_its_number(cloud):
    cloud.account.settle("111122223333")
    cloud.account.settle("111122223333")
    with cloud.refused("AccountIDNotAllowed"):
        Account(cloud.file).settle("444455556666")


def test_a_secret_is_not_written_and_comes_back_from_the_engine(cloud):
    outputs = cloud.make(QUEUE, tags={"token": Secret("hunter2")})
    assert outputs["tags"]["token"] == Secret("hunter2")
    assert "hunter2" not in cloud.file.read_text()
    record = cloud.account.get(QUEUE, outputs["id"], cloud.identity)
    assert record.outputs["tags"] == {"token": SECRET_MARK}
    assert restored(record.outputs, outputs)["tags"] == {"token": Secret("hunter2")}


def test_a_reference_must_exist(cloud):
    with cloud.refused("InvalidVpcID.NotFound"):
        cloud.make(SUBNET, vpcId="vpc-0", cidrBlock="10.0.0.0/20", availabilityZone="us-west-2a")


def test_another_region_does_not_see_what_is_in_this_one(cloud):
    vpc = cloud.make(VPC, cidrBlock="10.0.0.0/16")
    elsewhere = type(cloud.identity)("111122223333", "us-east-1")
    assert cloud.account.get(VPC, vpc["id"], elsewhere) is None
    with cloud.refused("InvalidVpcID.NotFound"):
        cloud.account.create(
            SUBNET, "a", {"vpcId": vpc["id"], "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1a"}, elsewhere
        )


def test_what_is_in_use_is_not_deleted(cloud):
    vpc = cloud.make(VPC, cidrBlock="10.0.0.0/16")
    subnet = cloud.subnet(vpc, "a", "10.0.0.0/20")
    with cloud.refused("DependencyViolation"):
        cloud.delete(VPC, vpc)
    cloud.delete(SUBNET, subnet)
    cloud.delete(VPC, vpc)
    assert cloud.account.records() == [], "the default security group went with its network"


def test_deleting_what_is_gone_succeeds(cloud):
    vpc = cloud.make(VPC, cidrBlock="10.0.0.0/16")
    cloud.delete(VPC, vpc)
    cloud.delete(VPC, vpc)


def test_an_update_keeps_what_was_made_up_and_drops_what_was_taken_out(cloud):
    vpc = cloud.make(VPC, cidrBlock="10.0.0.0/16", tags={"a": "1", "b": "2"})
    updated = cloud.account.update(
        VPC, vpc["id"], {"cidrBlock": "10.0.0.0/16", "tags": {"a": "1"}, "enableDnsHostnames": True}, cloud.identity
    )
    assert updated["arn"] == vpc["arn"]
    assert updated["defaultSecurityGroupId"] == vpc["defaultSecurityGroupId"]
    assert updated["tags"] == updated["tagsAll"] == {"a": "1"}


def test_a_preview_of_an_update_knows_everything_but_what_depends_on_unknowns(cloud):
    network = cloud.network()
    cluster = cloud.cluster(network["ids"])
    inputs = {
        "name": "eksai-dev", "roleArn": cluster["roleArn"], "version": "1.35",
        "vpcConfig": {"subnetIds": UNKNOWN, "endpointPrivateAccess": True},
    }  # fmt: skip
    before = cloud.file.read_text()
    outputs = cloud.account.update("aws:eks/cluster:Cluster", "eksai-dev", inputs, cloud.identity, preview=True)
    assert outputs["vpcConfig"]["clusterSecurityGroupId"] == cluster["vpcConfig"]["clusterSecurityGroupId"]
    assert outputs["endpoint"] == cluster["endpoint"]
    assert outputs["vpcConfig"]["subnetIds"] is UNKNOWN
    assert cloud.file.read_text() == before, "a preview changes nothing"


def test_what_is_gone_cannot_be_updated(cloud):
    with cloud.refused("ResourceNotFoundException"):
        cloud.account.update(VPC, "vpc-0", {"cidrBlock": "10.0.0.0/16"}, cloud.identity)


def test_an_unknown_type_is_refused_with_the_way_out(cloud):
    with pytest.raises(AwsError, match="declare it"):
        cloud.account.create("aws:redshift/cluster:Cluster", "db", {}, cloud.identity)


def test_of_many_who_want_one_name_one_gets_it(cloud):
    refusals = []

    def make():
        try:
            cloud.make(QUEUE, name="events")
        except AwsError as refusal:
            refusals.append(refusal.code)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refusals == ["QueueAlreadyExists"] * 7
    assert len(Account(cloud.file).records()) == 1

import json

import pytest

from localcloud.aws.load_balancers import LOAD_BALANCER, add_interfaces
from localcloud.aws.s3 import ENCRYPTION
from tests.localcloud.conftest import policy

VOLUME, INTERFACE = "aws:ebs/volume:Volume", "aws:ec2/networkInterface:NetworkInterface"
EFS, POINT, TARGET = (
    "aws:efs/fileSystem:FileSystem",
    "aws:efs/accessPoint:AccessPoint",
    "aws:efs/mountTarget:MountTarget",
)
LUSTRE, GROUP, SUBNET = (
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/subnet:Subnet",
)
EFS_POLICY, BACKUPS = "aws:efs/fileSystemPolicy:FileSystemPolicy", "aws:efs/backupPolicy:BackupPolicy"
ZONE = "us-west-2a"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"type": "gp3", "size": 0}, "outside of 1-65536GiB"),
        ({"type": "io1", "size": 100}, "iops must be specified"),
        ({"type": "gp3", "size": 100, "iops": 100}, "outside of 3000-80000"),
        ({"type": "io1", "size": 10, "iops": 1000}, "ratio of 1000:10 is too high"),
        ({"type": "gp2", "size": 100, "iops": 3000}, "not supported for gp2"),
        ({"type": "gp3", "size": 100, "throughput": 5000}, "outside of 125-2000"),
        ({"type": "st1", "size": 100}, "outside of 125-16384GiB"),
        ({"type": "gp9", "size": 100}, "one of gp3"),
        ({"type": "gp3"}, "give size"),
        ({"type": "gp3", "size": 1, "kmsKeyId": "k"}, "set encrypted"),
    ],
)  # fmt: skip
def test_a_volume_that_ec2_would_refuse_shows_in_a_preview(cloud, given, what):
    assert what in cloud.failures(VOLUME, availabilityZone=ZONE, **given)


def test_a_small_gp3_volume_may_have_what_every_gp3_volume_has(cloud):
    assert cloud.failures(VOLUME, availabilityZone=ZONE, type="gp3", size=1, iops=3000, throughput=125) == ""


def test_a_volume_needs_a_key_that_exists_and_may_be_used(cloud):
    with cloud.refused("InvalidKmsKey.NotFound"):
        cloud.make(VOLUME, availabilityZone=ZONE, size=1, encrypted=True, kmsKeyId="arn:aws:kms:us-west-2:1:key/gone")
    closed = cloud.key(isEnabled=False)
    with cloud.refused("InvalidVolume.NotFound"):
        cloud.make(VOLUME, availabilityZone=ZONE, size=1, encrypted=True, kmsKeyId=closed["arn"])


def test_a_key_stays_as_long_as_a_volume_is_encrypted_with_it(cloud):
    key = cloud.key()
    volume = cloud.make(VOLUME, availabilityZone=ZONE, size=1, encrypted=True, kmsKeyId=key["arn"])
    with cloud.refused("KeyInUse"):
        cloud.delete("aws:kms/key:Key", key)
    cloud.delete(VOLUME, volume)
    cloud.delete("aws:kms/key:Key", key)


def test_a_volume_grows_and_does_not_shrink(cloud):
    volume = cloud.make(VOLUME, availabilityZone=ZONE, size=10)
    larger = {"availabilityZone": ZONE, "size": 20}
    assert cloud.account.update(VOLUME, volume["id"], larger, cloud.identity)["size"] == 20
    with cloud.refused("InvalidParameterValue"):
        cloud.account.update(VOLUME, volume["id"], {**larger, "size": 10}, cloud.identity)


def test_a_file_system_has_one_mount_target_in_a_zone_whose_interface_holds_the_subnet(cloud):
    vpc = cloud.make("aws:ec2/vpc:Vpc", cidrBlock="10.0.0.0/16")
    first, second = cloud.subnet(vpc, "a", "10.0.0.0/20"), cloud.subnet(vpc, "a", "10.0.16.0/20")
    system = cloud.make(EFS, encrypted=True)
    target = cloud.make(TARGET, fileSystemId=system["id"], subnetId=first["id"])
    (interface,) = cloud.account.find(INTERFACE, subnetId=first["id"])
    assert interface["requester"] == target["arn"]
    with cloud.refused("MountTargetConflict"):
        cloud.make(TARGET, fileSystemId=system["id"], subnetId=second["id"])
    with cloud.refused("OperationNotPermitted"):
        cloud.account.delete(INTERFACE, interface.id, cloud.identity)
    with cloud.refused("FileSystemInUse"):
        cloud.delete(EFS, system)
    with cloud.refused("DependencyViolation"):
        cloud.delete(SUBNET, first)
    cloud.delete(TARGET, target)
    assert not [*cloud.account.find(INTERFACE)]
    cloud.delete(SUBNET, first)


def test_a_file_system_stays_as_long_as_it_has_an_access_point(cloud):
    system = cloud.make(EFS)
    point = cloud.make(POINT, fileSystemId=system["id"])
    with cloud.refused("FileSystemInUse"):
        cloud.delete(EFS, system)
    cloud.delete(POINT, point)
    cloud.delete(EFS, system)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"deploymentType": "SCRATCH_2", "storageCapacity": 1300}, "multiples of 2400"),
        ({"deploymentType": "SCRATCH_1", "storageCapacity": 4800}, "multiples of 3600"),
        ({"deploymentType": "PERSISTENT_2", "storageCapacity": 1200}, "one of 125, 250, 500, 1000"),
        ({"deploymentType": "SCRATCH_2", "storageCapacity": 1200, "perUnitStorageThroughput": 125}, "takes nothing"),
    ],
)  # fmt: skip
def test_a_lustre_file_system_that_fsx_would_refuse_shows_in_a_preview(cloud, given, what):
    assert what in cloud.failures(LUSTRE, subnetIds="subnet-1", **given)


def test_a_lustre_file_system_holds_its_subnet(cloud):
    network = cloud.network()
    system = cloud.make(LUSTRE, subnetIds=network["ids"][0], storageCapacity=1200, deploymentType="SCRATCH_2")
    assert system["dnsName"] == f"{system['id']}.fsx.us-west-2.amazonaws.com"
    with cloud.refused("DependencyViolation"):
        cloud.delete(SUBNET, network["private"][0])


LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
FSX_ROLE = "aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*"


@pytest.fixture
def lustre(cloud):
    network = cloud.network()
    throughput = {"deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": 500}
    return cloud.make(LUSTRE, subnetIds=network["ids"][0], storageCapacity=1200, **throughput)


def link(cloud, system, bucket="models", folder="/models"):
    return cloud.make(LINK, fileSystemId=system["id"], dataRepositoryPath=f"s3://{bucket}", fileSystemPath=folder)


def test_a_file_system_is_linked_to_a_bucket_that_exists_and_takes_the_link_with_it(cloud, lustre):
    with cloud.refused("BadRequest"):
        link(cloud, lustre)
    cloud.make("aws:s3/bucket:Bucket", bucket="models")
    made = link(cloud, lustre)
    assert made["arn"] == f"arn:aws:fsx:us-west-2:111122223333:association/{lustre['id']}/{made['id']}"
    cloud.delete(LUSTRE, lustre)
    assert not [*cloud.account.find(LINK)]


@pytest.mark.parametrize(("bucket", "folder"), [("models", "/other"), ("others", "/models"), ("others", "/models/x")])
def test_two_links_share_neither_bucket_nor_folder(cloud, lustre, bucket, folder):
    for name in ("models", "others"):
        cloud.make("aws:s3/bucket:Bucket", bucket=name)
    link(cloud, lustre)
    with cloud.refused("BadRequest"):
        link(cloud, lustre, bucket, folder)
    link(cloud, lustre, "others", "/models-of-others")


def test_a_file_system_with_backups_takes_no_link(cloud):
    cloud.make("aws:s3/bucket:Bucket", bucket="models")
    backed_up = {"deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": 500, "automaticBackupRetentionDays": 7}
    system = cloud.make(LUSTRE, subnetIds=cloud.network()["ids"][0], storageCapacity=1200, **backed_up)
    with cloud.refused("BadRequest"):
        link(cloud, system)


def test_fsx_needs_the_key_of_a_linked_bucket(cloud, lustre):
    def encrypted(name, *statements):
        key = cloud.key(*statements)
        cloud.make("aws:s3/bucket:Bucket", bucket=name)
        default = {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": key["arn"]}
        cloud.make(ENCRYPTION, bucket=name, rules=[{"applyServerSideEncryptionByDefault": default}])

    encrypted("closed")
    with cloud.refused("Misconfigured"):
        link(cloud, lustre, "closed")
    fsx = {"ArnLike": {"aws:PrincipalArn": f"arn:aws:iam::111122223333:role/{FSX_ROLE}"}}
    encrypted(
        "open", {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*", "Condition": fsx}
    )
    link(cloud, lustre, "open")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"dataRepositoryPath": "models"}, "s3://bucket/prefix"),
        ({"fileSystemPath": "models"}, "from its root"),
        ({"s3": {"autoImportPolicy": {"events": ["RENAMED"]}}}, "one of NEW, CHANGED, DELETED"),
    ],
)
def test_a_link_that_fsx_would_refuse_shows_in_a_preview(cloud, given, what):
    good = {"fileSystemId": "fs-1", "dataRepositoryPath": "s3://models", "fileSystemPath": "/models"}
    assert what in cloud.failures(LINK, **{**good, **given})


def test_policy_and_backups_of_a_file_system_go_with_it(cloud):
    system = cloud.make(EFS, encrypted=True)
    denied = {"Effect": "Deny", "Principal": "*", "Action": "elasticfilesystem:*", "Resource": system["arn"]}
    cloud.make(EFS_POLICY, fileSystemId=system["id"], policy=policy(denied))
    cloud.make(BACKUPS, fileSystemId=system["id"], backupPolicy={"status": "ENABLED"})
    cloud.delete(EFS, system)
    assert not [*cloud.account.find(EFS_POLICY), *cloud.account.find(BACKUPS)]


def test_a_policy_of_a_file_system_says_who_may_do_what(cloud):
    nobody = policy({"Effect": "Allow", "Action": "elasticfilesystem:ClientMount", "Resource": "*"})
    assert "names no Principal" in cloud.failures(EFS_POLICY, fileSystemId="fs-1", policy=nobody)
    assert "one of ENABLED" in cloud.failures(BACKUPS, fileSystemId="fs-1", backupPolicy={"status": "ON"})


def test_groups_of_an_interface_are_of_the_network_of_its_subnet(cloud):
    network = cloud.network()
    elsewhere = cloud.make("aws:ec2/vpc:Vpc", cidrBlock="10.0.0.0/16")
    group = cloud.make(GROUP, vpcId=elsewhere["id"])
    with cloud.refused("InvalidParameterValue"):
        cloud.make(INTERFACE, subnetId=network["ids"][0], securityGroups=[group["id"]])


def test_a_load_balancer_holds_subnets_and_groups_and_takes_its_interfaces_with_it(cloud):
    network = cloud.network()
    group = cloud.make(GROUP, vpcId=network["vpc"]["id"])
    made = cloud.make(LOAD_BALANCER, "front", name="front", subnets=network["ids"], securityGroups=[group["id"]])
    assert made["arn"].startswith("arn:aws:elasticloadbalancing:us-west-2:111122223333:loadbalancer/app/front/")
    assert made["dnsName"].startswith("front-")
    assert made["dnsName"].endswith(".us-west-2.elb.amazonaws.com")
    balancer = next(cloud.account.find(LOAD_BALANCER))
    for _ in range(2):
        add_interfaces(cloud.account, balancer, cloud.identity)
    assert sorted(one["subnetId"] for one in cloud.account.find(INTERFACE)) == sorted(network["ids"])
    for token, held in ((SUBNET, network["private"][0]), (GROUP, group)):
        with cloud.refused("DependencyViolation"):
            cloud.delete(token, held)
    cloud.delete(LOAD_BALANCER, made)
    assert not [*cloud.account.find(INTERFACE)]
    cloud.delete(GROUP, group)


def test_an_application_load_balancer_needs_two_zones_and_a_network_one_does_not(cloud):
    network = cloud.network()
    with cloud.refused("ValidationError"):
        cloud.make(LOAD_BALANCER, name="one", subnets=network["ids"][:1])
    made = cloud.make(LOAD_BALANCER, name="one", subnets=network["ids"][:1], loadBalancerType="network")
    assert ".elb.us-west-2." in made["dnsName"]
    assert json.dumps(made), "everything about it can be kept"

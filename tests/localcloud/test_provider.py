import json
import logging
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, resource_pb2, resource_pb2_grpc

from localcloud.account import Account
from localcloud.provider import Provider
from localcloud.values import UNKNOWN, Reference, Secret, from_wire, to_struct

VPC, QUEUE = "aws:ec2/vpc:Vpc", "aws:sqs/queue:Queue"
PASSWORD = "random:index/randomPassword:RandomPassword"
AWS, KUBERNETES = "pulumi:providers:aws", "pulumi:providers:kubernetes"
CONFIG = {"region": "us-west-2", "allowedAccountIds": '["111122223333"]', "defaultTags": '{"tags": {"team": "ml"}}'}


class Engine:
    """One provider of a program, on a connection of its own as the engine has it."""

    def __init__(self, port, config=None):
        # Without a pool of its own the channel would share the connection of another one.
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = provider_pb2_grpc.ResourceProviderStub(self.channel)
        if config is not None:
            self.stub.Configure(provider_pb2.ConfigureRequest(type=AWS, args=to_struct(config)))

    def check(self, token, inputs, name="x", olds=None):
        request = provider_pb2.CheckRequest(
            type=token, name=name, news=to_struct(inputs), olds=to_struct(olds or {}), randomSeed=b"seed"
        )
        return self.stub.Check(request)

    def create(self, token, inputs, name="x", preview=False):
        request = provider_pb2.CreateRequest(type=token, name=name, properties=to_struct(inputs), preview=preview)
        answer = self.stub.Create(request)
        return answer.id, from_wire(answer.properties)

    def read(self, token, made_id, outputs, inputs):
        request = provider_pb2.ReadRequest(
            type=token, id=made_id, properties=to_struct(outputs), inputs=to_struct(inputs)
        )
        answer = self.stub.Read(request)
        return answer.id, from_wire(answer.properties), from_wire(answer.inputs)

    def diff(self, token, old, new, outputs, name="x"):
        request = provider_pb2.DiffRequest(
            type=token, name=name, old_inputs=to_struct(old), news=to_struct(new), olds=to_struct(outputs)
        )
        return self.stub.Diff(request)

    def delete(self, token, made_id):
        return self.stub.Delete(provider_pb2.DeleteRequest(type=token, id=made_id))

    def diff_config(self, provider, old, new):
        request = provider_pb2.DiffRequest(type=provider, old_inputs=to_struct(old), news=to_struct(new))
        return self.stub.DiffConfig(request)


@pytest.fixture
def port(tmp_path):
    server = grpc.server(ThreadPoolExecutor(8))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Provider(Account(tmp_path / "account.json")), server)
    bound = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield bound
    server.stop(0).wait()


@pytest.fixture
def connect(port):
    opened = []

    def connect(config=None):
        opened.append(Engine(port, config))
        return opened[-1]

    yield connect
    for engine in opened:
        engine.channel.close()


@pytest.fixture
def engine(connect):
    return connect(CONFIG)


def test_a_provider_without_region_is_refused(engine):
    answer = engine.stub.CheckConfig(provider_pb2.CheckRequest(type=AWS, news=to_struct({})))
    assert [failure.property for failure in answer.failures] == ["region"]


def test_another_account_is_refused_with_the_way_out(connect, engine):
    with pytest.raises(grpc.RpcError) as refusal:
        connect({**CONFIG, "allowedAccountIds": '["444455556666"]'})
    assert "reset the local cloud" in refusal.value.details()


def test_resources_go_where_their_own_provider_is(connect, engine):
    east = connect({**CONFIG, "region": "us-east-1"})
    _, outputs = engine.create(QUEUE, {"name": "events"})
    assert ":us-west-2:" in outputs["arn"], "the provider that was configured last is not the only one"
    _, outputs = east.create(QUEUE, {"name": "events"})
    assert ":us-east-1:" in outputs["arn"]


def test_what_was_created_reads_the_same_and_has_no_difference(engine):
    inputs = from_wire(engine.check(VPC, {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}}).inputs)
    made_id, outputs = engine.create(VPC, inputs)
    assert outputs["tagsAll"] == {"team": "ml", "a": "b"}
    assert engine.read(VPC, made_id, outputs, inputs) == (made_id, outputs, inputs)
    assert engine.diff(VPC, inputs, inputs, outputs).changes == provider_pb2.DiffResponse.DIFF_NONE


def test_what_was_deleted_reads_as_gone(engine):
    made_id, outputs = engine.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    engine.delete(VPC, made_id)
    assert engine.read(VPC, made_id, outputs, {})[0] == ""


def test_a_preview_makes_nothing_and_says_what_is_known(engine):
    made_id, outputs = engine.create(QUEUE, {"name": "events", "kmsMasterKeyId": UNKNOWN}, preview=True)
    assert made_id == ""
    assert outputs["arn"] == "arn:aws:sqs:us-west-2:111122223333:events"
    assert outputs["kmsMasterKeyId"] is UNKNOWN
    engine.create(QUEUE, {"name": "events"})


def test_a_change_of_the_default_tags_is_a_change_of_everything_tagged(connect, engine):
    inputs = {"cidrBlock": "10.0.0.0/16"}
    _, outputs = engine.create(VPC, inputs)
    later = connect({**CONFIG, "defaultTags": '{"tags": {"team": "platform"}}'})
    answer = later.diff(VPC, inputs, inputs, outputs)
    assert list(answer.detailedDiff) == ["tagsAll"]
    assert not answer.replaces


def test_a_replacing_change_is_named_and_a_fixed_name_goes_first(engine):
    old, new = {"name": "events", "fifoQueue": False}, {"name": "events", "fifoQueue": True}
    answer = engine.diff(QUEUE, old, new, {"tagsAll": {"team": "ml"}}, name="queue")
    assert list(answer.replaces) == ["fifoQueue"]
    assert answer.detailedDiff["fifoQueue"].kind == provider_pb2.PropertyDiff.UPDATE_REPLACE
    assert answer.deleteBeforeReplace


def test_a_refusal_reaches_the_engine_with_its_code(engine):
    with pytest.raises(grpc.RpcError) as refusal:
        engine.create("aws:ec2/subnet:Subnet", {"vpcId": "vpc-0", "cidrBlock": "10.0.0.0/20"})
    assert refusal.value.code() == grpc.StatusCode.FAILED_PRECONDITION, "the engine takes it for a clean refusal"
    assert refusal.value.details().startswith("InvalidVpcID.NotFound: ")


def test_a_type_that_nobody_declared_says_where_to(engine):
    with pytest.raises(grpc.RpcError) as refusal:
        engine.check("aws:redshift/cluster:Cluster", {})
    assert "declare it" in refusal.value.details()


def test_a_secret_stays_secret_and_is_written_nowhere(engine, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    inputs = {"name": "events", "tags": {"token": Secret("hunter2")}}
    made_id, outputs = engine.create(QUEUE, inputs)
    assert outputs["tags"]["token"] == Secret("hunter2")
    assert engine.read(QUEUE, made_id, outputs, inputs) == (made_id, outputs, inputs)
    assert "hunter2" not in (tmp_path / "account.json").read_text()
    assert "hunter2" not in caplog.text
    assert f"Create {QUEUE} x: ok" in caplog.text


def test_a_password_is_secret_drawn_anew_for_each_and_never_again(engine, tmp_path):
    inputs = {"length": 20, "minSpecial": 2}
    made_id, outputs = engine.create(PASSWORD, inputs)
    password = outputs["result"]
    assert isinstance(password, Secret)
    assert len(password.value) == 20
    assert engine.read(PASSWORD, made_id, outputs, inputs)[1] == outputs
    assert engine.create(PASSWORD, inputs)[1]["result"] != password
    assert "randomPassword" not in (tmp_path / "account.json").read_text(), "it is no part of the account"


def kubeconfig(server, user="aws"):
    cluster = {"name": "kubernetes", "cluster": {"server": server}}
    return json.dumps({"clusters": [cluster], "users": [{"name": user}]})


@pytest.mark.parametrize(
    ("old", "new", "replaces"),
    [
        ({"clusterIdentifier": "a", "kubeconfig": "1"}, {"clusterIdentifier": "a", "kubeconfig": "2"}, False),
        ({"clusterIdentifier": "a", "kubeconfig": "1"}, {"clusterIdentifier": "a", "kubeconfig": UNKNOWN}, False),
        ({"clusterIdentifier": "a"}, {"clusterIdentifier": "b"}, True),
        ({"kubeconfig": "1"}, {"kubeconfig": "1", "clusterIdentifier": "a"}, True),
        ({"kubeconfig": kubeconfig("https://a")}, {"kubeconfig": kubeconfig("https://a", "me")}, False),
        ({"kubeconfig": kubeconfig("https://a")}, {"kubeconfig": kubeconfig("https://b")}, True),
        ({"kubeconfig": kubeconfig("https://a")}, {"kubeconfig": UNKNOWN}, True),
    ],
)  # fmt: skip
def test_only_another_cluster_replaces_a_kubernetes_provider(engine, old, new, replaces):
    answer = engine.diff_config(KUBERNETES, old, new)
    assert answer.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert bool(answer.replaces) == replaces


def test_only_another_region_replaces_an_aws_provider(engine):
    assert list(engine.diff_config(AWS, CONFIG, {**CONFIG, "region": "us-east-1"}).replaces) == ["region"]
    assert not engine.diff_config(AWS, CONFIG, {**CONFIG, "defaultTags": "{}"}).replaces


def test_it_counts_as_new_enough_for_every_sdk(engine):
    version = engine.stub.GetPluginInfo(Empty()).version
    assert int(version.split(".")[0]) >= 7, "aws, the furthest of the four"


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """An engine that accepts everything, knowing ids only outside a preview."""

    def __init__(self, preview):
        self.preview, self.registered, self.outputs = preview, [], {}

    def RegisterResource(self, request, context):
        self.registered.append(request)
        urn = f"urn:{request.name}"
        outputs = from_wire(request.object)
        if not self.preview and request.type == "aws:eks/cluster:Cluster":
            outputs |= {"endpoint": "https://x", "arn": "arn:aws:eks:us-west-2:1:cluster/x"}
            outputs |= {"certificateAuthority": {"data": "Q0E="}}
        made_id = f"{request.name}-id" if request.custom and not self.preview else ""
        return resource_pb2.RegisterResourceResponse(urn=urn, id=made_id, object=to_struct(outputs))

    def RegisterResourceOutputs(self, request, context):
        self.outputs[request.urn] = from_wire(request.outputs)
        return Empty()


@pytest.mark.parametrize("preview", [True, False])
def test_the_eks_component_registers_its_children_with_the_engine(engine, preview):
    monitor = Monitor(preview)
    server = grpc.server(ThreadPoolExecutor(4))
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    off = {"enabled": False}
    inputs = {
        "name": "eksai-dev", "authenticationMode": "API", "createOidcProvider": False, "skipDefaultNodeGroup": True,
        "skipDefaultSecurityGroups": True, "useDefaultVpcCni": True, "corednsAddonOptions": off,
        "kubeProxyAddonOptions": off, "vpcId": "vpc-1", "publicSubnetIds": ["subnet-a"],
        "privateSubnetIds": ["subnet-b"],
    }  # fmt: skip
    answer = engine.stub.Construct(
        provider_pb2.ConstructRequest(
            type="eks:index:Cluster",
            name="cluster",
            parent="urn:parent",
            inputs=to_struct(inputs),
            providers={"aws": "urn:aws::id"},
            dependencies=["urn:logs"],
            monitorEndpoint=f"127.0.0.1:{port}",
            dryRun=preview,
        )
    )
    server.stop(0).wait()
    by_name = {request.name: request for request in monitor.registered}
    assert list(by_name)[:2] == ["cluster", "cluster-eksRole"]
    component, cluster = by_name["cluster"], by_name["cluster-eksCluster"]
    assert (component.parent, list(component.dependencies)) == ("urn:parent", ["urn:logs"])
    assert not component.object.fields, "resource policies must not see arguments that the real one hides"
    assert cluster.parent == "urn:cluster"
    assert cluster.provider == "urn:aws::id"
    assert "urn:cluster-eksRole-4b490823" in cluster.dependencies, "else the policy goes before the cluster"
    state = from_wire(answer.state)
    assert monitor.outputs["urn:cluster"] == state
    assert state["eksCluster"] == Reference("urn:cluster-eksCluster", UNKNOWN if preview else "cluster-eksCluster-id")
    assert (state["kubeconfigJson"] is UNKNOWN) == preview, "known at once where nothing changes, or all is replaced"
    assert list(answer.stateDependencies["kubeconfig"].urns) == ["urn:cluster-eksCluster"]


def test_an_argument_with_children_of_its_own_is_refused(engine):
    with pytest.raises(grpc.RpcError, match="not modelled"):
        engine.stub.Construct(
            provider_pb2.ConstructRequest(type="eks:index:Cluster", name="c", inputs=to_struct({"fargate": True}))
        )

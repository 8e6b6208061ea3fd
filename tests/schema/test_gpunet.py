"""What a stack is told whose GPUNet service would not run, not be updated, or not be reached."""

import ast
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from schema.base import Aws, Network, Repository
from schema.compute import Addon
from schema.domain import Domain
from schema.gpunet import MODEL_SUFFIXES, Gpunet, GpunetPublish
from schema.gpunet_rules import RULES
from schema.node_pools import NodePool
from schema.platform import PlatformChart
from schema.problems import Problem, explain_all

ROOT = Path(__file__).parents[2]
HASH = "0123456789abcdef" * 4
DIGEST = f"sha256:{HASH}"
MODEL = {"file": "gpunet-0-fp16.onnx", "sha256": HASH}

CPU_LIMITS = {"cpu": "400", "memory": "4000Gi"}
LIMITS = {**CPU_LIMITS, "accelerators": 10}
GPU = {"instanceTypes": ["g5.xlarge", "g5.2xlarge"], "limits": LIMITS}
AL2023 = GPU | {"ami": "al2023@latest"}
SLICED = GPU | {"sharing": {"strategy": "time-slicing", "replicas": 4}}
PARTED = {
    "instanceTypes": ["p4d.24xlarge"],
    "ami": "al2023@latest",
    "sharing": {"strategy": "mig", "profile": "1g.5gb"},
    "limits": LIMITS | {"accelerators": 8},
}
MANAGED = {"provisioner": "managed", "instanceTypes": ["g5.xlarge"], "size": {"desired": 2, "max": 9}}
CLAIMS = MANAGED | {"ami": "al2023@latest", "allocation": "dra"}
ONE = LIMITS | {"accelerators": 1}
CPU = {"instanceTypes": ["m7i.xlarge"], "limits": CPU_LIMITS}
POOLS: dict[str, Any] = {
    "gpu": GPU,
    "al2023": AL2023,
    "sliced": SLICED,
    "parted": PARTED,
    "managed": MANAGED,
    "claims": CLAIMS,
    "neuron": {"instanceTypes": ["inf2.xlarge"], "ami": "al2023@latest", "limits": LIMITS},
    "cpu": CPU,
    "arm": {"instanceTypes": ["m7g.xlarge"], "limits": CPU_LIMITS},
    "leaving": CPU | {"retire": True},
    "one": GPU | {"limits": ONE},
    "one-sliced": SLICED | {"limits": ONE},
    "small-sliced": SLICED | {"instanceTypes": ["g5.xlarge"], "limits": ONE},
    "one-node": GPU | {"instanceTypes": ["g5.xlarge"], "limits": LIMITS | {"cpu": "4"}},
    "few-cpus": {"instanceTypes": ["m7i.large"], "limits": {"cpu": "2", "memory": "8Gi"}},
    "unlike": MANAGED | {"instanceTypes": ["g5.xlarge", "g5.12xlarge"], "size": {"desired": 1, "max": 1}},
    "fours": GPU | {"instanceTypes": ["g5.12xlarge"], "limits": LIMITS | {"accelerators": 6}},
}

CHARTS = (
    "aws-load-balancer-controller",
    "keda",
    "kube-prometheus-stack",
    "prometheus-adapter",
    "prometheus-operator-crds",
)
ZONES = {"us-west-2a": "subnet-0a1b2c3d", "us-west-2b": "subnet-1a1b2c3d"}
EXISTING = {"vpcId": "vpc-0a1b2c3d", "privateSubnetIds": ZONES}
CERTIFICATE = "arn:aws:acm:us-west-2:444455556666:certificate/0a1b2c3d-1111-2222-3333-444455556666"
OWN_HOST = {"host": "images.acme.dev", "certificateArn": CERTIFICATE}
PUBLISH = {"inboundCidrs": ["8.8.8.0/24"]}
INTERNAL = {"scheme": "internal", "inboundCidrs": ["10.0.0.0/8"]}

GOOD: dict[str, Any] = {"enabled": True, "pools": ["gpu"]}
OFF: dict[str, Any] = {
    "repositories": {},
    "platform": {},
    "addons": {"metrics-server": Addon(enabled=False)},
    "node_pools": {},
    "domain": Domain(),
    "network": Network.model_validate({"availabilityZones": list(ZONES), "existing": EXISTING}),
    "local": False,
}
"""A stack that has nothing of what the service needs."""


def told(declaration: dict[str, Any], **changes: Any) -> list[Problem]:
    """The mistakes in a stack with the service."""
    try:
        gpunet = Gpunet.model_validate(declaration)
    except ValidationError as error:
        return explain_all("eksai:gpunet", Gpunet, error.errors())
    given: dict[str, Any] = {
        "gpunet": gpunet,
        "aws": Aws.model_validate({"region": "us-west-2", "accountId": "444455556666"}),
        "network": Network.model_validate({"availabilityZones": list(ZONES)}),
        "repositories": {"gpunet-inference-app": Repository()},
        "domain": Domain.model_validate(
            {"name": "ml.acme.dev", "zoneId": "Z0123456789ABCDEFGHIJ", "inboundCidrs": ["8.8.8.0/24"]}
        ),
        "addons": {"aws-mountpoint-s3-csi-driver": Addon(enabled=True)},
        "platform": {chart: PlatformChart() for chart in CHARTS},
        "node_pools": TypeAdapter(dict[str, NodePool]).validate_python(POOLS),
        "local": False,
        **changes,
    }
    return [problem for rule in RULES for problem in rule(**{name: given[name] for name in signature(rule).parameters})]


SOUND: list[dict[str, Any]] = [
    {},
    {"imageDigest": DIGEST},
    {"model": MODEL},
    {"imageDigest": DIGEST, "model": MODEL | {"versionId": "3HL4kqtJlcpXroDTDmJ.rmSpXd3dIb_rHY-MTRCxf3vjVBH40"}},
    {"imageDigest": DIGEST, "model": MODEL | {"file": "2026/0.65ms.pth.tar"}, "modelAccess": "volume"},
    {"pools": ["gpu", "al2023", "managed"]},
    {"pools": ["sliced", "one-sliced"]},
    {"pools": ["parted"], "cpu": "1", "memory": "2Gi", "scaling": {"min": 55, "max": 55}},
    {"pools": ["one-sliced"], "cpu": "1", "scaling": {"min": 3}},
    {"pools": ["managed"], "scaling": {"min": 1}},
    {"pools": ["fours"], "scaling": {"min": 3}},
    {"pools": ["cpu"], "device": "cpu", "cpu": "500m", "memory": "1Gi"},
    {"pools": ["arm"], "device": "cpu", "architecture": "arm64", "scaling": {"min": 90, "max": 90}},
    {"imageHosts": ["images.example.com", ".example.com"]},
    {"publish": PUBLISH},
    {"publish": {"inboundCidrs": ["0.0.0.0/0"]}},
    {"publish": INTERNAL},
    {"publish": INTERNAL | {"inboundCidrs": ["192.168.0.0/16", "100.64.0.0/16", "172.16.3.4/32"]}},
    {"publish": PUBLISH | OWN_HOST},
    {"scaling": {"metricsFrom": "keda", "gpuPercent": None, "requestsPerSecond": None}},
    {"scaling": {"metricsFrom": "prometheus-adapter"}, "pools": ["al2023"]},
    {"scaling": {"metricsFrom": "keda"}, "pools": ["sliced"]},
    {"scaling": {"metricsFrom": "keda"}, "pools": ["cpu"], "device": "cpu"},
    {"scaling": {"metricsFrom": "metrics-server", "gpuPercent": 50}},
]


@pytest.mark.parametrize("more", SOUND, ids=str)
def test_a_sound_declaration_is_taken(more: dict[str, Any]):
    assert told(GOOD | more) == []


def test_a_service_that_is_off_needs_nothing():
    assert Gpunet().enabled is False
    assert told({}, **OFF) == []
    whole = {"imageDigest": DIGEST, "model": MODEL, "modelAccess": "volume", "pools": ["nowhere"], "publish": PUBLISH}
    assert told(whole | {"scaling": {"metricsFrom": "keda"}}, **OFF) == []


def test_one_that_is_on_needs_all_that():
    declaration = GOOD | {"modelAccess": "volume", "publish": PUBLISH, "scaling": {"metricsFrom": "keda"}}
    assert [problem.key for problem in told(declaration, **OFF)] == [
        "eksai:gpunet.repository",
        *["eksai:platform"] * 4,
        "eksai:addons.metrics-server.enabled",
        "eksai:addons.aws-mountpoint-s3-csi-driver.enabled",
        "eksai:gpunet.pools[0]",
        "eksai:gpunet.publish",
        "eksai:network.existing.publicSubnetIds",
    ]


def published(**changes: Any) -> dict[str, Any]:
    return {"publish": PUBLISH | changes}


def model(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL | changes}


def scaling(**changes: Any) -> dict[str, Any]:
    return {"scaling": changes}


BAD: list[tuple[dict[str, Any], str, str, str]] = [
    # (what differs, key below the section, what its rule says, what the way out says)
    ({"pools": []}, "", "pools that are named", "set pools"),
    ({"pools": ["gpu", "gpu"]}, "", "pools lists an entry twice", "keep one"),
    ({"pools": ["gpuu"]}, ".pools[0]", "no such pool", "name one of"),
    ({"pools": ["gpu", "leaving"]}, ".pools[1]", "that pool retires", "name one of"),
    ({"pools": ["gpu", "cpu"]}, ".pools[1]", "the nodes of cpu have none", "VARIANT=cpu"),
    ({"pools": ["neuron"]}, ".pools[0]", "on NVIDIA GPUs", "name a pool with GPUs"),
    ({"pools": ["claims"]}, ".pools[0]", "by claim", "allocation: device-plugin"),
    ({"pools": ["gpu"], "device": "cpu"}, ".pools[0]", "who need their accelerators", "or set device: gpu"),
    ({"pools": ["gpu"], "device": "cpu"} | scaling(metricsFrom="keda"), ".pools[0]", "with device: cpu", "without"),
    ({"pools": ["neuron"], "device": "cpu"}, ".pools[0]", "nodes of neuron", "name a pool without accelerators"),
    ({"pools": ["gpu", "sliced"]}, ".pools", "nvidia.com/gpu and nvidia.com/gpu.shared", "shared alike"),
    ({"pools": ["sliced", "parted"]}, ".pools", "nvidia.com/mig-1g.5gb", "shared alike"),
    ({"pools": ["arm"], "device": "cpu"}, ".pools", "amd64", "are amd64"),
    ({"architecture": "arm64"}, "", "are amd64", "remove architecture"),
    ({"pools": ["cpu"], "device": "cpu", "architecture": "arm64"}, ".pools", "arm64", "are arm64"),
    ({"cpu": "64"}, ".pools", "64 cpu", "change cpu and memory"),
    ({"memory": "640Gi"}, ".pools", "640 GiB", "change cpu and memory"),
    (
        {"pools": ["one"]},
        ".scaling.min",
        "2 at a time, and within the pools' limits there is room for 1 on one",
        "limits",
    ),
    ({"pools": ["one-sliced"]} | scaling(min=4), ".scaling.min", "5 at a time, and", "lower min"),
    ({"pools": ["one", "gpu"]} | scaling(min=11, max=20), ".scaling.min", "1 on one, 10 on gpu", "another pool"),
    ({"pools": ["managed"]} | scaling(min=2), ".scaling.min", "for 2 on managed", "size.desired"),
    ({"pools": ["fours"]} | scaling(min=4), ".scaling.min", "for 4 on fours", "limits"),
    (
        {"pools": ["parted"], "cpu": "1", "memory": "2Gi"} | scaling(min=56, max=56),
        ".scaling.min",
        "for 56 on parted",
        "lower min",
    ),
    # A pod of two vCPUs leaves no room for another one on four, however many shares its GPU has.
    ({"pools": ["small-sliced"]} | scaling(min=3), ".scaling.min", "for 1 on small-sliced", "limits"),
    # One node is all that the limit of CPUs allows.
    ({"pools": ["one-node"]}, ".scaling.min", "for 1 on one-node", "limits"),
    # The GPUs of a pool that no pod fits are for nobody.
    ({"pools": ["gpu", "fours"], "cpu": "16", "memory": "60Gi"} | scaling(min=2), ".scaling.min", "0 on gpu", "limits"),
    ({"pools": ["few-cpus"], "device": "cpu", "cpu": "1"} | scaling(min=2), ".scaling.min", "for 1 on few", "limits"),
    ({"pools": ["unlike"]}, ".scaling.min", "for 1 on unlike", "size.desired"),
    ({"repository": "gpunet"}, ".repository", "a repository of eksai:repositories", "add the line gpunet: {}"),
    ({"imageDigest": "0.1.0"}, ".imageDigest", "by its digest", "docker push prints the digest"),
    ({"imageDigest": "x/app:0.1.0"}, ".imageDigest", "a tag could be moved", "aws ecr describe-images"),
    ({"imageDigest": f"x/app@{DIGEST}"}, ".imageDigest", "by its digest", f"write {DIGEST}"),
    ({"imageDigest": HASH}, ".imageDigest", "by its digest", f"write {DIGEST}"),
    ({"imageDigest": DIGEST.upper()}, ".imageDigest", "in lower case", "docker push"),
    ({"imageDigest": f"{DIGEST}0"}, ".imageDigest", "64 hexadecimal digits", "docker push"),
    (model(file="models/gpunet/a/x.onnx"), ".model.file", "as it is below models/gpunet/", "write a/x.onnx"),
    (model(file="s3://bucket/models/gpunet/x.onnx"), ".model.file", "as it is below", "write x.onnx"),
    (model(file="s3://bucket/x.onnx"), ".model.file", "lies below models/gpunet/", "upload it there"),
    (model(file="/x.onnx"), ".model.file", "lies below", "without models/gpunet/"),
    (model(file="../secret/x.onnx"), ".model.file", "lies below", "upload it there"),
    (model(file="a//x.onnx"), ".model.file", "lies below", "upload it there"),
    (model(file="my model.onnx"), ".model.file", "letters, digits", "gpunet-0-fp16.onnx"),
    (model(file="x.manifest.json"), ".model.file", "ends with .onnx", "gpunet convert"),
    (model(sha256="abc"), ".model.sha256", "64 hexadecimal digits", "manifest"),
    (model(sha256=DIGEST), ".model.sha256", "64 hexadecimal digits", "sha256sum"),
    (model(versionId=""), ".model.versionId", "what S3 gave it", "list-object-versions"),
    (model(versionId="a b"), ".model.versionId", "what S3 gave it", "list-object-versions"),
    (model(versionId="v1") | {"modelAccess": "volume"}, "", "shows the newest version", "modelAccess: download"),
    ({"model": {"file": "x.onnx"}}, ".model.sha256", "required", "64 hexadecimal digits"),
    ({"cpu": "0"}, ".cpu", "a tenth of one", "quoted"),
    ({"cpu": "0m"}, ".cpu", "a tenth of one", "quoted"),
    ({"cpu": "0.0005"}, ".cpu", "thousandths", "quoted"),
    ({"cpu": "2Gi"}, ".cpu", "a number of cores", "quoted"),
    ({"cpu": 2}, ".cpu", "a text", 'quote it: "2"'),
    ({"memory": "512Mi"}, ".memory", "256 MiB", "1Gi or more"),
    ({"memory": "0"}, ".memory", "nothing runs with none of it", "4Gi"),
    ({"memory": "4GB"}, ".memory", "a Kubernetes quantity", "unit"),
    ({"imageHosts": ["https://example.com"]}, ".imageHosts[0]", "two labels", "without scheme"),
    ({"imageHosts": ["example.com:443"]}, ".imageHosts[0]", "two labels", "port"),
    ({"imageHosts": ["example.com/images"]}, ".imageHosts[0]", "two labels", "path"),
    ({"imageHosts": ["a.dev", "*.example.com"]}, ".imageHosts[1]", "takes in all below", ".example.com, without"),
    ({"imageHosts": ["Images.example.com"]}, ".imageHosts[0]", "lower-case", "images.example.com"),
    ({"imageHosts": ["8.8.8.8"]}, ".imageHosts[0]", "two labels", "images.example.com"),
    ({"imageHosts": ["a.dev", "a.dev"]}, "", "imageHosts lists an entry twice", "keep one"),
    ({"publish": {}}, ".publish.inboundCidrs", "required", "IPv4 ranges"),
    (published(inboundCidrs=[]), ".publish.inboundCidrs", "at least 1", "IPv4 ranges"),
    (published(inboundCidrs=["8.8.8.0/24"] * 2), ".publish", "inboundCidrs lists an entry twice", "keep one"),
    (published(inboundCidrs=["8.8.8.0/24", "10.0.0.0/8"]), ".publish.inboundCidrs[1]", "private", "go out with"),
    (published(**OWN_HOST | {"host": "jupyter.ml.acme.dev"}), ".publish.host", "another application", "another one"),
    (published(inboundCidrs=["0.0.0.0/1"]), ".publish.inboundCidrs[0]", "no organisation", "0.0.0.0/0 if you mean"),
    (published(inboundCidrs=["8.8.8.8"]), ".publish.inboundCidrs[0]", "with its prefix", "write 8.8.8.8/32"),
    (published(scheme="internal"), ".publish.inboundCidrs[0]", "from private addresses", "scheme: internet-facing"),
    ({"publish": INTERNAL | {"inboundCidrs": ["0.0.0.0/0"]}}, ".publish.inboundCidrs[0]", "private", "the VPC"),
    ({"publish": INTERNAL | {"inboundCidrs": ["10.0.0.1"]}}, ".publish.inboundCidrs[0]", "prefix", "10.0.0.1/32"),
    ({"publish": INTERNAL | {"inboundCidrs": ["10.0.0.1/8"]}}, ".publish.inboundCidrs[0]", "prefix", "10.0.0.0/8"),
    (published(scheme="public"), ".publish.scheme", "one of", "choose"),
    (published(host="images.acme.dev"), ".publish", "go together", "give both"),
    (published(certificateArn=CERTIFICATE), ".publish", "go together", "leave both out"),
    (published(**OWN_HOST | {"host": "https://acme.dev"}), ".publish.host", "two labels", "without scheme"),
    (published(**OWN_HOST | {"host": "*.acme.dev"}), ".publish.host", "two labels", "images.example.com"),
    (published(**OWN_HOST | {"certificateArn": "abc"}), ".publish.certificateArn", "of ACM", "list-certificates"),
    (
        published(**OWN_HOST | {"certificateArn": CERTIFICATE.replace("us-west-2", "us-east-1")}),
        ".publish.certificateArn",
        "lies in region us-west-2 of account 444455556666",
        "name a certificate of eksai:aws.region",
    ),
    (
        published(**OWN_HOST | {"certificateArn": CERTIFICATE.replace("arn:aws:", "arn:aws-cn:")}),
        ".publish.certificateArn",
        "lies in region us-west-2",
        "name a certificate",
    ),
    (published(**OWN_HOST | {"host": "a.example.com"}), ".publish.host", "a documentation domain", "of yours"),
    (published(inboundCidrs=["203.0.113.0/24"]), ".publish.inboundCidrs[0]", "a documentation range", "your people"),
    (scaling(min=0), ".scaling.min", "at least 1", "Fewest pods"),
    (scaling(min=3, max=2), ".scaling", "min <= max, here 3 and 2", "out of line"),
    (scaling(cpuPercent=0), ".scaling.cpuPercent", "at least 1", "CPU"),
    (scaling(cpuPercent=101), ".scaling.cpuPercent", "at most 100", "CPU"),
    (scaling(gpuPercent=101), ".scaling.gpuPercent", "at most 100", "null"),
    (scaling(requestsPerSecond=0), ".scaling.requestsPerSecond", "at least 1", "null"),
    (scaling(metricsFrom="kedaa"), ".scaling.metricsFrom", "one of", "did you mean keda?"),
    (scaling(metricsFrom="keda"), ".scaling.gpuPercent", "not on those of gpu", "set gpuPercent: null"),
    (
        scaling(metricsFrom="prometheus-adapter") | {"pools": ["al2023", "gpu", "managed"]},
        ".scaling.gpuPercent",
        "not on those of gpu, managed",
        "pools of al2023",
    ),
]


@pytest.mark.parametrize(("change", "key", "rule", "fix"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_a_mistake_is_told_with_its_key_rule_and_way_out(change: dict[str, Any], key: str, rule: str, fix: str):
    (problem,) = told(GOOD | change)
    assert problem.key == f"eksai:gpunet{key}"
    assert rule in problem.rule
    assert fix in problem.fix


def test_what_is_wrong_in_itself_is_told_of_a_service_that_is_off_too():
    (problem,) = told({"imageDigest": "latest"}, **OFF)
    assert problem.key == "eksai:gpunet.imageDigest"


def test_a_hash_is_the_same_in_capitals():
    assert Gpunet.model_validate({"model": MODEL | {"sha256": HASH.upper()}}) == Gpunet.model_validate({"model": MODEL})


def test_models_end_as_the_service_reads_them():
    source = (ROOT / "services/gpunet/gpunet/model/loading.py").read_text(encoding="utf-8")
    (suffixes,) = (
        ast.literal_eval(statement.value)
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "SUFFIXES"
    )
    assert suffixes == MODEL_SUFFIXES


@pytest.mark.parametrize(
    ("declaration", "charts"),
    [
        ({"publish": PUBLISH}, ["aws-load-balancer-controller"]),
        (scaling(metricsFrom="metrics-server"), []),
        (
            scaling(metricsFrom="keda", gpuPercent=None),
            ["keda", "kube-prometheus-stack", "prometheus-operator-crds"],
        ),
        (
            scaling(metricsFrom="prometheus-adapter", gpuPercent=None),
            ["kube-prometheus-stack", "prometheus-adapter", "prometheus-operator-crds"],
        ),
    ],
)
def test_charts_that_serve_it_are_there(declaration: dict[str, Any], charts: list[str]):
    problems = told(GOOD | declaration, platform={})
    assert {problem.key for problem in problems} <= {"eksai:platform"}
    assert sorted(problem.fix for problem in problems) == [f"add the line {chart}: {{}}" for chart in charts]
    off = {chart: PlatformChart(enabled=False) for chart in CHARTS}
    assert [problem.fix for problem in told(GOOD | declaration, platform=off)] == ["remove enabled: false"] * len(
        charts
    )


@pytest.mark.parametrize("teller", ["metrics-server", "prometheus-adapter", "keda"])
def test_cpu_is_measured_whoever_tells_the_rest(teller: str):
    declaration = GOOD | scaling(metricsFrom=teller, gpuPercent=None)
    assert told(declaration, addons={}) == []
    (problem,) = told(declaration, addons={"metrics-server": Addon(enabled=False)})
    assert problem.key == "eksai:addons.metrics-server.enabled"


@pytest.mark.parametrize("addon", [None, Addon(), Addon(enabled=False)])
def test_a_volume_has_its_driver(addon: Addon | None):
    addons = {"aws-mountpoint-s3-csi-driver": addon} if addon else {}
    assert told(GOOD, addons=addons) == []
    (problem,) = told(GOOD | {"modelAccess": "volume"}, addons=addons)
    assert problem.key == "eksai:addons.aws-mountpoint-s3-csi-driver.enabled"
    assert problem.fix == "set it to true"


def test_without_a_domain_it_has_a_host_of_its_own():
    (problem,) = told(GOOD | {"publish": PUBLISH}, domain=Domain())
    assert problem.key == "eksai:gpunet.publish"
    assert told(GOOD | {"publish": PUBLISH | OWN_HOST}, domain=Domain()) == []


def test_only_what_the_internet_reaches_needs_public_subnets():
    def given(**existing: Any) -> dict[str, Any]:
        declared = {"availabilityZones": list(ZONES), "existing": EXISTING | existing}
        return {"network": Network.model_validate(declared)}

    (problem,) = told(GOOD | {"publish": PUBLISH}, **given())
    assert problem.key == "eksai:network.existing.publicSubnetIds"
    assert told(GOOD | {"publish": PUBLISH}, **given(publicSubnetIds=ZONES)) == []
    assert told(GOOD | {"publish": INTERNAL}, **given()) == []
    assert told(GOOD, **given()) == []


def test_the_local_cloud_takes_what_is_documentations():
    given = GOOD | published(**OWN_HOST | {"host": "images.example.com"}, inboundCidrs=["203.0.113.0/24"])
    assert told(given, local=True) == []
    assert [problem.key for problem in told(given)] == [
        "eksai:gpunet.publish.host",
        "eksai:gpunet.publish.inboundCidrs[0]",
    ]


def test_a_certificate_of_another_partition_is_taken_there():
    certificate = "arn:aws-us-gov:acm:us-gov-west-1:444455556666:certificate/0a1b2c3d"
    aws = Aws.model_validate({"region": "us-gov-west-1", "accountId": "444455556666"})
    assert told(GOOD | published(host="images.acme.dev", certificateArn=certificate), aws=aws) == []


def test_only_a_wrong_scheme_is_told_where_ranges_hang_on_it():
    with pytest.raises(ValidationError) as refusal:
        GpunetPublish.model_validate({"scheme": "private", "inboundCidrs": ["10.0.0.0/8"]})
    assert [error["loc"] for error in refusal.value.errors()] == [("scheme",)]

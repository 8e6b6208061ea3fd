"""The pack as a whole: its rules' metadata, the SDK's analyzer in process, and the process that the engine starts."""

import importlib
import re
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
import yaml
from google.protobuf import empty_pb2
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi.runtime.proto.analyzer_pb2_grpc import AnalyzerStub
from pulumi_policy import EnforcementLevel
from pulumi_policy.policy import _PolicyAnalyzerServicer
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from policies.rules import ALL

PACK = Path(__file__).parents[2] / "policies"
CLUSTER = "aws:eks/cluster:Cluster"
OPEN = {"vpcConfig": {"endpointPublicAccess": True, "publicAccessCidrs": ["0.0.0.0/0"]}}


def struct(properties):
    result = Struct()
    result.update(properties)
    return result


def analyze_request(token, properties):
    return proto.AnalyzeRequest(type=token, urn="urn:it", name="it", properties=struct(properties))


@pytest.fixture
def analyzer():
    return _PolicyAnalyzerServicer("eksai", "0.1.0", list(ALL), EnforcementLevel.MANDATORY)


def test_every_rule_file_is_in_the_pack_and_named_for_its_rule():
    files = {path.stem for path in (PACK / "rules").glob("*.py")} - {"__init__"}
    rules = {name: importlib.import_module(f"policies.rules.{name}").RULE for name in files}
    assert sorted(rule.name for rule in rules.values()) == sorted(rule.name for rule in ALL)
    for file, rule in rules.items():
        assert rule.name == file.replace("_", "-")


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_rule_says_all_that_a_person_needs(rule):
    assert rule.enforcement_level is EnforcementLevel.MANDATORY
    assert rule.severity is not None
    assert rule.description.endswith(".")
    assert rule.remediation_steps.endswith(".")
    for name, schema in (rule.config_schema.properties if rule.config_schema else {}).items():
        assert {"type", "default", "description"} <= set(schema), f"{rule.name}.{name}"


@pytest.mark.parametrize(
    "token", ["aws:ec2/vpc:Vpc", "eks:index:Cluster", "kubernetes:core/v1:Service", "pulumi:pulumi:Stack", "other:a:B"]
)
def test_other_resources_are_left_alone(analyzer, token):
    response = analyzer.Analyze(analyze_request(token, {"vpcConfig": UNKNOWN, "spec": UNKNOWN}), None)
    assert list(response.diagnostics) == []


def test_the_sdk_reports_a_violation_with_level_and_severity(analyzer):
    response = analyzer.Analyze(analyze_request(CLUSTER, OPEN), None)
    [found] = [item for item in response.diagnostics if item.policyName == "api-endpoint-not-open"]
    assert found.enforcementLevel == proto.MANDATORY
    assert found.severity == proto.POLICY_SEVERITY_CRITICAL
    assert "0.0.0.0/0" in found.message


def test_the_sdk_turns_an_unknown_into_advice(analyzer):
    response = analyzer.Analyze(analyze_request(CLUSTER, {"vpcConfig": UNKNOWN, "encryptionConfig": UNKNOWN}), None)
    assert {item.policyName for item in response.diagnostics} == {
        "api-endpoint-not-open",
        "stores-encrypted-with-customer-key",
    }
    assert {item.enforcementLevel for item in response.diagnostics} == {proto.ADVISORY}
    assert all("can't be known during preview" in item.message for item in response.diagnostics)


def test_the_sdk_runs_the_rules_on_a_whole_stack(analyzer):
    bucket = proto.AnalyzerResource(type="aws:s3/bucket:Bucket", urn="urn:b", name="b", properties=struct({}))
    response = analyzer.AnalyzeStack(proto.AnalyzeStackRequest(resources=[bucket]), None)
    assert [(item.policyName, item.urn) for item in response.diagnostics] == [
        ("buckets-encrypted-with-customer-key", "urn:b")
    ]


def test_policy_configuration_changes_level_and_threshold(analyzer):
    def configure(level, **settings):
        config = proto.PolicyConfig(enforcementLevel=level, properties=struct(settings))
        analyzer.Configure(proto.ConfigureAnalyzerRequest(policyConfig={"api-endpoint-not-open": config}), None)
        response = analyzer.Analyze(analyze_request(CLUSTER, OPEN), None)
        return [item.enforcementLevel for item in response.diagnostics if item.policyName == "api-endpoint-not-open"]

    assert configure(proto.ADVISORY) == [proto.ADVISORY]
    assert configure(proto.DISABLED) == []
    assert configure(proto.MANDATORY, minPrefixLength=0) == [], "0.0.0.0/0 has the prefix length that is now let pass"


def test_the_pack_serves_its_rules_to_an_engine(tmp_path):
    """Started as the engine starts it: the pack's folder alone, from another working directory."""
    command = [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(PACK)]
    started = time.monotonic()
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip()
            assert re.fullmatch(r"\d+", port), process.stderr.read()
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                stub = AnalyzerStub(channel)
                info = stub.GetAnalyzerInfo(empty_pb2.Empty(), timeout=10)
                response = stub.Analyze(analyze_request(CLUSTER, OPEN), timeout=10)
        finally:
            process.kill()
    assert time.monotonic() - started < 10, "an engine waits for it at every preview"
    assert info.name == "eksai"
    assert [policy.name for policy in info.policies] == [rule.name for rule in ALL]
    assert {policy.enforcementLevel for policy in info.policies} == {proto.MANDATORY}
    assert "api-endpoint-not-open" in {item.policyName for item in response.diagnostics}


def test_the_pack_declares_itself_to_the_engine():
    declared = yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text(encoding="utf-8"))
    assert declared["runtime"] == "python"
    assert re.fullmatch(r"\d+\.\d+\.\d+", declared["version"])

"""The engine's events in our words."""

import pytest
from pulumi.automation.events import EngineEvent

from automation.events import Announced, Failed, Finished, Message, Resource, Started, Summary, Violation, short_type
from automation.events import translate as translate_event

URN = "urn:pulumi:dev::eksai::eksai:index:Network$aws:ec2/vpc:Vpc::network-vpc"
STACK = "urn:pulumi:dev::eksai::pulumi:pulumi:Stack::eksai-dev"


def translate(**event):
    return translate_event(EngineEvent.from_json({"sequence": 1, "timestamp": 1, **event}))


def diagnostic(message, severity, urn=None, **more):
    return translate(diagnosticEvent={"message": message, "severity": severity, "urn": urn, "color": "never", **more})


def test_a_resource_is_followed_from_start_to_end():
    metadata = {"op": "update", "urn": URN, "type": "aws:ec2/vpc:Vpc", "provider": "", "diffs": ["tags"]}

    assert translate(resourcePreEvent={"metadata": metadata}) == Started(Resource(URN), "update")
    assert translate(resOutputsEvent={"metadata": metadata}) == Finished(Resource(URN), "update", ("tags",))


def test_a_refused_resource_carries_the_clouds_own_text():
    event = diagnostic("creating EC2 VPC: InvalidVpc.Range\n", "error", URN)

    assert event == Failed(Resource(URN), "creating EC2 VPC: InvalidVpc.Range")
    assert str(event).splitlines() == ["  ec2.Vpc network-vpc", "    creating EC2 VPC: InvalidVpc.Range"]


def test_what_the_program_raises_is_no_failed_resource():
    assert diagnostic("two settings are wrong", "error") == Message("error", "two settings are wrong")
    assert diagnostic("two settings are wrong", "error", STACK) == Message("error", "two settings are wrong")


@pytest.mark.parametrize(
    ("message", "severity"),
    [
        ("update failed", "error"),
        ("failed to run remediation: context canceled", "error"),
        ("beginning rpc register resource", "debug"),
        ("", "info"),
    ],
)
def test_what_tells_nothing_is_left_out(message, severity):
    assert diagnostic(message, severity, URN) is None


def test_a_registration_is_announced_before_the_engine_comes_to_it():
    assert diagnostic("registering resource: ty=aws:ec2/vpc:Vpc, name=vpc, custom=True", "debug") == Announced(1)


def test_a_policy_finding_keeps_name_level_message_and_resource():
    event = translate(
        policyEvent={
            "resourceUrn": URN,
            "message": "Too wide.\n",
            "policyName": "narrow",
            "policyPackName": "eksai",
            "enforcementLevel": "mandatory",
        }
    )

    assert event == Violation("narrow", "mandatory", "Too wide.", URN)


def test_the_summary_counts_by_operation():
    event = translate(summaryEvent={"durationSeconds": 4, "resourceChanges": {"create": 3, "same": 1}})

    assert event == Summary({"create": 3, "same": 1}, 4)


def test_a_resource_is_known_by_its_type_and_name():
    resource = Resource(URN)

    assert (resource.type, resource.name, str(resource)) == ("aws:ec2/vpc:Vpc", "network-vpc", "ec2.Vpc network-vpc")
    assert not resource.is_grouping
    assert Resource(STACK).is_grouping
    assert Resource("urn:pulumi:dev::eksai::eks:index:Cluster::cluster").is_grouping


@pytest.mark.parametrize(
    ("token", "short"),
    [
        ("aws:ec2/routeTable:RouteTable", "ec2.RouteTable"),
        ("aws:eks/cluster:Cluster", "eks.Cluster"),
        ("eks:index:Cluster", "Cluster"),
        ("eksai:index:Network", "Network"),
        ("kubernetes:helm.sh/v3:Release", "helm.sh/v3 Release"),
        ("random:index/randomPassword:RandomPassword", "random.RandomPassword"),
        ("pulumi:providers:aws", "aws"),
    ],
)
def test_types_are_shortened_to_what_people_say(token, short):
    assert short_type(token) == short

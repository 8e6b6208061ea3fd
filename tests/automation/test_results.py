"""What is made of the events of a run."""

import json

import pytest

from automation.errors import PolicyRefusal, ProgramFailed, ResourceFailed
from automation.events import Failed, Finished, Message, Resource, Started, Summary, Violation
from automation.results import Record
from automation.summary import as_json

URN = "urn:pulumi:dev::eksai::aws:ec2/vpc:Vpc::vpc"
MANDATORY = Violation("no-open-endpoint", "mandatory", "Open to the world.", URN)
ADVISORY = Violation("narrow", "advisory", "Rather wide.", URN)


def record(*events):
    gathered = Record()
    for event in events:
        gathered.add(event)
    return gathered


def test_a_replacement_is_one_change_though_the_engine_takes_three_steps():
    steps = [Finished(Resource(URN), op) for op in ("create-replacement", "replace", "delete-replaced")]

    result = record(*steps, Summary({"replace": 1}, 1)).result("up", "dev", {}, 1.0)

    assert [(change.name, change.op) for change in result.resources] == [("vpc", "replace")]


def test_a_resource_that_was_only_begun_is_not_reported():
    assert record(Started(Resource(URN), "create")).result("up", "dev", {}, 1.0).resources == ()


@pytest.mark.parametrize(
    ("changes", "unchanged"),
    [({"same": 9}, True), ({"same": 9, "update": 1}, False), ({}, True), ({"create": 1}, False)],
)
def test_a_run_is_unchanged_when_every_resource_stayed_the_same(changes, unchanged):
    assert record(Summary(changes, 1)).result("preview", "dev", {}, 1.0).is_unchanged is unchanged


def test_a_mandatory_finding_explains_a_failure_before_anything_else():
    failure = record(ADVISORY, MANDATORY, Message("error", "preview stopped")).failure("up", "")

    assert isinstance(failure, PolicyRefusal)
    assert failure.findings == (MANDATORY,)
    assert "no-open-endpoint: ec2.Vpc vpc\n    Open to the world." in str(failure)


def test_a_refused_resource_explains_a_failure_and_says_what_to_do():
    failure = record(Failed(Resource(URN), "VpcLimitExceeded")).failure("up", "exit status 255")

    assert isinstance(failure, ResourceFailed)
    assert str(failure).splitlines()[:3] == ["1 resource failed:", "  ec2.Vpc vpc", "    VpcLimitExceeded"]
    assert "run up again" in str(failure)


def test_an_error_of_the_program_is_its_own_text():
    failure = record(Message("error", "two settings are wrong")).failure("up", "exit status 255")

    assert isinstance(failure, ProgramFailed)
    assert str(failure) == "two settings are wrong"


def test_where_events_tell_nothing_the_engine_has_the_last_word():
    assert str(record().failure("up", "no such backend\n")) == "no such backend"


def test_a_result_is_json_for_other_programs():
    result = record(Finished(Resource(URN), "create"), ADVISORY, Summary({"create": 1}, 1))

    read = json.loads(as_json(result.result("up", "dev", {"token": "[secret]"}, 2.5)))

    assert read["resources"][0]["urn"] == URN
    assert read["findings"] == [{"name": "narrow", "level": "advisory", "message": "Rather wide.", "urn": URN}]
    assert read["outputs"] == {"token": "[secret]"}

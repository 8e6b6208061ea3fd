"""Node groups that leave an accelerator to their launch template."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "accelerator-launch-templates-tainted"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}
TEMPLATE = ("aws:ec2/launchTemplate:LaunchTemplate", "template")


@pytest.mark.parametrize(
    ("group", "sources"),
    [
        pytest.param({"launchTemplate": {"id": UNKNOWN}}, {"launchTemplate": ["template"]}, id="by a computed id"),
        pytest.param({"launchTemplate": {"id": "lt-1"}}, {}, id="by its id"),
        pytest.param({"launchTemplate": {"name": "gpu"}}, {}, id="by its name"),
    ],
)
def test_an_accelerator_in_a_launch_template_is_found(judge_stack, group, sources):
    template = ({"id": "lt-1", "name": "gpu", "instanceType": "g6.xlarge"}, {})
    bare = judge_stack(RULE, {TEMPLATE: template, (GROUP, "group"): (group, sources)})
    assert len(bare.violations) == 1
    assert "g6.xlarge, from launch template template" in bare.violations[0]
    assert bare.urns == ["group"], "the group is what has to change"
    tainted = {**group, "taints": [TAINT]}
    assert judge_stack(RULE, {TEMPLATE: template, (GROUP, "group"): (tainted, sources)}).violations == []


@pytest.mark.parametrize(
    ("template", "group"),
    [
        pytest.param({"id": "lt-1", "instanceType": "m7i.large"}, {"launchTemplate": {"id": "lt-1"}}, id="plain type"),
        pytest.param({"id": "lt-1"}, {"launchTemplate": {"id": "lt-1"}}, id="no type"),
        pytest.param(
            {"id": "lt-1", "instanceType": "g5.xlarge"}, {"launchTemplate": {"id": "lt-2"}}, id="not its template"
        ),
        pytest.param({"id": "lt-1", "instanceType": "g5.xlarge"}, {}, id="no template"),
    ],
)
def test_other_launch_templates_are_none_of_a_groups_business(judge_stack, template, group):
    outcome = judge_stack(RULE, {TEMPLATE: (template, {}), (GROUP, "group"): (group, {})})
    assert (outcome.violations, outcome.unknown) == ([], "")


def test_a_resource_that_only_shares_the_id_is_no_launch_template(judge_stack):
    instance = ("aws:ec2/instance:Instance", "template")
    stack = {
        instance: ({"id": "lt-1", "instanceType": "g5.xlarge"}, {}),
        (GROUP, "group"): ({"launchTemplate": {"id": "lt-1"}}, {}),
    }
    assert judge_stack(RULE, stack).violations == []


def test_an_unknown_instance_type_in_a_launch_template_is_reported(judge_stack):
    outcome = judge_stack(
        RULE,
        {
            TEMPLATE: ({"id": "lt-1", "instanceType": UNKNOWN}, {}),
            (GROUP, "group"): ({"launchTemplate": {"id": "lt-1"}}, {}),
        },
    )
    assert (outcome.violations, outcome.unknown) == ([], "group.instanceType")

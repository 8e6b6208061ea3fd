"""Finding the project and reading its stack files."""

import json

import pytest

from automation.errors import ProjectError, UnknownStack
from automation.project import SECRET_STAND_IN, Project


def test_a_project_is_found_from_any_folder_below_it(project):
    below = project.root / "policies" / "rules"
    below.mkdir()

    assert Project.find(below).root == project.root


def test_outside_of_a_project_the_message_says_how_to_name_one(tmp_path):
    with pytest.raises(ProjectError, match=r"(?s)No Pulumi\.yaml in .* -C DIR"):
        Project.find(tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ProjectError, match="is not a folder"):
        Project.find(tmp_path / "nowhere")


def test_the_stacks_are_those_that_have_a_file(project):
    assert project.stacks() == ["dev", "prod"]


def test_an_unknown_stack_is_refused_with_the_known_ones(project):
    with pytest.raises(UnknownStack, match=r"'stage' .*there are: dev, prod"):
        project.config("stage")


def test_config_is_what_the_engine_hands_to_the_program(project, stack_file):
    stack_file.write_text(
        "config:\n"
        "  toy:text: '1.40'\n"
        "  toy:number: 3\n"
        "  toy:flag: true\n"
        "  toy:object: {a: [1, 2], b: {c: x}}\n"
        "  pulumi:disable-default-providers: [aws]\n"
    )

    assert project.config("dev") == {
        "toy:text": "1.40",
        "toy:number": "3",
        "toy:flag": "true",
        "toy:object": '{"a":[1,2],"b":{"c":"x"}}',
        "pulumi:disable-default-providers": '["aws"]',
    }


def test_defaults_of_the_project_hold_where_the_stack_says_nothing(project, stack_file):
    (project.root / "Pulumi.yaml").write_text(
        "name: toy\nruntime: python\nconfig:\n"
        "  network: {type: object, default: {}, description: The VPC.}\n"
        "  cluster: {type: object, default: {}, description: The cluster.}\n"
        "  region: {type: string, description: No default.}\n"
        "  pulumi:tags: {value: {team: ml}}\n"
        "  toy:plain: text\n"
    )
    stack_file.write_text("config:\n  toy:network: {cidr: 10.0.0.0/16}\n")

    config = project.config("dev")

    assert json.loads(config["toy:network"]) == {"cidr": "10.0.0.0/16"}, "an object is replaced, not merged"
    assert config["toy:cluster"] == "{}"
    assert json.loads(config["pulumi:tags"]) == {"team": "ml"}
    assert config["toy:plain"] == "text"
    assert "toy:region" not in config


def test_encrypted_values_are_known_as_secrets_and_never_shown(project, stack_file):
    stack_file.write_text(
        "config:\n"
        "  toy:whole: {secure: v1:abc}\n"
        "  toy:nested: {user: me, keys: [{secure: v1:def}]}\n"
        "  toy:open: {a: b}\n"
    )

    assert project.secret_keys("dev") == {"toy:whole", "toy:nested"}
    assert project.config("dev")["toy:whole"] == SECRET_STAND_IN
    assert json.loads(project.config("dev")["toy:nested"]) == {"user": "me", "keys": [SECRET_STAND_IN]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config: [", "Pulumi.dev.yaml is not valid YAML"),
        ("- a\n- b\n", "the file must be a mapping"),
        ("config: text\n", "config must be a mapping of keys to values, not str"),
        ("config: {network: {}}\n", "key 'network' has no namespace.*\n.*toy:network"),
    ],
)
def test_an_unreadable_stack_file_is_refused_with_the_reason(project, stack_file, text, message):
    stack_file.write_text(text)

    with pytest.raises(ProjectError, match=message):
        project.config("dev")


def test_a_key_that_stands_twice_is_refused_with_its_place(project, stack_file):
    stack_file.write_text("config:\n  toy:a: {x: 1}\n  toy:a: {x: 2}\n")

    with pytest.raises(ProjectError, match=r"(?s)'toy:a' stands twice.*Pulumi\.dev\.yaml.*line 3"):
        project.config("dev")


@pytest.mark.parametrize("content", [b"config:\n\ttoy:a: 1\n", b"config: {toy:a: \xff}\n", b"- a\n", b"config: text\n"])
def test_a_file_that_is_no_stack_file_is_told_by_name(project, stack_file, content):
    stack_file.write_bytes(content)

    with pytest.raises(ProjectError, match=r"Pulumi\.dev\.yaml"):
        project.config("dev")

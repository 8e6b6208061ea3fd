"""The generated folder that the engine runs in."""

import pytest
import yaml

from automation.work_folder import write_work_folder


@pytest.fixture
def work(project):
    return project.root / ".local" / "dev" / "simulated" / "work"


def test_the_generated_project_points_at_the_program(project, work):
    write_work_folder(project, "dev", work, foreign_secrets=True)

    generated = yaml.safe_load((work / "Pulumi.yaml").read_text())
    assert generated["name"] == "toy"
    assert (work / generated["main"]).resolve() == project.root


def test_options_of_the_runtime_are_dropped(project, work):
    (project.root / "Pulumi.yaml").write_text("name: toy\nruntime: {name: python, options: {virtualenv: .venv}}\n")

    write_work_folder(project, "dev", work, foreign_secrets=True)

    runtime = yaml.safe_load((work / "Pulumi.yaml").read_text())["runtime"]
    assert runtime == {"name": "python"}, "a virtualenv relative to the project does not exist relative to here"


def test_the_copy_of_the_stack_file_follows_the_original_and_keeps_the_salt(project, work, stack_file):
    write_work_folder(project, "dev", work, foreign_secrets=True)
    copy = work / "Pulumi.dev.yaml"
    assert copy.read_text() == stack_file.read_text()

    copy.write_text(copy.read_text() + "encryptionsalt: v1:ours\n")
    stack_file.write_text("config: {toy:boxes: '3'}\n")
    write_work_folder(project, "dev", work, foreign_secrets=True)

    assert copy.read_text() == "config: {toy:boxes: '3'}\nencryptionsalt: v1:ours\n"
    assert stack_file.read_text() == "config: {toy:boxes: '3'}\n", "the repository's file is not written"


FOREIGN = """\
secretsprovider: awskms://alias/pulumi
encryptedkey: AQIC
environment:
  - toy/dev
encryptionsalt: v1:theirs
config:
  toy:whole:
    secure: v1:abc
  toy:nested: {user: me, password: {secure: v1:def}}
  toy:list:
    - secure: v1:ghi
    - plain
  toy:plain: kept
"""


def test_values_encrypted_for_another_backend_become_a_stand_in(project, work, stack_file):
    stack_file.write_text(FOREIGN)

    write_work_folder(project, "dev", work, foreign_secrets=True)

    assert yaml.safe_load((work / "Pulumi.dev.yaml").read_text()) == {
        "config": {
            "toy:whole": "[secret]",
            "toy:nested": {"user": "me", "password": "[secret]"},
            "toy:list": ["[secret]", "plain"],
            "toy:plain": "kept",
        }
    }


def test_on_the_users_own_backend_the_copy_is_exact(project, work, stack_file):
    stack_file.write_text(FOREIGN)

    write_work_folder(project, "dev", work, foreign_secrets=False)

    assert (work / "Pulumi.dev.yaml").read_text() == FOREIGN


def test_what_a_run_is_told_takes_the_place_of_the_stack_files_own(project, work, stack_file):
    stack_file.write_text('config:\n  toy:version: "1.40"\n  toy:charts: {mirror: oci://theirs}\n')

    write_work_folder(project, "dev", work, foreign_secrets=True, config={"toy:charts": {"mirror": "/ours"}})

    told = yaml.safe_load((work / "Pulumi.dev.yaml").read_text())["config"]
    assert told == {"toy:version": "1.40", "toy:charts": {"mirror": "/ours"}}, "and a text stays a text"

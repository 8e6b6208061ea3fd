"""This repository's stacks once GPUNet's image and model are pushed, which their files wait for."""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from automation.plan import Plan, make_plan
from automation.project import Project
from settings import Settings, validate
from tools.scratch import ROOT, scratch_project

IMAGE_AND_MODEL: dict[str, Any] = {
    "imageDigest": f"sha256:{'1' * 64}",
    "model": {"file": "gpunet-0-fp16.onnx", "sha256": "2" * 64},
}
"""What is added to `eksai:gpunet`."""


def serving(config: dict[str, Any]) -> dict[str, Any]:
    """A stack file's config with image and model."""
    return {**config, "eksai:gpunet": {**config["eksai:gpunet"], **IMAGE_AND_MODEL}}


def serve(project: Project, stack: str) -> None:
    """Writes image and model into a stack file of a scratch project."""
    file = project.stack_file(stack)
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump({**content, "config": serving(content["config"])}), encoding="utf-8")


@cache
def serving_plan(stack: str) -> Plan:
    """What a stack would make; nobody changes it."""
    with tempfile.TemporaryDirectory() as folder:
        project = scratch_project(Path(folder))
        serve(project, stack)
        return make_plan(project, stack)


def serving_settings(stack: str) -> Settings:
    """The settings of a stack."""
    config = serving(yaml.safe_load(Project(ROOT).stack_file(stack).read_text(encoding="utf-8"))["config"])
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return validate(texts, stack=stack, local=True)

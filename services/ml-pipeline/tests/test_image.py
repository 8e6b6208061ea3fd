"""The image and what is installed here are the same Ray."""

import re
from pathlib import Path

import ray

ROOT = Path(__file__).parents[1]


def test_the_image_has_the_ray_that_is_tested_here():
    tag = re.search(r"^ARG RAY_IMAGE=.*rayproject/ray:(\d+\.\d+\.\d+)-py312$", (ROOT / "Dockerfile").read_text(), re.M)
    pin = re.search(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.M)
    assert tag is not None
    assert pin is not None
    assert tag[1] == pin[1] == ray.__version__, "Ray's nodes and drivers work together in one version only"

"""Stacks' pools as the platform sees them."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from components.accelerators import ACCELERATORS, Vendor
from components.gpu_sharing import Sharing
from components.pools import Pool
from settings import Settings, validate

ROOT = Path(__file__).parents[2]
STACKS = ("dev", "prod")
SLICED = Sharing(strategy="time-slicing", replicas=4, profile=None)
SERVED = Sharing(strategy="mps", replicas=3, profile=None)
PARTED = Sharing(strategy="mig", replicas=None, profile="1g.10gb")
OWN_TAINT = {"key": "team", "value": "vision", "effect": "NoExecute"}


def pool(name: str = "pool", **changes: Any) -> Pool:
    """A pool of AL2023 nodes with NVIDIA GPUs and a taint of its own, but for what differs."""
    given = {
        "vendor": Vendor.NVIDIA,
        "image_family": "al2023",
        "sharing": None,
        "allocation": "device-plugin",
        "efa": False,
        "architectures": ("amd64",),
        **changes,
    }
    vendor = given["vendor"]
    taints = [*([ACCELERATORS[vendor].taint] if vendor else []), OWN_TAINT]
    return Pool(name=name, taints=taints, **given)


def every_pool() -> list[Pool]:
    """Every image family with every vendor, sharing, allocation, with EFA and without."""
    combinations = product(
        ("al2023", "bottlerocket"),
        (None, *Vendor),
        (None, SLICED, SERVED, PARTED),
        ("device-plugin", "dra"),
        (False, True),
    )
    fields = ("image_family", "vendor", "sharing", "allocation", "efa")
    return [pool("-".join(map(str, values)), **dict(zip(fields, values, strict=True))) for values in combinations]


def stack(name: str) -> Settings:
    """The settings of a stack of this repository."""
    config = yaml.safe_load((ROOT / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))["config"]
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return validate(texts, stack=name, local=True)


def not_tolerated(taints: Any, tolerations: Any) -> list[str]:
    """The taints that keep a pod away, as Kubernetes matches them with its tolerations."""

    def matches(taint: Any, toleration: Any) -> bool:
        if toleration.get("effect") not in (None, taint["effect"]):
            return False
        if toleration.get("operator", "Equal") == "Exists":
            return toleration.get("key") in (None, taint["key"])
        return (toleration.get("key"), toleration.get("value", "")) == (taint["key"], taint.get("value", ""))

    harmless = "PreferNoSchedule"
    return [
        taint["key"]
        for taint in taints
        if taint["effect"] != harmless and not any(matches(taint, toleration) for toleration in tolerations)
    ]

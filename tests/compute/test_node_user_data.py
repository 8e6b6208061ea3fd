"""What a managed node is told at boot."""

import base64
import email
import json
import tomllib

import pytest

from components.compute.node_user_data import sharing_settings, user_data
from components.gpu_sharing import Sharing

SLICED = Sharing(strategy="time-slicing", replicas=4, profile=None)
SERVED = Sharing(strategy="mps", replicas=8, profile=None)


def told(family: str, *, raid0: bool = False, max_pods: int | None = None, sharing: Sharing | None = None) -> str:
    text = user_data(family, raid0=raid0, max_pods=max_pods, sharing=sharing)
    assert text is not None
    return base64.b64decode(text).decode()


def test_a_node_without_wishes_is_told_nothing():
    for family in ("bottlerocket", "al2023"):
        assert user_data(family, raid0=False, max_pods=None, sharing=None) is None


def test_bottlerocket_is_told_in_toml():
    settings = tomllib.loads(told("bottlerocket", raid0=True, max_pods=110))["settings"]
    assert settings["kubernetes"]["max-pods"] == 110
    init, bind = settings["bootstrap-commands"]["instance-store"]["commands"]
    assert init == ["apiclient", "ephemeral-storage", "init"]
    assert bind[3:] == ["--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]


def test_al2023_is_told_in_a_nodeadm_document():
    message = email.message_from_string(told("al2023", raid0=True, max_pods=110))
    (part,) = message.get_payload()
    assert part.get_content_type() == "application/node.eks.aws", "nodeadm looks at no other part"
    assert json.loads(part.get_payload()) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"kubelet": {"config": {"maxPods": 110}}, "instance": {"localStorage": {"strategy": "RAID0"}}},
    }


def test_one_wish_brings_no_other():
    assert "kubernetes" not in tomllib.loads(told("bottlerocket", raid0=True))["settings"]
    assert "RAID0" not in told("al2023", max_pods=110)


def test_bottlerockets_own_plugin_is_told_how_to_share():
    plugin = tomllib.loads(told("bottlerocket", sharing=SLICED))["settings"]["kubelet-device-plugins"]["nvidia"]
    assert plugin == {
        "device-sharing-strategy": "time-slicing",
        "time-slicing": {"replicas": 4, "rename-by-default": True, "fail-requests-greater-than-one": True},
    }


def test_mps_has_no_setting_for_requests_of_several_shares():
    plugin = tomllib.loads(told("bottlerocket", sharing=SERVED))["settings"]["kubelet-device-plugins"]["nvidia"]
    assert plugin == {"device-sharing-strategy": "mps", "mps": {"replicas": 8, "rename-by-default": True}}


def test_sharing_stands_beside_other_wishes():
    settings = tomllib.loads(told("bottlerocket", raid0=True, max_pods=110, sharing=SLICED))["settings"]
    assert set(settings) == {"kubernetes", "bootstrap-commands", "kubelet-device-plugins"}


@pytest.mark.parametrize("sharing", [SLICED, SERVED, None])
def test_al2023_runs_the_plugin_in_a_pod_which_is_told_by_label(sharing: Sharing | None):
    assert sharing_settings("al2023", sharing) is None
    assert user_data("al2023", raid0=False, max_pods=None, sharing=sharing) is None

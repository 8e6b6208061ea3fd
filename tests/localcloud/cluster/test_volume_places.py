"""A node for a pod lies where the pod's volumes do."""

from typing import Any

from localcloud.cluster.volume_places import beside_its_volumes

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
IN_B = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2b"]}
OF_POOL = {"key": "eksai.dev/pool", "operator": "In", "values": ["data"]}


def pod(*claims: str, affinity: dict[str, Any] | None = None) -> dict[str, Any]:
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return {
        "metadata": {"name": "server", "namespace": "apps"},
        "spec": {"volumes": [*volumes, {"name": "tmp", "emptyDir": {}}], "affinity": affinity},
    }


def claim(name: str, volume: str | None, namespace: str = "apps") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"volumeName": volume}}


def volume(name: str, *asked: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": [expression]} for expression in asked]
    return {"metadata": {"name": name}, "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}


def asked(placed: dict[str, Any]) -> list[Any]:
    return [
        term["matchExpressions"] for term in placed["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    ]


def test_a_pod_with_a_bound_claim_asks_for_the_zone_of_its_volume():
    placed = beside_its_volumes(pod("data"), [claim("data", "vol-b")], [volume("vol-b", IN_B)])
    assert asked(placed) == [[IN_B]]


def test_each_of_its_own_alternatives_is_narrowed():
    terms = [{"matchExpressions": [OF_POOL]}, {"matchExpressions": []}]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}, "podAntiAffinity": {"some": "rule"}}
    placed = beside_its_volumes(pod("data", affinity=affinity), [claim("data", "vol-b")], [volume("vol-b", IN_B)])
    assert asked(placed) == [[OF_POOL, IN_B], [IN_B]]
    assert placed["spec"]["affinity"]["podAntiAffinity"] == {"some": "rule"}


def test_of_alternatives_of_a_volume_the_first_counts():
    other = IN_B | {"values": ["us-west-2c"]}
    assert asked(beside_its_volumes(pod("data"), [claim("data", "v")], [volume("v", IN_B, other)])) == [[IN_B]]


def test_what_has_no_volume_anywhere_yet_asks_for_nothing():
    for claims, volumes in (
        ([claim("data", None)], [volume("vol-b", IN_B)]),
        ([claim("data", "vol-b", namespace="others")], [volume("vol-b", IN_B)]),
        ([claim("data", "efs")], [{"metadata": {"name": "efs"}, "spec": {}}]),
        ([], []),
    ):
        one = pod("data")
        assert beside_its_volumes(one, claims, volumes) is one

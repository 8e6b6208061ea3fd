"""Which nodes Karpenter makes for pending pods, and which it ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from components.compute.node_pools import node_pool_spec
from localcloud.cluster.node_lifetime import EMPTY, duration, idle_claims
from localcloud.cluster.node_objects import disk, node_name, quantities
from localcloud.cluster.node_room import Room, room_left
from localcloud.cluster.provisioning import MOST_ATTEMPTS, PATIENCE, Supply, awaiting, plan
from policies.rules.judging.quantities import quantity
from tests.compute.pools import CPU, GPU, karpenter

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
ZONES = ("us-west-2a", "us-west-2b")
INTEL = ["m7i.large", "m7i.xlarge", "m7i.2xlarge", "m7i.4xlarge"]
ROOM = {"pods": 110.0, "ephemeral-storage": 50 * 1024.0**3}


def supply(name: str, declaration: dict[str, Any], **changes: Any) -> Supply:
    """A pool that is ready, in two zones."""
    facts = {key: changes.pop(key) for key in ("used", "refusal", "zones") if key in changes}
    pool = {"metadata": {"name": name}, "spec": node_pool_spec(name, karpenter(declaration, **changes))}
    added = dict.fromkeys([*INTEL, "g5.xlarge", "g5.2xlarge", "g5.12xlarge", "m7g.xlarge"], ROOM)
    return Supply(name, pool, "us-west-2", **{"zones": ZONES, "added": added, **facts})


def general(name: str = "general", **changes: Any) -> Supply:
    return supply(name, CPU, **{"instanceTypes": INTEL, "taints": None, **changes})


def pod(name: str = "one", *, waiting: timedelta = timedelta(), labels: Any = None, **spec: Any) -> dict[str, Any]:
    """A pod that the scheduler finds no node for; further arguments are resources or fields of its spec."""
    requests = {key: spec.pop(key) for key in ("cpu", "memory", "gpu", "storage") if key in spec} or {"cpu": "1"}
    names = {"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"}
    resources = {"requests": {names.get(key, key): value for key, value in requests.items()}}
    since = (NOW - waiting).isoformat().replace("+00:00", "Z")
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": since,
        "message": "0/3 nodes are available",
    }
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "resources": resources}], **spec},
        "status": {"phase": "Pending", "conditions": [condition]},
    }


def made(pods, supplies, rooms=(), daemons=(), overlays=(), attempts=None):
    return plan(pods, supplies, [*rooms], [*daemons], [*overlays], attempts or {}, NOW)


def launched(plan):
    return [launch.labels["node.kubernetes.io/instance-type"] for launch in plan.launches]


def test_a_pod_gets_the_smallest_node_that_holds_it():
    found = made([pod(cpu="3")], [general()])
    assert launched(found) == ["m7i.xlarge"]
    (launch,) = found.launches
    assert launch.pods == ("uid-one",)
    assert launch.labels["karpenter.sh/nodepool"] == "general"
    assert launch.labels["kubernetes.io/arch"] == "amd64"
    assert launch.capacity["cpu"] == 4
    assert launch.allocatable["pods"] == 110
    assert not found.refused


def test_what_kubelet_keeps_counts():
    assert launched(made([pod(cpu="4")], [general()])) == ["m7i.2xlarge"]


def test_pods_share_a_node_as_long_as_one_kind_holds_them_all():
    pods = [pod(str(number), cpu="3") for number in range(6)]
    found = made(pods, [general()])
    assert launched(found) == ["m7i.4xlarge", "m7i.xlarge"], "five pods fill the largest kind"
    assert sorted(uid for launch in found.launches for uid in launch.pods) == [f"uid-{number}" for number in range(6)]


def test_nodes_of_a_pool_are_spread_over_the_zones_of_its_node_class():
    pods = [pod(str(number), cpu="15") for number in range(4)]
    zones = [launch.labels["topology.kubernetes.io/zone"] for launch in made(pods, [general()]).launches]
    assert sorted(zones) == ["us-west-2a", "us-west-2a", "us-west-2b", "us-west-2b"]


def test_a_pod_decides_its_zone_and_a_zone_without_subnet_has_no_nodes():
    there = {"topology.kubernetes.io/zone": "us-west-2b"}
    (launch,) = made([pod(nodeSelector=there)], [general()]).launches
    assert launch.labels["topology.kubernetes.io/zone"] == "us-west-2b"
    found = made([pod(nodeSelector=there)], [general(zones=("us-west-2a",))])
    assert "zones of its node class" in found.refused["default/one"]["general"]


@pytest.mark.parametrize(
    ("allowed", "taken"),
    [(["spot"], "spot"), (["on-demand"], "on-demand"), (["on-demand", "spot"], "spot")],
)
def test_spot_comes_before_on_demand_where_both_are_allowed(allowed, taken):
    (launch,) = made([pod()], [general(capacityTypes=allowed)]).launches
    assert launch.labels["karpenter.sh/capacity-type"] == taken


def test_the_heavier_pool_comes_first_and_the_name_decides_between_equals():
    light, heavy = general("a", weight=None), general("b", weight=10)
    assert made([pod()], [light, heavy]).launches[0].pool == "b"
    assert made([pod()], [general("d"), general("c")]).launches[0].pool == "c"


def test_a_pod_that_fits_no_pool_is_refused_with_every_pools_reason():
    found = made([pod(gpu="1"), pod("two", cpu="1", nodeSelector={"fleet": "x"})], [general(), supply("gpu", GPU)])
    assert launched(found) == ["g5.xlarge"]
    assert set(found.refused) == {"default/two"}
    assert found.refused["default/two"]["general"] == "None of its nodes has fleet In [x]."
    assert "does not tolerate" in found.refused["default/two"]["gpu"]


def test_limits_count_what_exists_and_what_the_same_plan_makes():
    used = {"cpu": 76.0, "memory": 0.0, "nvidia.com/gpu": 9.0, "nodes": 9.0}
    found = made([pod("a", gpu="1"), pod("b", gpu="1")], [supply("gpu", GPU, used=used)])
    assert len(found.launches) == 1
    reason = found.refused["default/a"]["gpu"] if "default/a" in found.refused else found.refused["default/b"]["gpu"]
    assert reason == (
        "Its limit of 80 cpu leaves no room for one more g5.xlarge: 80 cpu of it are in use, and that node has 4 cpu."
    )


def test_a_pool_may_limit_the_number_of_its_nodes():
    pool = general()
    pool.pool["spec"]["limits"] = {"nodes": "1"}
    found = made([pod("a", cpu="15"), pod("b", cpu="15")], [pool])
    assert len(found.launches) == 1
    assert "1 nodes" in found.refused["default/a" if "default/a" in found.refused else "default/b"]["general"]


def test_a_pool_that_is_not_ready_says_why():
    found = made([pod()], [general(refusal="It is not ready: no subnet.")])
    assert found.refused == {"default/one": {"general": "It is not ready: no subnet."}}


def test_daemon_sets_take_their_part_of_a_node_that_they_tolerate():
    daemon = pod(cpu="1", tolerations=[{"operator": "Exists"}])
    assert launched(made([pod(cpu="3")], [general()], daemons=[daemon])) == ["m7i.2xlarge"]
    elsewhere = pod(cpu="1", nodeSelector={"nvidia.com/gpu.present": "true"})
    assert launched(made([pod(cpu="3")], [general()], daemons=[elsewhere])) == ["m7i.xlarge"]


def test_pods_that_repel_each_other_get_nodes_of_their_own():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = [pod(str(number), labels={"app": "x"}, affinity=apart) for number in range(3)]
    assert len(made(pods, [general()]).launches) == 3
    assert len(made([*pods, pod("other")], [general()]).launches) == 3, "another app joins one of them"


def test_local_storage_is_judged():
    found = made([pod(storage="60Gi")], [general()])
    assert "does not fit" in found.refused["default/one"]["general"]


def node_under_way(**changes: Any) -> Room:
    labels = {"karpenter.sh/nodepool": "general", "topology.kubernetes.io/zone": "us-west-2a"}
    left = {"cpu": 2.0, "memory": 8e9, "pods": 10.0}
    return Room(**{"name": "claim", "labels": labels, "taints": (), "left": left, "settled": False, **changes})


def test_a_pod_that_has_room_on_a_node_under_way_waits_for_it():
    found = made([pod("a"), pod("b"), pod("c")], [general()], [node_under_way()])
    assert found.promises == {"claim": ("uid-c", "uid-b")}
    assert launched(found) == ["m7i.large"]


def test_a_taint_keeps_a_pod_from_a_node_under_way():
    taint = {"key": "role", "value": "x", "effect": "NoSchedule"}
    found = made([pod()], [general()], [node_under_way(taints=(taint,))])
    assert not found.promises
    assert len(found.launches) == 1


def test_a_node_with_room_is_left_to_the_scheduler_for_a_while():
    ready = node_under_way(settled=True)
    found = made([pod()], [general()], [ready])
    assert (found.launches, found.promises, found.refused) == ((), {}, {})
    assert len(made([pod(waiting=PATIENCE)], [general()], [node_under_way(settled=True)]).launches) == 1


def test_no_further_node_is_made_for_a_pod_that_used_none():
    found = made([pod(waiting=PATIENCE)], [general()], attempts={"uid-one": MOST_ATTEMPTS})
    assert not found.launches
    assert "0/3 nodes are available" in found.refused["default/one"]["general"]


def test_only_pods_that_the_scheduler_gave_up_on_bring_nodes():
    waiting = pod("waiting")
    bound = pod("bound", nodeName="x")
    fresh = pod("fresh")
    fresh["status"]["conditions"] = []
    gated = pod("gated")
    gated["status"]["conditions"][0]["reason"] = "SchedulingGated"
    going = pod("going")
    going["metadata"]["deletionTimestamp"] = "2026-07-01T12:00:00Z"
    daemon = pod("daemon")
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "x"}]
    assert awaiting([waiting, bound, fresh, gated, going, daemon]) == [waiting]


def test_the_order_of_pods_does_not_change_the_plan():
    pods = [pod(str(number), cpu=str(1 + number % 3)) for number in range(9)]
    assert made(pods, [general()]) == made([*reversed(pods)], [general()])


def test_what_pods_leave_of_a_node():
    assert room_left({"cpu": 4.0, "pods": 3.0}, [pod(cpu="1"), pod(cpu="500m")]) == {"cpu": 2.5, "pods": 1.0}


def test_quantities_read_back_as_what_they_were():
    amounts = {"cpu": 7.91, "memory": 28.5 * 1024**3, "nvidia.com/gpu": 1, "pods": 110.0}
    written = quantities(amounts)
    assert written == {"cpu": "7910m", "memory": "29884416Ki", "nvidia.com/gpu": "1", "pods": "110"}
    assert {key: quantity(value) for key, value in written.items()} == pytest.approx(amounts)


def test_images_lie_on_the_largest_volume_or_on_the_instances_own_disks():
    assert disk(["4Gi", "100Gi"]) == {"ephemeral-storage": 100 * 1024**3}
    assert disk([4, "50", None]) == {"ephemeral-storage": 50 * 1024**3}
    assert disk([]) == {"ephemeral-storage": 20 * 1024**3}
    assert disk(["100Gi"], local_nvme_gb=450) == {"ephemeral-storage": 450e9}


def test_a_node_is_named_as_ec2_names_its_address():
    assert node_name("10.0.3.7", "us-west-2") == "ip-10-0-3-7.us-west-2.compute.internal"
    assert node_name("10.0.3.7", "us-east-1") == "ip-10-0-3-7.ec2.internal"


# The end of nodes


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1h30m", 5400), ("0s", 0), ("Never", None), (None, None)])
def test_durations(text, seconds):
    assert duration(text) == (None if seconds is None else timedelta(seconds=seconds))


def claim(name: str, *, empty_for: int | None = 60, going: bool = False) -> dict[str, Any]:
    since = (NOW - timedelta(seconds=empty_for or 0)).isoformat()
    status = "False" if empty_for is None else "True"
    metadata = {"name": name, "labels": {"karpenter.sh/nodepool": "general"}}
    if going:
        metadata["deletionTimestamp"] = NOW.isoformat()
    return {
        "metadata": metadata,
        "status": {"conditions": [{"type": EMPTY, "status": status, "lastTransitionTime": since}]},
    }


def ended(claims, kept=None, **disruption):
    disruption = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}], **disruption}
    pool = {"metadata": {"name": "general"}, "spec": {"disruption": disruption}}
    return [one["metadata"]["name"] for one in idle_claims([pool], claims, kept or {}, NOW)]


@pytest.mark.parametrize("policy", ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"])
def test_a_node_goes_once_it_has_been_empty_for_as_long_as_its_pool_says(policy):
    claims = [claim("long"), claim("short", empty_for=29), claim("busy", empty_for=None)]
    assert ended(claims, consolidationPolicy=policy) == ["long"]
    assert ended(claims, consolidateAfter="Never") == []


def test_a_node_that_must_not_be_disrupted_stays():
    assert ended([claim("a"), claim("b")], kept={"a": True}) == ["b"]


@pytest.mark.parametrize(
    ("budgets", "going"),
    [
        ([{"nodes": "1"}], 1),
        ([{"nodes": "0"}], 0),
        ([{"nodes": "10%"}], 1),
        ([{"nodes": "50%"}, {"nodes": "3"}], 2),
        ([{"nodes": "0", "reasons": ["Drifted"]}], 4),
        ([{"nodes": "0", "schedule": "0 0 * * *", "duration": "1h"}], 4),
    ],
)
def test_a_budget_says_how_many_go_at_a_time(budgets, going):
    claims = [claim(str(number)) for number in range(4)]
    assert len(ended(claims, budgets=budgets)) == going


def test_nodes_that_are_going_already_count_against_the_budget():
    assert ended([claim("a", going=True), claim("b")], budgets=[{"nodes": "1"}]) == []

"""Smoke tests on a cluster: runs Jobs in a namespace of their own, tells what became of them, and cleans up."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import httpx2

from automation.cluster_client import Cluster
from automation.errors import EksaiError
from automation.smoke_jobs import JOB_LABEL, Kind, Object, SmokeJob
from components.compute import instance_types
from localcloud.cluster import kinds
from policies.rules.judging.pod_placement import fits
from policies.rules.judging.properties import at, elements

NAMESPACE = "eksai-smoke"

UNTIL = "eksai.dev/smoke-until"
"""Annotation of the namespace: the time after which its run is over, or was killed."""

_POLL_S, _CLEANING_S = 1.0, 180.0
_LOG_LINES = 10
_KARPENTER = "karpenter"
_LONGEST = 400
"""Longest message of another program that is passed on, in characters."""

Report = Callable[[str], None]


class Result(StrEnum):
    """What became of a smoke test."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SCHEDULED = "not scheduled"
    NOT_FINISHED = "not finished"


@dataclass(frozen=True)
class Outcome:
    """One smoke test, at its end or at the end of the time.

    `seconds` is the wall time, `nodes` are those that its pods were on, `reasons` tell why it has not passed.
    """

    kind: Kind
    name: str
    result: Result
    nodes: tuple[str, ...]
    seconds: float
    reasons: tuple[str, ...] = ()


def run(cluster: Cluster, jobs: Sequence[SmokeJob], *, timeout_s: float, report: Report) -> list[Outcome]:
    """Runs smoke tests side by side.

    Whatever happens, their namespace and volumes are gone at the end.

    Args:
        cluster: where they run.
        jobs: the tests.
        timeout_s: seconds that they have.
        report: hears what is going on, a line at a time.

    Raises:
        EksaiError: another run is at work.
        httpx2.HTTPError: the API server refuses something, or is not reached.
    """
    _await_turn(cluster, report)
    cluster.create(kinds.NAMESPACE, _namespace(timeout_s))
    try:
        for job in jobs:
            for claim in job.claims:
                cluster.create(kinds.VOLUME_CLAIM, claim, namespace=NAMESPACE)
            cluster.create(kinds.JOB, _limited(job.job, timeout_s), namespace=NAMESPACE)
        return _Run(cluster, jobs, report).outcomes(timeout_s)
    finally:
        report("cleaning up")
        _clean(cluster, report)


def _namespace(timeout_s: float) -> Object:
    until = datetime.now(UTC) + timedelta(seconds=timeout_s + _CLEANING_S)
    return {
        "metadata": {
            "name": NAMESPACE,
            "labels": {"pod-security.kubernetes.io/enforce": "baseline"},
            "annotations": {UNTIL: until.isoformat(timespec="seconds")},
        }
    }


def _limited(job: Object, timeout_s: float) -> dict[str, Any]:
    """A Job that ends by itself where nobody is left to end it."""
    return {**job, "spec": {**job["spec"], "activeDeadlineSeconds": round(timeout_s + _CLEANING_S)}}


def _await_turn(cluster: Cluster, report: Report) -> None:
    """Sees to it that the namespace is not there; what a killed run has left is deleted."""
    found = cluster.find(kinds.NAMESPACE, NAMESPACE)
    if found is None:
        return
    until: str | None = at(found, "metadata", "annotations", UNTIL)
    going = "deletionTimestamp" in found["metadata"]
    if not going and (until is None or datetime.fromisoformat(until) > datetime.now(UTC)):
        raise EksaiError(
            f"Another smoke test is at work on this cluster, or was killed: there is a namespace {NAMESPACE}, "
            f"{f'taken until {until}' if until else 'which none of ours has made'}.\n"
            f"Wait for its end, or delete it: kubectl delete namespace {NAMESPACE}"
        )
    report("removing what a former run has left")
    _clean(cluster, report)
    if cluster.find(kinds.NAMESPACE, NAMESPACE) is not None:
        raise EksaiError(f"Namespace {NAMESPACE} of a former run does not go away: see what its objects wait for.")


def _clean(cluster: Cluster, report: Report) -> None:
    """Deletes the namespace and waits until its volumes are gone too: nobody would look after them."""
    cluster.delete(kinds.NAMESPACE, NAMESPACE)
    deadline = time.monotonic() + _CLEANING_S
    while left := _left(cluster):
        if time.monotonic() > deadline:
            report(f"Still there after {_CLEANING_S:.0f} s: {', '.join(left)}. See that they go.")
            return
        time.sleep(_POLL_S)


def _left(cluster: Cluster) -> list[str]:
    found = [f"namespace {NAMESPACE}"] if cluster.find(kinds.NAMESPACE, NAMESPACE) is not None else []
    volumes = [
        volume["metadata"]["name"]
        for volume in cluster.all(kinds.VOLUME)
        if at(volume, "spec", "claimRef", "namespace") == NAMESPACE
    ]
    return [*found, *(f"volume {name}" for name in volumes)]


class _Run:
    """The time from the creation of the Jobs to their end."""

    def __init__(self, cluster: Cluster, jobs: Sequence[SmokeJob], report: Report) -> None:
        self._cluster = cluster
        self._jobs = jobs
        self._report = report
        self._started = time.monotonic()
        self._done: dict[str, Outcome] = {}
        self._told = ""

    def outcomes(self, timeout_s: float) -> list[Outcome]:
        """What became of the Jobs, in their order."""
        pods: Mapping[str, list[Object]] = {}
        while True:
            try:
                pods = self._look()
            except httpx2.TransportError as error:
                self._tell(f"the API server does not answer, it is asked again: {error}")
            waiting = self._open()
            if not waiting:
                break
            if self._seconds() > timeout_s:
                self._give_up(waiting, pods)
                break
            time.sleep(_POLL_S)
        return [self._done[job.name] for job in self._jobs]

    def _look(self) -> Mapping[str, list[Object]]:
        """Takes note of the Jobs that have ended, and returns the pods of each."""
        seen = {job["metadata"]["name"]: job for job in self._cluster.all(kinds.JOB, namespace=NAMESPACE)}
        pods = _by_test(self._cluster.all(kinds.POD, namespace=NAMESPACE))
        for job in self._open():
            self._take_end(job, seen.get(job.name), pods.get(job.name, []))
        waiting = self._open()
        if waiting:
            self._tell(", ".join(f"{job.name} {_stage(pods.get(job.name, []))}" for job in waiting))
        return pods

    def _tell(self, line: str) -> None:
        if line != self._told:
            self._report(line)
            self._told = line

    def _open(self) -> list[SmokeJob]:
        return [job for job in self._jobs if job.name not in self._done]

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _take_end(self, job: SmokeJob, seen: Object | None, pods: Sequence[Object]) -> None:
        if seen is None:
            self._end(job, Result.FAILED, pods, ["Somebody has deleted the Job."])
            return
        for condition in elements(at(seen, "status", "conditions")):
            if condition["status"] != "True":
                continue
            if condition["type"] == "Complete":
                self._end(job, Result.PASSED, pods)
            elif condition["type"] == "Failed":
                said = [line for pod in pods for line in self._last_words(pod)]
                self._end(job, Result.FAILED, pods, said or [condition.get("message", "The Job has failed.")])

    def _give_up(self, waiting: Iterable[SmokeJob], pods: Mapping[str, list[Object]]) -> None:
        events = self._cluster.all(kinds.EVENT, namespace=NAMESPACE)
        pools = {pool["metadata"]["name"]: pool for pool in self._cluster.all(kinds.NODE_POOL)}
        overlays = self._cluster.all(kinds.NODE_OVERLAY)
        for job in waiting:
            own = pods.get(job.name, [])
            concerned = [job.job, *own, *job.claims]
            unplaced = [pod for pod in own if not pod["spec"].get("nodeName")]
            if unplaced or not own:
                reasons = why_unplaced(concerned, unplaced, events, pools, overlays)
                self._end(job, Result.NOT_SCHEDULED, own, reasons)
            else:
                reasons = [*last_warnings(concerned, events), *(reason for pod in own for reason in _held_up(pod))]
                self._end(job, Result.NOT_FINISHED, own, reasons)

    def _end(self, job: SmokeJob, result: Result, pods: Iterable[Object], reasons: Sequence[str] = ()) -> None:
        nodes = sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")})
        self._done[job.name] = Outcome(job.kind, job.name, result, tuple(nodes), self._seconds(), tuple(reasons))

    def _last_words(self, pod: Object) -> list[str]:
        """How the containers of a pod have failed, with the end of what they printed."""
        words: list[str] = []
        for container in _containers(pod):
            ended = container["state"].get("terminated")
            if not ended or ended["exitCode"] == 0:
                continue
            words.append(f"{container['name']} ended with {ended['exitCode']} ({ended.get('reason', 'no reason')}).")
            words += self._cluster.printed(
                pod["metadata"]["name"], container["name"], namespace=NAMESPACE, lines=_LOG_LINES
            )
        return words


def last_warnings(objects: Iterable[Object], events: Iterable[Object]) -> list[str]:
    """The last warning of each source about each of some objects, as `source: message`.

    Args:
        objects: what is concerned.
        events: events of the namespace.
    """
    names = {(item["kind"], item["metadata"]["name"]) for item in objects}
    last: dict[tuple[str, str, str], Object] = {}
    for event in sorted(events, key=_when):
        about = event["involvedObject"]
        if event.get("type") == "Warning" and (about["kind"], about["name"]) in names:
            last[about["kind"], about["name"], _source(event)] = event
    return list(dict.fromkeys(f"{_source(event)}: {_shortened(event['message'])}" for event in last.values()))


def why_unplaced(
    concerned: Iterable[Object],
    unplaced: Sequence[Object],
    events: Iterable[Object],
    pools: Mapping[str, Object],
    overlays: Iterable[Object],
) -> list[str]:
    """Why a test's pods have no node: what was warned of, and what its pools say.

    Args:
        concerned: the Job, its pods, its claims.
        unplaced: those of its pods that have no node, all alike; none where the Job has not got any pod.
        events: events of the namespace.
        pools: the cluster's NodePools by name.
        overlays: its NodeOverlays.
    """
    told = last_warnings(concerned, events)
    if not unplaced:
        return told
    types = {name: asdict(row) for name, row in instance_types.table().items()}
    placement = fits(unplaced[0], pools, types, overlays)
    if placement.fitting:
        return [*told, f"By their declaration nodes of {', '.join(placement.fitting)} would do; none came in time."]
    by_reason: dict[str, list[str]] = {}
    for pool, reason in placement.refused.items():
        by_reason.setdefault(reason, []).append(pool)
    # Karpenter says the same, in one long line.
    others = [line for line in told if not line.startswith(f"{_KARPENTER}: ")]
    return [*others, *(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())]


def _when(event: Object) -> str:
    # Microseconds are left out: of the three, only eventTime has them.
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or "")[:19]


def _source(event: Object) -> str:
    return at(event, "source", "component") or event.get("reportingComponent") or event["reason"]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _by_test(pods: Iterable[Object]) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for pod in pods:
        found.setdefault(pod["metadata"]["labels"].get(JOB_LABEL, ""), []).append({**pod, "kind": "Pod"})
    return found


def _stage(pods: Sequence[Object]) -> str:
    if not pods or any(not pod["spec"].get("nodeName") for pod in pods):
        return "waits for a node"
    phases = {pod.get("status", {}).get("phase") for pod in pods}
    return "starts" if "Pending" in phases else "runs"


def _containers(pod: Object) -> list[Object]:
    kinds = ("initContainerStatuses", "containerStatuses")
    return [container for kind in kinds for container in elements(at(pod, "status", kind))]


def _held_up(pod: Object) -> list[str]:
    """How far a pod on its node has come, and what keeps its containers, such as an image that cannot be pulled."""
    waiting = [container["state"].get("waiting") for container in _containers(pod)]
    held = [_shortened(f"{one['reason']}: {one['message']}") for one in waiting if one and one.get("message")]
    return held or [f"{pod['metadata']['name']} is {at(pod, 'status', 'phase')} on {pod['spec']['nodeName']}."]

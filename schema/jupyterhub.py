"""Settings of JupyterHub, and the rules between them and the rest of a stack."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field
from pydantic.alias_generators import to_camel

from components.compute import instance_types
from components.platform import notebook_profiles
from components.platform.jupyterhub import pod_spec, resources_of
from components.platform.notebook_profiles import NotebookProfile, NotebookProfileSettings
from components.platform.pool_values import value_at
from schema.domain import Domain
from schema.fields import PoolName, Section, matches, quantity
from schema.node_pools import NodePool
from schema.platform import PlatformChart, is_installed
from schema.pod_room import without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem
from schema.sign_in import SignIn
from schema.storage import Storage

CHART = "jupyterhub"
"""The chart that reads this section."""

_AUTHENTICATOR = "hub.config.JupyterHub.authenticator_class"
_WAYS_IN = ("ingress", "httpRoute", "proxy.service")
"""Values by which the chart lets people in from outside."""

ProfileName = Annotated[
    str,
    matches(
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        "a profile's name has lower-case letters, digits and hyphens, 63 at most",
        f"take one of {', '.join(notebook_profiles.PROFILES)}, or choose such a name for one of your own",
    ),
]
Cores = Annotated[float, Field(gt=0, le=448)]
MemorySize = Annotated[
    str, matches(r"\d+(\.\d+)?[MG]i", 'a size such as "4Gi" or "512Mi"', "write it in Gi or Mi, which JupyterHub knows")
]
IdleTime = Annotated[
    str, matches(r"(\d+[hms])+", 'a duration such as "1h" or "90m"', "use h, m and s; notebooks that are idle end")
]
PinnedImage = Annotated[
    str,
    matches(
        r"[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
        r"(:(?!\S*latest$)\w[\w.-]{0,127}|(:\w[\w.-]{0,127})?@sha256:[0-9a-f]{64})",
        "an image with its registry and an exact tag or digest",
        "for example quay.io/jupyter/scipy-notebook:2026-09-01; whatever is latest differs from node to node",
    ),
]


class Profile(Section):
    """A notebook to choose: one of the platform's by its name, or one of your own."""

    pools: Annotated[tuple[PoolName, ...], Field(min_length=1)]
    """Names of the pools that it runs on; which of them gets a notebook is up to their weights."""
    display_name: Annotated[str, Field(min_length=1)] | None = None
    """What people choose from; left out: the profile's own name with its sizes."""
    cpu_limit: Cores | None = None
    """vCPUs that it may use; left out: the profile's own, as with all that follows."""
    cpu_guarantee: Cores | None = None
    """vCPUs that are set aside for it."""
    memory_limit: MemorySize | None = None
    """Memory that it may use, in Gi or Mi."""
    memory_guarantee: MemorySize | None = None
    """Memory that is set aside for it, in Gi or Mi."""
    image: PinnedImage | None = None
    """Its image with an exact tag or digest, made for JupyterHub, with user 1000."""
    architectures: tuple[Literal["amd64", "arm64"], ...] = ()
    """CPU architectures of the image; left out: amd64 for an image of your own."""
    accelerator: str | None = None
    """The accelerator's name in Karpenter's labels, such as l4; left out: none for a profile of your own."""
    accelerators: Annotated[int, Field(ge=1)] | None = None
    """How many accelerators it gets; left out: one where it has any."""


class Jupyterhub(Section):
    """Notebooks in the browser."""

    auth: Literal["cognito", "dummy"] = "cognito"
    """Who may sign in: members of the user pool's groups, or (dummy) whoever can forward a port, by any name."""
    profiles: dict[ProfileName, Profile] = {}
    """The notebooks to choose from, by name: cpu-small, cpu-large, gpu-t4, gpu-a10g, gpu-a100, or your own."""
    home_gib: Annotated[int, Field(ge=1)] = 50
    """What the claim of each home asks for, GiB; EFS holds nobody to it."""
    cull_after: IdleTime = "1h"
    """How long a notebook is idle before it ends; homes stay."""


def settings_have_their_chart(jupyterhub: Jupyterhub, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Nobody sets up a hub that there is none of, or has one without notebooks."""
    installed = is_installed(CHART, platform)
    if jupyterhub.model_fields_set and not installed:
        yield Problem(
            f"{NAMESPACE}:jupyterhub",
            "",
            "these settings are for a hub that is not installed",
            f"add the line {CHART}: {{}} to eksai:platform, or remove this section",
        )
    if installed and not jupyterhub.profiles:
        yield Problem(
            f"{NAMESPACE}:jupyterhub.profiles",
            "",
            "a hub has at least one notebook to choose",
            "name a profile and its pools, for example cpu-small: {pools: [general]}",
        )


def signing_in_is_possible_and_safe(
    jupyterhub: Jupyterhub, platform: dict[str, PlatformChart], sign_in: SignIn, domain: Domain
) -> Iterator[Problem]:
    """Who is let in has been asked who they are, where a hub is reached from outside always."""
    if not is_installed(CHART, platform):
        return
    key = f"{NAMESPACE}:jupyterhub.auth"
    if jupyterhub.auth == "cognito" and not sign_in.enabled:
        yield Problem(
            key,
            jupyterhub.auth,
            "people sign in with the user pool, and there is none",
            "set eksai:signIn.enabled to true, or auth: dummy for a hub that is reached by port-forward only",
        )
    if jupyterhub.auth == "dummy" and domain.name is not None:
        yield Problem(
            key,
            jupyterhub.auth,
            f"below {domain.name} the hub is reached from outside, and dummy lets in everybody by any name",
            "set auth: cognito, or leave eksai:domain.name out",
        )


def values_leave_the_doors_alone(jupyterhub: Jupyterhub, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Who signs in is said in one place, and where dummy lets in everybody no value opens a way from outside."""
    if not is_installed(CHART, platform):
        return
    for path in (_AUTHENTICATOR, *(_WAYS_IN if jupyterhub.auth == "dummy" else ())):
        if value_at(platform[CHART].values, path) is not None:
            yield Problem(
                f"{NAMESPACE}:platform.{CHART}.values.{path}",
                "",
                f"who reaches the hub, and as whom, follows from eksai:jupyterhub.auth, here {jupyterhub.auth}",
                "remove it; with auth: cognito and eksai:domain the hub is published",
            )


def homes_have_a_file_system(
    jupyterhub: Jupyterhub, platform: dict[str, PlatformChart], storage: Storage
) -> Iterator[Problem]:
    """Homes and shared volumes lie on EFS."""
    if is_installed(CHART, platform) and not storage.efs.enabled:
        yield Problem(
            f"{NAMESPACE}:storage.efs.enabled",
            "",
            f"homes of notebooks lie on EFS, {jupyterhub.home_gib} GiB each",
            "set it to true, and the add-on aws-efs-csi-driver with it",
        )


def profiles_are_complete(jupyterhub: Jupyterhub) -> Iterator[Problem]:
    """A profile of a stack's own says all that a notebook needs, and no guarantee is above its limit."""
    for name, said in jupyterhub.profiles.items():
        key, settings = _key(name), _plain(said)
        lacking = [to_camel(field) for field in notebook_profiles.missing(name, settings)]
        if lacking:
            known = ", ".join(notebook_profiles.PROFILES)
            yield Problem(
                key,
                "",
                f"a profile other than {known} says all of itself, and {name} lacks {', '.join(lacking)}",
                "add what is missing, or take one of these names",
            )
            continue
        own = notebook_profiles.profile(name, settings)
        if own.cpu_guarantee > own.cpu_limit:
            given = f"{own.cpu_guarantee:g} of {own.cpu_limit:g}"
            yield Problem(f"{key}.cpuGuarantee", given, "no more is set aside than may be used", "lower it")
        if quantity(own.memory_guarantee) > quantity(own.memory_limit):
            given = f"{own.memory_guarantee} of {own.memory_limit}"
            yield Problem(f"{key}.memoryGuarantee", given, "no more is set aside than may be used", "lower it")
        if own.accelerators and own.accelerator is None:
            yield Problem(
                f"{key}.accelerators",
                str(own.accelerators),
                f"{name} says how many accelerators it gets, and not of which kind",
                "add accelerator, such as l4",
            )


def profiles_fit_their_pools(jupyterhub: Jupyterhub, node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """A notebook that somebody chooses gets a node in each of its pools."""
    for name, said in jupyterhub.profiles.items():
        if notebook_profiles.missing(name, _plain(said)):
            continue
        usable = True
        for index, pool in enumerate(said.pools):
            mistake = _mistake(name, notebook_profiles.profile(name, _plain(said)), pool, node_pools)
            if mistake:
                usable = False
                yield Problem(f"{_key(name)}.pools[{index}]", pool, *mistake)
        resources = resources_of(described({pool: node_pools[pool] for pool in said.pools})) if usable else []
        if len(resources) > 1:
            yield Problem(
                f"{_key(name)}.pools",
                ", ".join(said.pools),
                f"{name} asks for one kind of device, and its pools announce {' and '.join(resources)}",
                "keep the pools whose GPUs are shared alike, and make a profile of the others",
            )


RULES = (
    settings_have_their_chart,
    signing_in_is_possible_and_safe,
    values_leave_the_doors_alone,
    homes_have_a_file_system,
    profiles_are_complete,
    profiles_fit_their_pools,
)
"""Rules between JupyterHub and other sections; each names the sections that it needs as its parameters."""


def _mistake(
    name: str, own: NotebookProfile, pool_name: str, node_pools: Mapping[str, NodePool]
) -> tuple[str, str] | None:
    """Why a notebook gets no node in a pool, and the way out; None if it gets one."""
    pool = node_pools.get(pool_name)
    if pool is None:
        there = ", ".join(node_pools) or "none"
        return f"{name} runs on pools of eksai:nodePools: {there}", "name one of these, or declare the pool"
    if pool.retire:
        return f"{name} runs on pools that stay, and {pool_name} retires", "name another pool, or keep this one"
    types = [instance_types.table()[one] for one in pool.instance_types]
    kinds = {one.accelerator for one in types}
    if kinds != {own.accelerator or ""}:
        found = ", ".join(sorted(kind or "no accelerator" for kind in kinds))
        wanted = own.accelerator or "no accelerator, and would keep one from those who need it"
        rule = f"{name} wants {wanted}; the nodes of {pool_name} have {found}"
        return rule, f"name a pool whose instances have {own.accelerator or 'none'} only"
    if pool.sharing is not None and pool.sharing.strategy != "mig" and own.accelerators > 1:
        rule = f"{name} asks for {own.accelerators} devices, and a pod gets one share of a GPU of {pool_name}"
        return rule, f"set accelerators of {name} to 1, or name a pool whose GPUs are not shared"
    if not any(own.cpu_limit <= one.vcpu and quantity(own.memory_limit) <= one.memory_mib * 1024**2 for one in types):
        largest = max(types, key=lambda one: (one.memory_mib, one.vcpu))
        there = f"{largest.vcpu} vCPU and {largest.memory_mib / 1024:g}Gi ({largest.name})"
        rule = f"{name} may use {own.cpu_limit:g} vCPU and {own.memory_limit}; the nodes of {pool_name} have {there}"
        fix = "cpuLimit and memoryLimit, and what is set aside with them"
        return rule, f"add a larger instance type to {pool_name}, or lower {fix}, for {name}"
    reason = without_room({"spec": pod_spec(own, described({pool_name: pool}))}, [pool_name], node_pools)
    if reason:
        rule = f"{name} gets no node of {reason}"
        return (
            rule,
            f"change {pool_name}, or what is set aside for {name} (cpuGuarantee, memoryGuarantee, accelerators)",
        )
    return None


def _key(profile: str) -> str:
    return f"{NAMESPACE}:jupyterhub.profiles.{profile}"


def _plain(said: Profile) -> NotebookProfileSettings:
    return cast(NotebookProfileSettings, cast(Any, said.model_dump()))

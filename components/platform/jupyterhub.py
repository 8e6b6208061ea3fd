"""JupyterHub: who may sign in, what notebooks they choose from, and what a notebook reaches.

Names of settings were read 2026-12-01: chart 4.4.0 (values.schema.yaml, files/hub/jupyterhub_config.py), oauthenticator
17.4.0, kubespawner 7.0.0. The hub's cookie secret, its token for the proxy and its key are made by the chart, which
keeps them in the Secret `hub` and looks them up there at every upgrade.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pulumi
from typing_extensions import TypedDict

from components.accelerators import ACCELERATORS, Vendor
from components.delivered_secret import DeliveredSecret
from components.domain import Domain
from components.gpu_sharing import resource_of
from components.load_balancer import INGRESS_CLASS, platform_balancer
from components.network_isolation import NOT_INTERNET, POD_IDENTITY, Addresses, Pods, rule
from components.platform.namespaces import CLASSIFIER, TRACES, VECTORS
from components.platform.notebook_profiles import (
    NotebookProfile,
    NotebookProfileSettings,
    display_name,
    mirrored,
    profile,
)
from components.pools import Pool, placement
from components.ray_ports import CLIENT, DASHBOARD, HEAD
from components.shared_volume import SharedVolume
from components.sign_in import ADMINS, CLIENT_ID, CLIENT_SECRET, GROUPS_CLAIM, USERS, SignIn
from components.storage import Storage
from components.web_apps import WEB_APPS

APP = WEB_APPS["jupyterhub"]
SIGN_IN_SECRET = "jupyterhub-sign-in"
"""The Secret with the client that the user pool knows the hub by."""

_HOME = "/home/jovyan"
"""The home of the notebook images' user."""
_VOLUMES: Mapping[str, tuple[str, bool]] = {"shared-datasets": ("datasets", True), "shared-models": ("models", False)}
"""Shared volumes: where in a home each is, and whether notebooks only read it."""

_PROXY_PORT = 8000
"""The proxy's port on its pods. By number: where the source is a range of addresses, EKS does not look names up."""

_ADMINISTRATION = (
    *("admin-ui", "read:hub", "read:metrics"),
    *("list:users", "read:users", "delete:users", "list:groups", "read:groups"),
    # Reads, starts and stops those of others.
    "servers",
)
"""Scopes of those who administer the hub. JupyterHub's own role `admin` also opens every server and makes tokens for
everybody; nobody has it."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_UNIT_S = {"h": 3600, "m": 60, "s": 1}


class JupyterhubSettings(TypedDict):
    """The plain part of `JupyterhubArgs`."""

    auth: str
    """`cognito`: members of the user pool's groups; `dummy`: whoever can forward a port, by any name."""
    profiles: Mapping[str, NotebookProfileSettings]
    """The notebooks to choose from, by name; the first is chosen beforehand."""
    home_gib: int
    """What the claim of a home asks for, GiB."""
    cull_after: str
    """How long a notebook is idle before it ends, such as `1h`."""


class JupyterhubArgs(JupyterhubSettings):
    """What JupyterHub needs."""

    pools: Sequence[Pool]
    """All pools of the stack."""
    storage: Storage
    """Where homes and shared volumes are."""
    sign_in: SignIn | None
    """Where people sign in; needed for `cognito`."""
    domain: Domain | None
    """The domain that it is published below, None for not at all."""
    node_ranges: Sequence[str]
    """Where load balancers and endpoints are: the ranges of the VPC, but for one that only pods have."""
    pod_ranges: Sequence[str]
    """Address ranges of the VPC that only pods have."""
    image_registry: str | None
    """The registry that mirrors every image; None: each comes from where it is published."""


class Jupyterhub(pulumi.ComponentResource):
    """What JupyterHub's release needs beforehand, and what it is told.

    Attributes:
        values: Helm values laid over those of the chart file.
    """

    def __init__(self, name: str, args: JupyterhubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Jupyterhub", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        for volume, (_, read_only) in _VOLUMES.items():
            SharedVolume(
                f"{name}-{volume}",
                {
                    "source": args["storage"].volumes[volume],
                    "namespace": APP.namespace,
                    "volume": f"{APP.namespace}-{volume}",
                    "claim": volume,
                    "read_only": read_only,
                },
                child,
            )
        if args["auth"] == "cognito":
            sign_in, domain = args["sign_in"], args["domain"]
            assert sign_in is not None, "who signs in by the user pool has one; the settings see to that"
            DeliveredSecret(
                f"{name}-sign-in",
                {
                    "source": sign_in.clients[APP.name].secret_name,
                    "namespace": APP.namespace,
                    "secret": SIGN_IN_SECRET,
                    "keys": {CLIENT_ID: CLIENT_ID, CLIENT_SECRET: CLIENT_SECRET},
                },
                child,
            )
            hub = _cognito(sign_in, domain.name if domain else None)
        else:
            hub = _anybody()
        self.values: dict[str, Any] = {
            "hub": hub,
            "singleuser": {
                "profileList": _profile_list(args["profiles"], args["pools"], args["image_registry"]),
                "networkPolicy": {"egress": _ways_out(args["node_ranges"], args["pod_ranges"])},
                "storage": {"capacity": f"{args['home_gib']}Gi", **_volumes()},
            },
            "cull": {"timeout": _seconds(args["cull_after"])},
            **(_published(args["domain"], args["node_ranges"]) if args["domain"] else {}),
        }
        self.register_outputs({})


def _cognito(sign_in: SignIn, domain: str | None) -> dict[str, Any]:
    """The hub's values for sign-in by the user pool."""
    client_id = sign_in.clients[APP.name].client_id
    pool = sign_in.authorize_url.apply(lambda url: url.removesuffix("/oauth2/authorize"))
    here = urlencode({"logout_uri": APP.url(domain)})
    return {
        "config": {
            "JupyterHub": {"authenticator_class": "generic-oauth"},
            "GenericOAuthenticator": {
                "login_service": "Cognito",
                "client_id": client_id,
                "oauth_callback_url": APP.callback_url(domain),
                "authorize_url": sign_in.authorize_url,
                "token_url": sign_in.token_url,
                "logout_redirect_url": pulumi.Output.concat(pool, "/logout?client_id=", client_id, "&", here),
                "basic_auth": True,
                "enable_pkce": True,
                "scope": ["openid", "email"],
                # The user-info endpoint tells no groups.
                "userdata_from_id_token": True,
                # Homes are named after it. Nobody has two, and a new one counts once its owner has confirmed it.
                "username_claim": "email",
                "manage_groups": True,
                "auth_state_groups_key": f"oauth_user.{GROUPS_CLAIM}",
                "allowed_groups": [USERS, ADMINS],
            },
        },
        "loadRoles": {"hub-admins": {"scopes": list(_ADMINISTRATION), "groups": [ADMINS]}},
        # oauthenticator's own name for it.
        "extraEnv": {
            "OAUTH_CLIENT_SECRET": {"valueFrom": {"secretKeyRef": {"name": SIGN_IN_SECRET, "key": CLIENT_SECRET}}}
        },
    }


def _anybody() -> dict[str, Any]:
    """The hub's values for a hub that only those reach who may forward ports."""
    return {"config": {"JupyterHub": {"authenticator_class": "dummy"}, "DummyAuthenticator": {"allow_all": True}}}


def pod_spec(own: NotebookProfile, pools: Sequence[Pool]) -> dict[str, Any]:
    """The part of a notebook's pod that decides where it runs.

    Args:
        own: the notebook's profile.
        pools: the pools that it is meant for.
    """
    placed = placement(pools)
    runs_on = {"key": "kubernetes.io/arch", "operator": "In", "values": list(own.architectures)}
    for term in placed["affinity"]["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]:
        term["matchExpressions"].append(runs_on)
    resources = {
        "requests": {"cpu": f"{own.cpu_guarantee:g}", "memory": own.memory_guarantee},
        # Of a device Kubernetes asks for as many as the limit says.
        "limits": {
            "cpu": f"{own.cpu_limit:g}",
            "memory": own.memory_limit,
            **({resource: str(own.accelerators) for resource in resources_of(pools)} if own.accelerators else {}),
        },
    }
    return {**placed, "containers": [{"name": "notebook", "image": own.image, "resources": resources}]}


def resources_of(pools: Iterable[Pool]) -> list[str]:
    """What pods ask for to get accelerators of some pools; one name where the pools are alike.

    Args:
        pools: the pools.
    """
    names = [
        resource_of(pool.sharing) if pool.vendor is Vendor.NVIDIA else ACCELERATORS[pool.vendor].resource
        for pool in pools
        if pool.vendor is not None
    ]
    return list(dict.fromkeys(names))


def _profile_list(
    profiles: Mapping[str, NotebookProfileSettings], pools: Sequence[Pool], image_registry: str | None
) -> list[dict[str, Any]]:
    by_name = {pool.name: pool for pool in pools}
    return [
        {
            "slug": name,
            "display_name": display_name(name, said),
            "kubespawner_override": {
                "image": mirrored(name, said, image_registry),
                **_override(profile(name, said), [by_name[pool] for pool in said["pools"]]),
            },
        }
        for name, said in profiles.items()
    ]


def _override(own: NotebookProfile, pools: Sequence[Pool]) -> dict[str, Any]:
    """A notebook's pod in KubeSpawner's words."""
    spec = pod_spec(own, pools)
    limits = spec["containers"][0]["resources"]["limits"]
    return {
        "cpu_limit": own.cpu_limit,
        "cpu_guarantee": own.cpu_guarantee,
        "mem_limit": _bytes(own.memory_limit),
        "mem_guarantee": _bytes(own.memory_guarantee),
        "extra_resource_limits": {key: limits[key] for key in limits if key not in ("cpu", "memory")},
        "node_affinity_required": spec["affinity"]["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"],
        "tolerations": spec["tolerations"],
    }


def _bytes(memory: str) -> str:
    """A size as JupyterHub writes it: its G is Kubernetes' Gi."""
    return memory.removesuffix("i")


def _seconds(duration: str) -> int:
    """A duration such as `1h30m` in seconds."""
    return sum(int(number) * _UNIT_S[unit] for number, unit in re.findall(r"(\d+)([hms])", duration))


def _volumes() -> dict[str, Any]:
    return {
        "extraVolumes": [{"name": volume, "persistentVolumeClaim": {"claimName": volume}} for volume in _VOLUMES],
        "extraVolumeMounts": [
            {"name": volume, "mountPath": f"{_HOME}/{folder}", "readOnly": read_only}
            for volume, (folder, read_only) in _VOLUMES.items()
        ],
    }


def _ways_out(node_ranges: Sequence[str], pod_ranges: Sequence[str]) -> list[dict[str, Any]]:
    """What a notebook reaches beside the hub, the proxy and DNS; nothing else private, and no metadata of its node."""
    barred = list(dict.fromkeys([*NOT_INTERNET, *node_ranges, *pod_ranges]))
    others = (
        # Endpoints of AWS services within the VPC.
        Addresses(node_ranges, (443,)),
        Addresses((POD_IDENTITY,), (80,)),
        Pods(WEB_APPS["ml-cluster"].namespace, (DASHBOARD, CLIENT), HEAD),
        VECTORS,
        TRACES,
        CLASSIFIER,
    )
    return [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": barred}}]}, *(rule("to", other) for other in others)]


def _published(domain: Domain, node_ranges: Sequence[str]) -> dict[str, Any]:
    """The values that let people in from outside."""
    load_balancer = Addresses(node_ranges, (_PROXY_PORT,))
    return {
        "ingress": {
            "enabled": True,
            "ingressClassName": INGRESS_CLASS,
            "hosts": [APP.host(domain.name)],
            # The proxy's own health: notebooks go on while the hub restarts.
            "annotations": platform_balancer(domain).annotations("/_chp_healthz"),
        },
        "proxy": {"chp": {"networkPolicy": {"ingress": [rule("from", load_balancer)]}}},
    }

"""The settings of a stack: the only reader of stack config.

`load()` turns the config of the running stack into frozen, checked models; `validate()` does the same for config
given as a mapping. Every mistake is found in one go, before any resource is registered.
"""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pulumi
from pulumi.runtime import config as runtime_config
from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from components import langfuse, milvus
from components.pools import Pool
from components.release import ChartSource
from components.stack import StackFacts
from components.volume_claims import VolumeClaim
from components.web_apps import WEB_APPS
from components.workloads.gpunet_settings import is_deployed
from schema.argo_workflows import ArgoWorkflows
from schema.base import Aws, Encryption, ModelBucket, Network, Repository
from schema.charts import Charts
from schema.compute import Addon, AddonName, Cluster, SystemNodes
from schema.cross_rules import cross_check
from schema.data_protection import DataProtection
from schema.domain import Domain
from schema.fields import CLUSTER_NAME, PoolName, RepositoryName, Section
from schema.gpunet import Gpunet
from schema.jupyterhub import Jupyterhub
from schema.langfuse import Langfuse
from schema.milvus import Milvus
from schema.ml_pipeline import MlPipeline
from schema.node_pools import NodePool
from schema.platform import ChartName, PlatformChart, is_installed
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem, explain_all, suggest, unfilled
from schema.ray_clusters import RayCluster, RayClusterName
from schema.sign_in import SignIn
from schema.storage import Storage

RAY_DASHBOARD, GPUNET = "ml-cluster", "gpunet"
"""The applications of `components.web_apps` that no chart brings."""

STANDARD_SUPPORT_ENDS: dict[str, date] = {
    "1.33": date(2026, 7, 29),
    "1.34": date(2026, 12, 2),
    "1.35": date(2027, 3, 27),
    "1.36": date(2027, 8, 2),
}
"""End of EKS standard support by Kubernetes version (EKS release calendar, read 2026-11-30)."""


class Settings(Section):
    """All settings of one stack."""

    aws: Aws
    """Where the stack lives."""
    network: Network
    """The VPC and its subnets."""
    encryption: Encryption = Encryption()
    """The customer-managed key."""
    model_bucket: ModelBucket = ModelBucket()
    """The bucket that models are served from."""
    data_protection: DataProtection = DataProtection()
    """What becomes of data when the stack goes."""
    repositories: dict[RepositoryName, Repository] = {}
    """Repositories for images, by name."""
    storage: Storage = Storage()
    """File systems outside the cluster."""
    domain: Domain = Domain()
    """The domain below which applications have their hosts."""
    sign_in: SignIn = SignIn()
    """Sign-in to the applications."""
    cluster: Cluster
    """The EKS control plane."""
    addons: dict[AddonName, Addon] = {}
    """Versions of the EKS add-ons, by name; every add-on is installed, named here or not."""
    system_nodes: SystemNodes = SystemNodes()
    """The managed node group that carries the controllers."""
    charts: Charts = Charts()
    """Where Helm charts come from."""
    node_pools: dict[PoolName, NodePool] = {}
    """Pools of nodes, by name."""
    platform: dict[ChartName, PlatformChart] = {}
    """Charts that run in the cluster, by name."""
    jupyterhub: Jupyterhub = Jupyterhub()
    """Notebooks in the browser."""
    argo_workflows: ArgoWorkflows = ArgoWorkflows()
    """Workflows, their artifacts and logs."""
    ray_clusters: dict[RayClusterName, RayCluster] = {}
    """Ray clusters, by name."""
    ml_pipeline: MlPipeline = MlPipeline()
    """The training pipeline."""
    gpunet: Gpunet = Gpunet()
    """The image-classification service."""
    milvus: Milvus = Milvus()
    """Vector search."""
    langfuse: Langfuse = Langfuse()
    """Traces of language models."""

    def part(self, *sections: str) -> dict[str, Any]:
        """The named sections as plain values, as the layers take them.

        Args:
            sections: field names such as `network`.
        """
        return self.model_dump(include=set(sections))

    def pools(self) -> list[Pool]:
        """What everyone may know of the node pools."""
        return described(self.node_pools)

    def applications(self) -> list[str]:
        """The applications of `components.web_apps` that the stack has."""
        there = {*filter(self._installs, self.platform), *({RAY_DASHBOARD} & self.ray_clusters.keys())}
        return [name for name in WEB_APPS if name in there or (name == GPUNET and self._serves())]

    def own_hosts(self) -> dict[str, str]:
        """Hosts of applications that have a load balancer of their own, by the application's name."""
        publish = self.gpunet.publish
        if publish is None or not self._serves():
            return {}
        return {GPUNET: publish.host or WEB_APPS[GPUNET].host(str(self.domain.name))}

    def _serves(self) -> bool:
        return is_deployed(self.part("gpunet")["gpunet"])

    def volume_claims(self) -> list[VolumeClaim]:
        """The claims of stateful pods, whose volumes the stack makes itself."""
        sections = self.part("milvus", "langfuse")
        own = {"milvus": milvus.claims, "langfuse": langfuse.claims}
        return [claim for chart, claims in own.items() if self._installs(chart) for claim in claims(sections[chart])]

    def _installs(self, chart: str) -> bool:
        return is_installed(chart, self.platform)

    def facts(self) -> StackFacts:
        """What every layer may know."""
        cluster_name = str(self.cluster.name)
        return StackFacts(
            region=self.aws.region,
            account_id=self.aws.account_id,
            cluster_name=cluster_name,
            cluster_version=self.cluster.version,
            node_ranges=[self.network.cidr],
            pod_ranges=[self.network.pod_cidr] if self.network.pod_cidr else [],
            tags={"eksai:cluster": cluster_name, **self.aws.tags},
            pools=self.pools(),
            domain=self.domain.name,
            installs=frozenset(filter(self._installs, self.platform)),
            applications=self.applications(),
            own_hosts=self.own_hosts(),
            volume_claims=self.volume_claims(),
            keeps_data=self.data_protection.mode == "keep",
            charts=ChartSource(self.charts.mirror, self.charts.image_registry),
        )

    def notices(self, today: date) -> list[str]:
        """What the platform engineer should know though nothing is wrong.

        Args:
            today: the day to judge support periods by.
        """
        return [*self._end_of_support(today), *self._half_of_a_service()]

    def _half_of_a_service(self) -> Iterator[str]:
        image, model = self.gpunet.image_digest, self.gpunet.model
        if self.gpunet.enabled and (image is None) != (model is None):
            lacks = "imageDigest" if image is None else "model"
            yield f"{NAMESPACE}:gpunet has no {lacks} yet, so that none of its pods runs (docs/gpunet.md)."

    def _end_of_support(self, today: date) -> Iterator[str]:
        ends = STANDARD_SUPPORT_ENDS[self.cluster.version]
        days = (ends - today).days
        if days > 60:
            return
        extended = self.cluster.support_type == "EXTENDED"
        then = (
            "the control plane costs $0.60 an hour instead of $0.10 until it is upgraded"
            if extended
            else "AWS upgrades the cluster by itself, and this file's version is then one that it cannot go back to"
        )
        when = f"left EKS standard support on {ends}" if days < 0 else f"leaves EKS standard support on {ends}"
        yield f"Kubernetes {self.cluster.version} {when}; {'now' if days < 0 else 'then'} {then}."


class SettingsError(pulumi.RunError):
    """The stack's config is not usable; `problems` has every mistake, `str()` tells them all.

    A `RunError`, which language hosts print without a traceback.
    """

    def __init__(self, stack: str, problems: list[Problem]) -> None:
        self.problems = problems
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        head = f"The config of stack {stack} has {count}; nothing was done."
        super().__init__("\n\n".join([head, *map(str, problems)]))


def load() -> Settings:
    """The settings of the running stack.

    Raises:
        SettingsError: the config has mistakes.
    """
    return validate(_runtime_config(), stack=pulumi.get_stack(), local=os.environ.get("EKSAI_LOCAL") == "1")


def _runtime_config() -> dict[str, str]:
    """Every key of the stack's config, whoever runs the program.

    In process the runtime holds it; the official language host hands it over in PULUMI_CONFIG.
    """
    return dict(runtime_config.CONFIG.get()) or json.loads(os.environ.get("PULUMI_CONFIG", "{}"))


def validate(config: Mapping[str, str], *, stack: str, local: bool) -> Settings:
    """Checks a stack's config.

    Args:
        config: full keys such as `eksai:network` to their text; objects are JSON.
        stack: the stack's name; the cluster's default name follows from it.
        local: whether the stack runs on the local cloud, where documentation accounts and addresses are fine.

    Raises:
        SettingsError: the config has mistakes; all are reported at once.
    """
    problems = list(_foreign_keys(config))
    parts: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        key = f"{NAMESPACE}:{to_camel(name)}"
        raw = _parse(config.get(key, "{}"))
        placeholders = list(unfilled(key, raw))
        problems.extend(placeholders)
        annotation: Any = field.annotation
        try:
            parts[name] = TypeAdapter[Any](annotation).validate_python(raw)
        except ValidationError as error:
            told = {problem.key for problem in placeholders}
            mistakes = explain_all(key, annotation, error.errors())
            problems.extend(mistake for mistake in mistakes if mistake.key not in told)
    problems.extend(cross_check(parts, local))
    problems.extend(_default_name(parts.get("cluster"), stack))
    if problems:
        raise SettingsError(stack, problems)
    return Settings.model_construct(None, **{**parts, "cluster": _filled_in(parts["cluster"], stack)})


def _default_name(cluster: Cluster | None, stack: str) -> Iterator[Problem]:
    """The name that follows from the stack's is one that EKS takes."""
    name = f"{NAMESPACE}-{stack}"
    if cluster and cluster.name is None and not CLUSTER_NAME.fullmatch(name):
        rule = f"left out, the cluster's name is {name}, which EKS does not take"
        yield Problem(f"{NAMESPACE}:cluster.name", "", rule, "give the cluster a name, or the stack another one")


def _filled_in(cluster: Cluster, stack: str) -> Cluster:
    """The cluster's settings with what was left out and follows from the stack's name and today's date."""
    ended = STANDARD_SUPPORT_ENDS[cluster.version] < date.today()
    return cluster.model_copy(
        update={
            "name": cluster.name or f"{NAMESPACE}-{stack}",
            "support_type": cluster.support_type or ("EXTENDED" if ended else "STANDARD"),
        }
    )


def _parse(text: str) -> Any:
    """An object of the config from its JSON text; anything else stays the text it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _foreign_keys(config: Mapping[str, str]) -> Iterator[Problem]:
    """Keys that nothing reads: a typing error, or a provider's config that the explicit providers ignore."""
    known = [to_camel(name) for name in Settings.model_fields]
    for key in config:
        namespace, _, name = key.partition(":")
        if namespace == "pulumi" or (namespace == NAMESPACE and name in known):
            continue
        if namespace == NAMESPACE:
            yield Problem(key, "", "not a setting", suggest(name, known, prefix=f"{NAMESPACE}:"))
        elif namespace == "aws":
            yield Problem(key, "", "the program makes its own AWS provider and does not read this", "use eksai:aws")
        else:
            yield Problem(
                key,
                "",
                f"every setting begins with {NAMESPACE}:",
                suggest(name, known, prefix=f"{NAMESPACE}:"),
            )


def stack_file_schema() -> dict[str, Any]:
    """The JSON Schema of a stack file, for editors and other tools."""
    sections = Settings.model_json_schema(by_alias=True)
    properties = {f"{NAMESPACE}:{name}": schema for name, schema in sections["properties"].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of eksai",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": properties,
                "patternProperties": {"^pulumi:": {}},
                "required": [f"{NAMESPACE}:{name}" for name in sections["required"]],
                "additionalProperties": False,
            },
            "encryptionsalt": {"type": "string", "description": "Written by Pulumi's passphrase provider."},
            "encryptedkey": {"type": "string", "description": "Written by Pulumi's secrets provider."},
            "secretsprovider": {"type": "string", "description": "Written by Pulumi."},
        },
        "required": ["config"],
        "additionalProperties": False,
        "$defs": sections["$defs"],
    }

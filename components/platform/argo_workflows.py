"""What Argo Workflows needs beside its chart: a bucket for artifacts, identities, rights, and sign-in."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import yaml
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac import v1 as rbac
from typing_extensions import TypedDict

from components.bucket import make_private_bucket
from components.delivered_secret import DeliveredSecret
from components.domain import Domain
from components.load_balancer import INGRESS_CLASS, encrypted_to_the_pod, platform_balancer
from components.partition import dns_suffix_of
from components.pod_identity import PodIdentity
from components.policy_document import document
from components.sign_in import ADMINS, CLIENT_ID, CLIENT_SECRET, GROUPS_CLAIM, USERS, SignIn
from components.web_apps import WEB_APPS
from components.workflows import ARTIFACTS, NAMESPACE, WORKFLOW_ACCOUNT

APP = WEB_APPS["argo-workflows"]
SERVER_ACCOUNT = "argo-workflows-server"
"""The server's service account, which the chart makes."""
SIGN_IN_SECRET = "argo-workflows-sign-in"

_ROLES = Path(__file__).with_name("argo_workflows_roles.yaml")
_SIGN_IN_ROLES = frozenset({"sign-in", "sign-in-secrets", "users", "admins"})
_NONCURRENT_DAYS = 7
_ABORT_UPLOAD_DAYS = 7
_RULE = "workflows.argoproj.io/rbac-rule"
_RBAC = "rbac.authorization.k8s.io"
_SPELLING = {"apiGroups": "api_groups", "resourceNames": "resource_names"}


class _Grant(TypedDict):
    """One role of the file, and who has it."""

    namespace: str | None
    service_account: str
    rules: Sequence[Mapping[str, Sequence[str]]]


class ArgoWorkflowsSettings(TypedDict):
    """The plain part of `ArgoWorkflowsArgs`."""

    keep_days: int
    """Days that artifacts and logs of steps are kept, and all else that workflows leave in the bucket."""


class ArgoWorkflowsArgs(ArgoWorkflowsSettings):
    """What Argo Workflows needs."""

    cluster_name: pulumi.Input[str]
    """The cluster's name."""
    region: str
    """AWS region."""
    key_arn: pulumi.Input[str]
    """Key that artifacts are encrypted with."""
    domain: Domain | None
    """The domain that the server is published below; None: it is forwarded to."""
    sign_in: SignIn | None
    """Where people sign in; None: they bring a token of the cluster."""
    keep: bool
    """Whether the bucket is protected from deletion; else it goes with the stack, with all artifacts."""
    after: Sequence[pulumi.Resource]
    """What comes before all that is made in the cluster. The bucket waits for none of it, and can outlive it."""


class ArgoWorkflows(pulumi.ComponentResource):
    """All that is there before the chart's release.

    Attributes:
        bucket: name of the bucket for artifacts and logs. What workflows put there beside these ends as they do.
        values: Helm values that follow from it all.
    """

    bucket: pulumi.Output[str]

    def __init__(self, name: str, args: ArgoWorkflowsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:ArgoWorkflows", name, {}, opts)
        self._name = name
        self._child = pulumi.ResourceOptions(parent=self, depends_on=list(args["after"]))
        artifacts = make_private_bucket(
            f"{name}-artifacts",
            bucket_name=None,
            key_arn=args["key_arn"],
            noncurrent_days=_NONCURRENT_DAYS,
            abort_upload_days=_ABORT_UPLOAD_DAYS,
            keep_days=args["keep_days"],
            keep=args["keep"],
            parent=self,
        )
        self.bucket = artifacts.bucket
        self._identity("workflows", NAMESPACE, WORKFLOW_ACCOUNT, args, artifacts.arn, writes=True)
        # It shows people the logs and artifacts of workflows that they may see.
        self._identity("server", APP.namespace, SERVER_ACCOUNT, args, artifacts.arn, writes=False)
        for role, grant in grants().items():
            if args["sign_in"] is not None or role not in _SIGN_IN_ROLES:
                self._grant(role, grant)
        region, sign_in = args["region"], args["sign_in"]
        entry = {"authModes": ["client"]} if sign_in is None else self._signing_in(sign_in, args["domain"])
        self.values: dict[str, Any] = {
            "artifactRepository": {
                "s3": {"bucket": self.bucket, "region": region, "endpoint": f"s3.{region}.{dns_suffix_of(region)}"}
            },
            "server": {**_published(args["domain"]), **entry},
            "extraObjects": [] if sign_in is None else [_token(group) for group in (USERS, ADMINS)],
        }
        self.register_outputs({"bucket": self.bucket})

    def _identity(
        self,
        role: str,
        namespace: str,
        service_account: str,
        args: ArgoWorkflowsArgs,
        bucket_arn: pulumi.Input[str],
        *,
        writes: bool,
    ) -> None:
        """Lets a service account read artifacts, and write them if it does."""
        keys = pulumi.Output.concat(bucket_arn, f"/{ARTIFACTS}/*")
        # Nobody deletes: artifacts end by themselves.
        write = ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"] if writes else []
        PodIdentity(
            f"{self._name}-{role}",
            {
                "cluster_name": args["cluster_name"],
                "namespace": namespace,
                "service_account": service_account,
                "policies": {
                    "artifacts": document(
                        {"Effect": "Allow", "Action": ["s3:GetObject", *write], "Resource": keys},
                        # Of the whole bucket, which holds only what workflows leave: who may list only below a prefix
                        # is told "denied" and not "no such key", and Argo then does not try the key as a directory.
                        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": bucket_arn},
                        {
                            "Effect": "Allow",
                            "Action": ["kms:Decrypt", *(["kms:GenerateDataKey"] if writes else [])],
                            "Resource": args["key_arn"],
                            "Condition": {
                                "StringEquals": {
                                    "kms:ViaService": f"s3.{args['region']}.{dns_suffix_of(args['region'])}"
                                }
                            },
                        },
                    )
                },
            },
            self._child,
        )

    def _grant(self, role: str, grant: _Grant) -> None:
        """Gives a service account of the server's namespace the rights of a role."""
        logical, named = f"{self._name}-{role}", f"argo-workflows-{role}"
        rules = [
            rbac.PolicyRuleArgs(**{_SPELLING.get(key, key): value for key, value in rule.items()})
            for rule in grant["rules"]
        ]
        subject = rbac.SubjectArgs(kind="ServiceAccount", name=grant["service_account"], namespace=APP.namespace)
        if grant["namespace"] is None:
            metadata = ObjectMetaArgs(name=named)
            rbac.ClusterRole(logical, metadata=metadata, rules=rules, opts=self._child)
            of = rbac.RoleRefArgs(api_group=_RBAC, kind="ClusterRole", name=named)
            rbac.ClusterRoleBinding(logical, metadata=metadata, role_ref=of, subjects=[subject], opts=self._child)
        else:
            metadata = ObjectMetaArgs(name=named, namespace=grant["namespace"])
            rbac.Role(logical, metadata=metadata, rules=rules, opts=self._child)
            of = rbac.RoleRefArgs(api_group=_RBAC, kind="Role", name=named)
            rbac.RoleBinding(logical, metadata=metadata, role_ref=of, subjects=[subject], opts=self._child)

    def _signing_in(self, sign_in: SignIn, domain: Domain | None) -> dict[str, Any]:
        """Makes what sign-in takes, and returns the server's values for it."""
        client = sign_in.clients[APP.name]
        DeliveredSecret(
            f"{self._name}-sign-in",
            {
                "source": client.secret_name,
                "namespace": APP.namespace,
                "secret": SIGN_IN_SECRET,
                "keys": {key: key for key in (CLIENT_ID, CLIENT_SECRET)},
            },
            self._child,
        )
        for precedence, group in enumerate((USERS, ADMINS)):
            # Not in the workflows' namespace: there every step could run as whom it likes.
            kubernetes.core.v1.ServiceAccount(
                f"{self._name}-{group}",
                metadata={
                    "name": group,
                    "namespace": APP.namespace,
                    # Of the accounts whose rule fits somebody, the server takes the one with the highest precedence.
                    "annotations": {_RULE: f"'{group}' in groups", f"{_RULE}-precedence": str(precedence)},
                },
                automount_service_account_token=False,
                opts=self._child,
            )
        return {
            # Not `client` beside it: what the Internet reaches would then take any token of the cluster.
            "authModes": ["sso"],
            "sso": {
                "enabled": True,
                "issuer": sign_in.issuer,
                "clientId": {"name": SIGN_IN_SECRET, "key": CLIENT_ID},
                "clientSecret": {"name": SIGN_IN_SECRET, "key": CLIENT_SECRET},
                "redirectUrl": APP.callback_url(None if domain is None else domain.name),
                # The server asks for `openid` itself. Groups come with that, and Cognito knows no scope for them.
                "scopes": ["email"],
                "customGroupClaimName": GROUPS_CLAIM,
                "rbac": {"enabled": True},
            },
        }


def grants() -> dict[str, _Grant]:
    """The roles of the file by name."""
    return cast(dict[str, _Grant], yaml.safe_load(_ROLES.read_text(encoding="utf-8")))


def _published(domain: Domain | None) -> dict[str, Any]:
    """The server's values for how it is reached."""
    if domain is None:
        # Forwarded, a connection is encrypted up to the node, and goes on to the pod within it.
        return {"secure": False, "ingress": {"enabled": False}}
    return {
        # With a certificate that it makes at every start. Only so the cookie of a session is for HTTPS alone.
        "secure": True,
        "ingress": {
            "enabled": True,
            "ingressClassName": INGRESS_CLASS,
            "hosts": [APP.host(domain.name)],
            "annotations": {**platform_balancer(domain).annotations("/"), **encrypted_to_the_pod()},
        },
    }


def _token(service_account: str) -> dict[str, Any]:
    """The Secret in which Kubernetes puts a token for a service account: the server acts with it for who signed in.

    The chart makes it, and not the program: what Kubernetes writes into it would come back into the program's state.
    """
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {
            # The name that the server looks for.
            "name": f"{service_account}.service-account-token",
            "namespace": APP.namespace,
            "annotations": {"kubernetes.io/service-account.name": service_account},
        },
    }

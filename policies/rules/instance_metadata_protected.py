"""Instance metadata answers only IMDSv2, and not through a pod's network.

A pod that reaches the metadata service can take the node's role. With one hop, the answer to a token request does not
survive the step from the node into a pod's network.

What is left out counts as what its reader makes of it: Karpenter's v1 node classes default to IMDSv2 and one hop, those
of v1beta1 to two hops; for EC2 it depends on the image and the account, so there it must be stated. Managed node groups
without a launch template are not judged here: EKS decides by AMI type (AL2023: IMDSv2, one hop).
"""

from collections.abc import Iterator, Mapping

from pulumi_policy import PolicyComplianceFramework, Severity

from .judging.properties import Unknown, Value, at
from .judging.rule import Config, Resource, Verdict, resource_rule

_NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
_OLD_NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1beta1:EC2NodeClass"
_EC2 = (
    "aws:ec2/instance:Instance",
    "aws:ec2/launchConfiguration:LaunchConfiguration",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
)
_DEFAULTS: Mapping[str, Mapping[str, Value]] = {
    _NODE_CLASS: {"httpTokens": "required", "httpPutResponseHopLimit": 1},
    _OLD_NODE_CLASS: {"httpTokens": "required", "httpPutResponseHopLimit": 2},
}
_MAX_HOP_LIMIT = 1


def _check(resource: Resource, config: Config) -> Iterator[Verdict]:
    defaults = _DEFAULTS.get(resource.type, {})
    options = resource.get("spec", "metadataOptions") if defaults else resource.get("metadataOptions")
    if isinstance(options, Unknown):
        yield options
        return
    # Options that an instance leaves to a launch template are judged there.
    if options is None and resource.get("launchTemplate") is not None:
        return
    endpoint = at(options, "httpEndpoint")
    if endpoint == "disabled":
        return
    verdicts = [
        *_judge_tokens(_stated(options, "httpTokens", defaults)),
        *_judge_hops(
            _stated(options, "httpPutResponseHopLimit", defaults), int(config.get("maxHopLimit", _MAX_HOP_LIMIT))
        ),
    ]
    # An unknown endpoint may turn out to be off, which would settle it.
    yield from [endpoint] if verdicts and isinstance(endpoint, Unknown) else verdicts


def _stated(options: Value, name: str, defaults: Mapping[str, Value]) -> Value:
    value = at(options, name)
    return defaults.get(name) if value is None else value


def _judge_tokens(tokens: Value) -> Iterator[Verdict]:
    if isinstance(tokens, Unknown):
        yield tokens
    elif tokens != "required":
        yield f"metadataOptions.httpTokens is {tokens or 'not set'}, which lets IMDSv1 in; set it to required."


def _judge_hops(hops: Value, most: int) -> Iterator[Verdict]:
    if isinstance(hops, Unknown):
        yield hops
    elif hops is None:
        yield (
            "metadataOptions.httpPutResponseHopLimit is not set, so the image decides (AL2023: 2 hops), and pods may "
            f"take the node's role; set it to {most}."
        )
    elif hops > most:
        yield (
            f"metadataOptions.httpPutResponseHopLimit is {hops:g}, so pods can reach the metadata service and take the "
            f"node's role; set it to {most}."
        )


RULE = resource_rule(
    _check,
    name="instance-metadata-protected",
    description="Instance metadata needs a session token (IMDSv2) and is out of the reach of pods (hop limit 1).",
    judges=(_NODE_CLASS, _OLD_NODE_CLASS, *_EC2),
    severity=Severity.HIGH,
    remediation=(
        "Set metadataOptions to httpTokens: required and httpPutResponseHopLimit: 1, and give pods that need AWS an "
        "identity of their own (EKS Pod Identity)."
    ),
    standard=PolicyComplianceFramework(name="Amazon EKS Best Practices", reference="Restrict access to the IMDS"),
    tags=["CKV_AWS_79", "CKV_AWS_341"],
    config={
        "maxHopLimit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 64,
            "default": _MAX_HOP_LIMIT,
            "description": "The most hops that are let pass; 2 lets pods reach the metadata service.",
        }
    },
)

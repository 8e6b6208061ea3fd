"""Which arguments of `eks:index:Cluster` the local cloud models.

The children that belong to an argument are known only where the real component was seen to register them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from localcloud.values import contains_secret

TOKEN = "eks:index:Cluster"
"""Type token of the component."""

# Arguments that become inputs of the same name of aws:eks/cluster:Cluster, and of its vpcConfig.
PASSED_ON = (
    "bootstrapSelfManagedAddons",
    "deletionProtection",
    "enabledClusterLogTypes",
    "name",
    "upgradePolicy",
    "version",
)
VPC_CONFIG = ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
_SHAPING = (
    "accessEntries",
    "encryptionConfigKeyArn",
    "privateSubnetIds",
    "publicSubnetIds",
    "vpcId",
)

# Arguments that decide which children there are: only this choice was captured.
_CAPTURED_CHOICE: Mapping[str, Any] = {
    "authenticationMode": "API",
    "createOidcProvider": False,
    "skipDefaultNodeGroup": True,
    "skipDefaultSecurityGroups": True,
    "useDefaultVpcCni": True,
}
_ADDONS_OFF = ("corednsAddonOptions", "kubeProxyAddonOptions")


class UnsupportedArgumentError(ValueError):
    """An argument whose effect on the children was never captured from the real component."""


def refuse_unmodelled(name: str, inputs: Mapping[str, Any], dependencies: Mapping[str, Sequence[str]]) -> None:
    """Refuses arguments with children of their own that were never seen.

    Args:
        name: logical name of the component.
        inputs: its arguments.
        dependencies: for each argument, what its value comes from.

    Raises:
        UnsupportedArgumentError: naming all of them.
    """
    modelled = {*PASSED_ON, *VPC_CONFIG, *_SHAPING, *_CAPTURED_CHOICE, *_ADDONS_OFF}
    faults = [f"{argument} is not modelled" for argument in inputs if argument not in modelled]
    faults += [
        f"{argument} is {inputs.get(argument)!r}, must be {wanted!r}"
        for argument, wanted in _CAPTURED_CHOICE.items()
        if inputs.get(argument) != wanted
    ]
    faults += [
        f"{argument}.enabled must be False"
        for argument in _ADDONS_OFF
        if inputs.get(argument, {}).get("enabled") is not False
    ]
    if "vpcId" not in inputs:
        faults.append("vpcId is missing (the real component would look up the default VPC)")
    if inputs.get("publicAccessCidrs") and inputs.get("endpointPublicAccess") is False:
        faults.append("publicAccessCidrs needs endpointPublicAccess (the real component refuses it too)")
    if dependencies.get("accessEntries"):
        faults.append("accessEntries comes from other resources; make such entries with aws.eks.AccessEntry")
    if contains_secret(inputs):
        faults.append("an argument is secret")
    if faults:
        raise UnsupportedArgumentError(
            f"{TOKEN} {name!r}: {'; '.join(faults)}. The local cloud registers only children that the real "
            "component was seen to register: keep to these arguments, or capture the others and extend "
            "localcloud/eks_arguments.py, eks_cluster.py and their golden file."
        )

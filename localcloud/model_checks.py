"""The checks that cost too much for depth 1: AWS's own models of arguments, and its list of IAM actions."""

from collections.abc import Iterator, Mapping
from typing import Any

from localcloud.api_model import faults
from localcloud.errors import AwsError
from localcloud.policy_document import name_faults
from localcloud.properties import merged
from localcloud.resource_type import Failure, ResourceType


def model_faults(declared: ResourceType, inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Yields what AWS would refuse of well-formed arguments; unknown values pass.

    Args:
        declared: their type.
        inputs: checked arguments.
    """
    if declared.api:
        yield from faults(declared.api, merged(declared.defaults, inputs))
    for path, _, text in declared.documents(inputs):
        for reason in name_faults(text):
            yield Failure(path, f"MalformedPolicyDocument: {reason}")


def hold_models(declared: ResourceType, inputs: Mapping[str, Any]) -> None:
    """Raises the first of `model_faults` as AWS would, an `AwsError`."""
    for failure in model_faults(declared, inputs):
        raise AwsError("ValidationException", f"{declared.token}: {failure.property}: {failure.reason}")

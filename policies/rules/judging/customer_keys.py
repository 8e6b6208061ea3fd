"""Telling a customer's KMS key from one that AWS owns or manages."""

from collections.abc import Iterator

from .properties import Unknown, Value

# AWS's own keys have these aliases, as `alias/aws/ebs` or at the end of an ARN. By id or ARN alone they look like any
# other key, so a key of AWS's that is given that way cannot be told apart.
_AWS_ALIAS = "alias/aws/"


def judge_key(key: Value, property_name: str) -> Iterator[str | Unknown]:
    """Yields what keeps a value from being a customer's key: a text, or the unknown itself.

    Args:
        key: a key's id, ARN or alias, as given for a resource.
        property_name: where it was given, for the text.
    """
    if isinstance(key, Unknown):
        yield key
    elif not key:
        yield f"{property_name} is not set, so a key that AWS owns or manages would be used; name a key of yours."
    elif _AWS_ALIAS in str(key):
        yield f"{property_name} is {key}, a key that AWS manages; name a key of yours."

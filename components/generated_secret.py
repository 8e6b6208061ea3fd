"""Values that nobody chooses or types: drawn once, and kept in Secrets Manager."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_random as random
from typing_extensions import TypedDict

from components.generation import generation
from components.readiness import once

_RECOVERY_DAYS = 30
"""Days in which a deleted secret can be restored: the most that there are."""


@dataclass(frozen=True)
class Password:
    """Letters and digits, which mean nothing special in a URL and are taken by RDS and by AUTH of Valkey."""

    length: int = 32
    prefix: str = ""
    """What the value begins with, before the characters that are drawn."""


@dataclass(frozen=True)
class HexKey:
    """Random octets, two hexadecimal digits each."""

    octets: int = 32
    """How many; 32 are 256 bits."""


Drawn = Password | HexKey


class GeneratedSecretArgs(TypedDict):
    """What a generated secret needs."""

    secret_name: str
    """Its name in Secrets Manager, such as `eksai-dev/milvus`."""
    description: str
    """What it is for."""
    key_arn: pulumi.Input[str]
    """Key that it is encrypted with."""
    values: Mapping[str, Drawn]
    """What is drawn, by its key in the JSON."""
    keep: bool
    """Whether it is protected from deletion, and can be restored if it is deleted all the same; else it goes with the
    stack, and its name is free at once."""


class GeneratedSecret(pulumi.ComponentResource):
    """Random values, and a secret with all of them as one JSON object.

    Data is encrypted with some of them and databases know others, so a value that is there stays: whatever is asked for
    later holds only for values that are new. The state has them encrypted, Secrets Manager gets them without their
    being read back, and nothing else does.
    """

    secret_name: pulumi.Output[str]
    """The secret's name, once it has its value."""
    values: Mapping[str, pulumi.Output[str]]
    """Each value, for what takes it without keeping it."""
    generations: Mapping[str, pulumi.Output[int]]
    """For each value a number that is another one for another value."""

    def __init__(self, name: str, args: GeneratedSecretArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:GeneratedSecret", name, {}, opts)
        self._child = child = pulumi.ResourceOptions(parent=self, protect=args["keep"] or None)
        self.values = {key: self._draw(f"{name}-{key}", drawn) for key, drawn in args["values"].items()}
        self.generations = {key: _generation_of(value) for key, value in self.values.items()}
        secret = aws.secretsmanager.Secret(
            name,
            name=args["secret_name"],
            description=args["description"],
            kms_key_id=args["key_arn"],
            recovery_window_in_days=_RECOVERY_DAYS if args["keep"] else 0,
            opts=child,
        )
        text = pulumi.Output.json_dumps(dict(sorted(self.values.items())))
        version = aws.secretsmanager.SecretVersion(
            name,
            secret_id=secret.id,
            secret_string_wo=text,
            # What is only written is never compared; this number says when to write it anew.
            secret_string_wo_version=_generation_of(text),
            opts=child,
        )
        self.secret_name = once(secret.name, version.id)
        self.register_outputs({})

    def _draw(self, name: str, drawn: Drawn) -> pulumi.Output[str]:
        match drawn:
            case Password(length, prefix):
                password = random.RandomPassword(
                    name,
                    length=length,
                    special=False,
                    # So that nobody refuses one for want of a digit or of a capital.
                    min_lower=1,
                    min_upper=1,
                    min_numeric=1,
                    opts=self._once_drawn("length", "special", "min_lower", "min_upper", "min_numeric"),
                )
                return pulumi.Output.concat(prefix, password.result)
            case HexKey(octets):
                return random.RandomBytes(name, length=octets, opts=self._once_drawn("length")).hex

    def _once_drawn(self, *arguments: str) -> pulumi.ResourceOptions:
        """Options of what is drawn: a change of any of these arguments would draw it anew."""
        return pulumi.ResourceOptions.merge(self._child, pulumi.ResourceOptions(ignore_changes=list(arguments)))


def _generation_of(value: pulumi.Output[str]) -> pulumi.Output[int]:
    """The number of a secret value. It is 31 bits of a digest of far more, so it need not be a secret itself."""
    return pulumi.Output.unsecret(value.apply(generation))
